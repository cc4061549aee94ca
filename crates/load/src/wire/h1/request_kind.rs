//! What a request's method says about the body of its response.

use http::Method;

/// The methods that change how a response is framed (RFC 9112, section 6.3, rules 1 and 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestKind {
    /// The response has the body that its head announces.
    #[default]
    Plain,
    /// `HEAD`: no response has a body.
    Head,
    /// `CONNECT`: a 2xx has no body, and turns the connection into a tunnel.
    Connect,
}

impl RequestKind {
    /// The kind of a request with that method.
    pub fn of(method: &Method) -> Self {
        match *method {
            Method::HEAD => Self::Head,
            Method::CONNECT => Self::Connect,
            _ => Self::Plain,
        }
    }

    /// Whether a response of that status turns the connection into a tunnel.
    pub fn opens_tunnel(self, status: u16) -> bool {
        self == Self::Connect && (200..300).contains(&status)
    }

    /// Whether a response of that status has no body, whatever its head announces.
    pub(super) fn is_bodiless(self, status: u16) -> bool {
        self == Self::Head || matches!(status, 100..=199 | 204 | 304) || self.opens_tunnel(status)
    }
}
