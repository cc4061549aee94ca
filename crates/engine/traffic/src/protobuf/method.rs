//! Methods of services.

use prost_reflect::{MessageDescriptor, MethodDescriptor};

use crate::call::CallKind;
use crate::protobuf::{MessageError, message};

#[derive(Clone, Debug)]
pub struct Method(MethodDescriptor);

impl Method {
    pub(crate) fn new(descriptor: MethodDescriptor) -> Self {
        Self(descriptor)
    }

    /// `/package.Service/Method`: the path of its HTTP/2 requests.
    pub fn path(&self) -> String {
        format!("/{}", path_of(&self.0))
    }

    /// How many messages each side sends.
    pub fn kind(&self) -> CallKind {
        CallKind::of(self.0.is_client_streaming(), self.0.is_server_streaming())
    }

    pub fn input(&self) -> MessageDescriptor {
        self.0.input()
    }

    pub fn output(&self) -> MessageDescriptor {
        self.0.output()
    }

    /// Encodes the messages of a request. [`encode`](crate::protobuf::encode) has the rules.
    pub fn encode(&self, json: &str) -> Result<Vec<Vec<u8>>, MessageError> {
        message::encode(&self.input(), json, self.kind().streams_requests())
    }

    /// One message of a response as JSON. [`decode`](crate::protobuf::decode) has the rules.
    pub fn decode(&self, bytes: &[u8]) -> Result<String, MessageError> {
        message::decode(&self.output(), bytes)
    }
}

/// `package.Service/Method` of a method.
pub(crate) fn path_of(method: &prost_reflect::MethodDescriptor) -> String {
    format!("{}/{}", method.parent_service().full_name(), method.name())
}
