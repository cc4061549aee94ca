//! gRPC over HTTP/2, on the client's side (gRPC's PROTOCOL-HTTP2.md): calls as requests, and what they make of responses.

mod call;
mod message;
mod status;
mod text;

pub(super) use message::MessageReader;
pub use status::Status;
pub(super) use text::{read_message, text_of};

/// The longest message to accept in bytes, as in most of gRPC's own clients.
pub const LONGEST_MESSAGE: u32 = 4 * 1024 * 1024;

/// Why bytes are not a response to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("a message has the compression flag {0}, although no compression was offered")]
    Compressed(u8),
    #[error("a message has {0} bytes, but at most {LONGEST_MESSAGE} are allowed")]
    MessageTooLong(u32),
    #[error("the response ends in the middle of a message")]
    MessageCut,
    #[error("the response has more than one message, although the call expects one")]
    SecondMessage,
    #[error("the response has status OK, but no message, although the call expects one")]
    NoMessage,
    #[error("`grpc-status` is not a number")]
    RpcStatus,
    #[error("the response has status OK before the call's message was fully sent")]
    TooEarly,
}

/// `application/grpc`, `application/grpc+proto` and so on; not `application/grpc-web`, which is another protocol.
pub(super) fn is_grpc(content_type: &[u8]) -> bool {
    content_type
        .strip_prefix(b"application/grpc")
        .is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_grpc_content_types_are_grpc() {
        for yes in [
            "application/grpc",
            "application/grpc+proto",
            "application/grpc;a=b",
        ] {
            assert!(is_grpc(yes.as_bytes()), "{yes}");
        }
        for no in ["", "text/html", "application/grp", "application/grpc-web"] {
            assert!(!is_grpc(no.as_bytes()), "{no}");
        }
    }
}
