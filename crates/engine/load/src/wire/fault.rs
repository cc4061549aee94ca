//! Why there will be no response on a connection.

use prony_http::FrameError;
use prony_model::Outcome;

use super::{grpc, h1, h2, tls};

/// Why there will be no response on a connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error(transparent)]
    H1(#[from] h1::Malformed),
    #[error(transparent)]
    Http2(#[from] h2::Malformed),
    #[error(transparent)]
    Grpc(#[from] grpc::Malformed),
    #[error(transparent)]
    Tls(#[from] tls::Failure),
    #[error("the server {0}")]
    Ended(String),
}

impl Fault {
    /// The outcome of a request that ends with it.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Ended(_) => Outcome::Reset,
            Self::Tls(_) => Outcome::TlsFailure,
            Self::H1(_) | Self::Http2(_) | Self::Grpc(_) => Outcome::Malformed,
        }
    }
}

impl From<FrameError> for Fault {
    #[cold]
    fn from(error: FrameError) -> Self {
        h2::Malformed::from(error).into()
    }
}
