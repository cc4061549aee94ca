//! How the server is to run: where to listen, how many CPUs to use, where the assets are, how much work to do.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::error::ReferenceError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The host name or address to listen on.
    pub host: String,
    /// The TCP port to listen on; 0 lets the system pick one.
    pub port: u16,
    /// The number of worker threads.
    pub cpus: NonZeroUsize,
    /// The folder with `page-100k.html`, `page-20k.html` and `quotes.txt`.
    pub assets: PathBuf,
    /// Extra work for each request; a scripted server ignores it.
    pub work: Work,
    /// What it proves its identity with; `None` without TLS. A scripted server never has one.
    pub tls: Option<TlsFiles>,
}

/// The PEM files that TLS needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain, the server's own certificate first.
    pub certificates: PathBuf,
    pub key: PathBuf,
}

impl Config {
    /// Reads `HOST`, `PORT`, `CPUS`, `ASSETS`, `TLS_CERT` and `TLS_KEY` from the environment; no extra work.
    pub fn from_environment() -> Result<Self, ReferenceError> {
        Self::from_variables(|name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into())
        })
    }

    fn from_variables(value_of: impl Fn(&str) -> Option<String>) -> Result<Self, ReferenceError> {
        let value_of = |name| value_of(name).filter(|value| !value.is_empty());
        let get = |name, meaning| value_of(name).ok_or(ReferenceError::Missing { name, meaning });
        let tls = match (value_of("TLS_CERT"), value_of("TLS_KEY")) {
            (None, None) => None,
            _ => Some(TlsFiles {
                certificates: get(
                    "TLS_CERT",
                    "the PEM file with the certificate of TLS_KEY, or unset both",
                )?
                .into(),
                key: get(
                    "TLS_KEY",
                    "the PEM file with the key of TLS_CERT, or unset both",
                )?
                .into(),
            }),
        };
        Ok(Self {
            host: get("HOST", "the address to listen on, such as 127.0.0.1")?,
            port: number("PORT", "a TCP port, 0 to 65535", get)?,
            cpus: number("CPUS", "how many CPUs to use, 1 or more", get)?,
            assets: get("ASSETS", "the folder that holds the pages and the quotes")?.into(),
            work: Work::default(),
            tls,
        })
    }
}

fn number<T: std::str::FromStr>(
    name: &'static str,
    meaning: &'static str,
    get: impl Fn(&'static str, &'static str) -> Result<String, ReferenceError>,
) -> Result<T, ReferenceError> {
    let value = get(name, meaning)?;
    value.parse().map_err(|_| ReferenceError::Invalid {
        name,
        meaning,
        value,
    })
}

/// Steps of arithmetic for each request, which make a server slower by a known amount.
///
/// Each step needs the result of the one before, so neither the compiler nor the processor can skip steps or do two at
/// once: twice the steps take twice the instructions and twice the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    steps: u64,
}

impl Work {
    /// This many steps; 0 for no work.
    pub const fn steps(steps: u64) -> Self {
        Self { steps }
    }

    /// Does the work, and returns the result of the last step.
    pub fn carry_out(self) -> u64 {
        // The compiler must neither know the first value nor find the last one unused.
        black_box((0..self.steps).fold(black_box(1), |value, _| step(value)))
    }
}

/// A step of a mixing function (the finalizer of splitmix64 has two). It is not linear, because a compiler could merge
/// linear steps into one.
const fn step(value: u64) -> u64 {
    (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(changed: (&str, Option<&str>)) -> Result<Config, ReferenceError> {
        Config::from_variables(|name| {
            let usual = match name {
                "HOST" => "127.0.0.1",
                "PORT" => "8080",
                "CPUS" => "2",
                "TLS_CERT" => "/tls/certificate.pem",
                "TLS_KEY" => "/tls/key.pem",
                _ => "/assets",
            };
            if name == changed.0 {
                changed.1.map(str::to_owned)
            } else {
                Some(usual.to_owned())
            }
        })
    }

    #[test]
    fn every_step_of_work_is_done() {
        assert_eq!(Work::default().carry_out(), 1);
        assert_eq!(Work::steps(1).carry_out(), step(1));
        assert_eq!(Work::steps(3).carry_out(), step(step(step(1))));
    }

    #[test]
    fn the_environment_is_read() {
        let config = from(("", None)).unwrap();
        assert_eq!((config.host.as_str(), config.port), ("127.0.0.1", 8080));
        assert_eq!(config.cpus.get(), 2);
        assert_eq!(config.assets, PathBuf::from("/assets"));
        let tls = config.tls.unwrap();
        assert_eq!(tls.certificates, PathBuf::from("/tls/certificate.pem"));
        assert_eq!(tls.key, PathBuf::from("/tls/key.pem"));
    }

    #[test]
    fn without_tls_files_the_server_does_not_use_tls() {
        let config = Config::from_variables(|name| match name {
            "TLS_CERT" => Some(String::new()),
            "TLS_KEY" => None,
            _ => Some("1".to_owned()),
        });
        assert_eq!(config.unwrap().tls, None);
    }

    #[test]
    fn a_missing_or_invalid_variable_is_named() {
        for name in ["HOST", "PORT", "CPUS", "ASSETS", "TLS_CERT", "TLS_KEY"] {
            let text = from((name, None)).unwrap_err().to_string();
            assert!(text.contains(&format!("{name} is not set")), "{text}");
        }
        for (name, value) in [("PORT", "65536"), ("PORT", "http"), ("CPUS", "0")] {
            let text = from((name, Some(value))).unwrap_err().to_string();
            assert!(text.contains(&format!("{name} is `{value}`")), "{text}");
        }
    }
}
