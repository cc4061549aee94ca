//! Methods of services.

use std::fmt;

use prost_reflect::{MessageDescriptor, MethodDescriptor};

use crate::protobuf::schema::path_of;
use crate::protobuf::{MessageError, message};

/// A method of a service.
#[derive(Clone, Debug)]
pub struct Method(MethodDescriptor);

/// How many messages each side of a call sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MethodKind {
    /// One request, one response.
    Unary,
    /// One request, any number of responses.
    ServerStreaming,
    /// Any number of requests, one response.
    ClientStreaming,
    /// Any number of both.
    Bidirectional,
}

impl MethodKind {
    /// Whether the client may send any number of messages.
    pub fn streams_requests(self) -> bool {
        matches!(self, Self::ClientStreaming | Self::Bidirectional)
    }

    /// Whether the server may send any number of messages.
    pub fn streams_responses(self) -> bool {
        matches!(self, Self::ServerStreaming | Self::Bidirectional)
    }
}

impl fmt::Display for MethodKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unary => "unary",
            Self::ServerStreaming => "server streaming",
            Self::ClientStreaming => "client streaming",
            Self::Bidirectional => "bidirectional",
        })
    }
}

impl Method {
    pub(crate) fn new(descriptor: MethodDescriptor) -> Self {
        Self(descriptor)
    }

    /// `/package.Service/Method`: the path of its HTTP/2 requests.
    pub fn path(&self) -> String {
        format!("/{}", path_of(&self.0))
    }

    /// How many messages each side sends.
    pub fn kind(&self) -> MethodKind {
        match (self.0.is_client_streaming(), self.0.is_server_streaming()) {
            (false, false) => MethodKind::Unary,
            (false, true) => MethodKind::ServerStreaming,
            (true, false) => MethodKind::ClientStreaming,
            (true, true) => MethodKind::Bidirectional,
        }
    }

    /// The type of its requests.
    pub fn input(&self) -> MessageDescriptor {
        self.0.input()
    }

    /// The type of its responses.
    pub fn output(&self) -> MessageDescriptor {
        self.0.output()
    }

    /// Encodes the messages of a request. [`encode`](crate::protobuf::encode) has the rules.
    ///
    /// # Errors
    /// If `json` is not what the method takes.
    pub fn encode(&self, json: &str) -> Result<Vec<Vec<u8>>, MessageError> {
        message::encode(&self.input(), json, self.kind().streams_requests())
    }

    /// One message of a response as JSON. [`decode`](crate::protobuf::decode) has the rules.
    ///
    /// # Errors
    /// If `bytes` is not a message of the output type.
    pub fn decode(&self, bytes: &[u8]) -> Result<String, MessageError> {
        message::decode(&self.output(), bytes)
    }
}
