//! What the harness tells a server: where to listen, how many CPUs to use, where the assets are.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use crate::{ReferenceError, Work};

/// How the server is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The host name or address to listen on.
    pub host: String,
    /// The TCP port to listen on; 0 for one that the system picks.
    pub port: u16,
    /// How many worker threads there are.
    pub cpus: NonZeroUsize,
    /// The folder with `page-100k.html`, `page-20k.html` and `quotes.txt`.
    pub assets: PathBuf,
    /// What each request costs besides its response. A server with a script does none.
    pub work: Work,
}

impl Config {
    /// Reads `HOST`, `PORT`, `CPUS` and `ASSETS` from the environment. There is no work beside the
    /// responses.
    pub fn from_environment() -> Result<Self, ReferenceError> {
        Self::from_variables(|name| {
            std::env::var_os(name).map(|value| value.to_string_lossy().into())
        })
    }

    fn from_variables(value_of: impl Fn(&str) -> Option<String>) -> Result<Self, ReferenceError> {
        let get = |name, meaning| {
            value_of(name)
                .filter(|value| !value.is_empty())
                .ok_or(ReferenceError::Missing { name, meaning })
        };
        Ok(Self {
            host: get("HOST", "the address to listen on, such as 127.0.0.1")?,
            port: number("PORT", "a TCP port, 0 to 65535", get)?,
            cpus: number("CPUS", "how many CPUs to use, 1 or more", get)?,
            assets: get("ASSETS", "the folder that holds the pages and the quotes")?.into(),
            work: Work::default(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn from(changed: (&str, Option<&str>)) -> Result<Config, ReferenceError> {
        Config::from_variables(|name| {
            let usual = match name {
                "HOST" => "127.0.0.1",
                "PORT" => "8080",
                "CPUS" => "2",
                _ => "/assets",
            };
            match name == changed.0 {
                true => changed.1.map(str::to_owned),
                false => Some(usual.to_owned()),
            }
        })
    }

    #[test]
    fn the_contract_is_read() {
        let config = from(("", None)).unwrap();
        assert_eq!((config.host.as_str(), config.port), ("127.0.0.1", 8080));
        assert_eq!(config.cpus.get(), 2);
        assert_eq!(config.assets, PathBuf::from("/assets"));
    }

    #[test]
    fn what_is_missing_or_makes_no_sense_is_named() {
        for name in ["HOST", "PORT", "CPUS", "ASSETS"] {
            let text = from((name, None)).unwrap_err().to_string();
            assert!(text.contains(&format!("{name} is not set")), "{text}");
        }
        for (name, value) in [("PORT", "65536"), ("PORT", "http"), ("CPUS", "0")] {
            let text = from((name, Some(value))).unwrap_err().to_string();
            assert!(text.contains(&format!("{name} is `{value}`")), "{text}");
        }
    }
}
