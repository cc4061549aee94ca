//! How a request travels.

use serde::{Deserialize, Serialize};

crate::named! {
    /// What the bytes of a request and its response are: the version of HTTP, gRPC or not, encrypted or not.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    pub enum Protocol {
        /// HTTP/1.1.
        #[default]
        #[serde(rename = "http/1.1")]
        Http11 = "http/1.1",
        /// HTTP/1.1 over TLS.
        #[serde(rename = "https/1.1")]
        Https11 = "https/1.1",
        /// HTTP/2 without TLS, by prior knowledge.
        #[serde(rename = "h2c")]
        H2c = "h2c",
        /// HTTP/2 over TLS.
        #[serde(rename = "h2")]
        H2 = "h2",
        /// gRPC over HTTP/2 without TLS.
        #[serde(rename = "grpc")]
        Grpc = "grpc",
        /// gRPC over HTTP/2 over TLS.
        #[serde(rename = "grpc-tls")]
        GrpcTls = "grpc-tls",
    }
}

impl Protocol {
    /// Whether it is encrypted.
    pub const fn is_tls(self) -> bool {
        matches!(self, Self::Https11 | Self::H2 | Self::GrpcTls)
    }

    /// The scheme of its URLs.
    pub const fn scheme(self) -> &'static str {
        if self.is_tls() { "https" } else { "http" }
    }

    /// Whether it is HTTP/1.1, in which a connection serves one request at a time.
    pub const fn is_http1(self) -> bool {
        matches!(self, Self::Http11 | Self::Https11)
    }

    /// Whether it is gRPC.
    pub const fn is_grpc(self) -> bool {
        matches!(self, Self::Grpc | Self::GrpcTls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_names() {
        for protocol in Protocol::ALL {
            let json = serde_json::to_value(protocol).unwrap();
            assert_eq!(json, protocol.name());
            assert_eq!(serde_json::from_value::<Protocol>(json).unwrap(), protocol);
        }
    }
}
