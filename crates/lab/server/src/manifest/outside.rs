//! A server that already runs: where, which certificates are trusted, and what is presented to it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use prony_model::{Authority, AuthorityError};

/// A server that already runs, as `prony.toml` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    pub url: ServerUrl,
    /// How connections to it are encrypted; `None` for not at all.
    pub tls: Option<TlsOptions>,
}

/// What connections over TLS trust, and what they present to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    pub trust: CertificateTrust,
    /// The certificate for a server that requests one.
    pub identity: Option<ClientCertificate>,
    /// The name to send and to look for in the server's certificate, instead of the URL's host.
    pub server_name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The file with the certificate, followed by those that vouch for it.
    pub certificates: PathBuf,
    /// The file with its private key, which may be the same.
    pub key: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateTrust {
    /// Those that the machine's root certificates vouch for.
    Roots,
    /// Those that the certificates in this file vouch for.
    File(PathBuf),
    Any,
}

/// The URL of a server: `http://` or `https://`, a host and perhaps a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerUrl {
    scheme: &'static str,
    authority: Authority,
}

impl ServerUrl {
    /// Its host, without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        self.authority.host()
    }

    pub fn port(&self) -> u16 {
        let default = if self.is_tls() { 443 } else { 80 };
        self.authority.port().unwrap_or(default)
    }

    /// Its host and port as in a `Host` header.
    pub fn authority(&self) -> &str {
        self.authority.header()
    }

    /// The same URL with another scheme. It has the same port: without one, it would have the default port of its scheme.
    pub fn with_scheme(&self, scheme: &str) -> String {
        let authority = self.authority();
        match self.authority.port() {
            Some(_) => format!("{scheme}://{authority}"),
            None => format!("{scheme}://{authority}:{}", self.port()),
        }
    }

    pub fn is_tls(&self) -> bool {
        self.scheme == HTTPS
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority())
    }
}

const HTTP: &str = "http";
const HTTPS: &str = "https";

const EXAMPLE: &str = "write for instance http://localhost:8080";

impl FromStr for ServerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scheme, rest) = scheme_of(text)?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            // The message must not show a password.
            return Err(
                "it contains a user name; leave it out here, and give the workloads `basic_auth`"
                    .to_owned(),
            );
        }
        let rest = match rest.split_once(['/', '?', '#']) {
            None => rest,
            Some((authority, "")) if rest.ends_with('/') => authority,
            Some((authority, _)) => {
                let path = &rest[authority.len()..];
                return Err(format!(
                    "`{text}` has the path `{path}`; leave it out here, and write it in the workloads, for instance \
                     request = {{ method = \"GET\", path = \"{path}\" }}"
                ));
            }
        };
        let authority: Result<Authority, AuthorityError> = rest.parse();
        let authority =
            authority.map_err(|error| format!("`{text}` is not a URL: {error}; {EXAMPLE}"))?;
        Ok(Self { scheme, authority })
    }
}

fn scheme_of(text: &str) -> Result<(&'static str, &str), String> {
    if text.starts_with("unix:") || text.starts_with('/') {
        return Err(format!(
            "`{text}` is a Unix socket, and Prony reaches a server of prony.toml over TCP; {EXAMPLE}, or load the socket with \
             `prony load --unix-socket`"
        ));
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(format!(
            "`{text}` does not begin with http:// or https://; {EXAMPLE}"
        ));
    };
    let mut known = [HTTP, HTTPS].into_iter();
    match known.find(|known| scheme.eq_ignore_ascii_case(known)) {
        Some(known) => Ok((known, rest)),
        None => Err(format!(
            "`{scheme}://` is not supported; a URL here begins with http:// or https://"
        )),
    }
}

#[cfg(test)]
mod tests {
    use prony_testkit::table::{refused, rows};

    use super::*;

    #[test]
    fn a_url_has_its_parts_and_keeps_its_port_with_another_scheme() {
        for [text, url, host, port, scheme, other] in rows(
            "
            http://localhost:8080 | http://localhost:8080 | localhost | 8080 | https | https://localhost:8080
            HTTPS://shop.test/ | https://shop.test | shop.test | 443 | http | http://shop.test:443
            http://bücher.test:81 | http://xn--bcher-kva.test:81 | xn--bcher-kva.test | 81 | https | https://xn--bcher-kva.test:81
            http://[fe80::1%25eth0]:81 | http://[fe80::1]:81 | fe80::1%eth0 | 81 | https | https://[fe80::1]:81
            http://[::1]:81/ | http://[::1]:81 | ::1 | 81 | https | https://[::1]:81
            http://shop.test | http://shop.test | shop.test | 80 | https | https://shop.test:80
            http://shop.test:443/ | http://shop.test:443 | shop.test | 443 | https | https://shop.test:443
            http://[fe80::80] | http://[fe80::80] | fe80::80 | 80 | https | https://[fe80::80]:80
        ",
        ) {
            let found: ServerUrl = text.parse().unwrap();
            let parts = [
                &found.to_string(),
                found.host(),
                &found.port().to_string(),
                &found.with_scheme(scheme),
            ];
            assert_eq!(parts, [url, host, port, other]);
        }
    }

    #[test]
    fn what_is_no_url_of_a_server_is_refused_with_what_to_write() {
        refused(
            |text| {
                let url = text.parse::<ServerUrl>();
                url.inspect_err(|error| assert!(!error.contains("secret"), "{error}"))
            },
            r#"
            localhost:8080 | does not begin with http://
            "" | does not begin with http://
            http:// | is not a URL
            http:///a | path
            http://:80 | host
            http://a b | is not a URL
            http://localhost:8080/api/ | has the path `/api/`
            http://localhost?a=b | has the path `?a=b`
            http://localhost#a | has the path `#a`
            http://me:secret@localhost | `basic_auth`
            http://me:secret@localhost/a | `basic_auth`
            unix:/run/shop.sock | --unix-socket
            /run/shop.sock | --unix-socket
            ws://localhost:8080 | `ws://` is not supported
            http://localhost:0 | is not 1 to 65535
            http://localhost:65536 | is not
            http://localhost: | is not 1 to 65535
        "#,
        );
    }
}
