//! A gRPC call of a load, encoded.

use prony_traffic::{Call, CallError};

use crate::wire::h2::StreamRequest;

impl StreamRequest {
    /// The call, ready to be sent any number of times.
    ///
    /// # Errors
    ///
    /// If [it cannot be sent](Call::check).
    pub fn of_call(call: &Call) -> Result<Self, CallError> {
        call.check()?;
        Ok(Self::call(
            call.kind,
            call.scheme.name(),
            &call.authority,
            &call.path,
            &call.fields(),
            &call.body(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::{HeaderName, HeaderValue};
    use prony_traffic::{Base64, CallKind, Scheme};

    use super::*;
    use crate::wire::h2::hpack;

    const PATH: &str = "/prony.echo.v1.Echo/Unary";

    /// The fields, as `name=value`.
    fn fields_of(request: &StreamRequest) -> Vec<String> {
        let mut fields = hpack::Fields::default();
        let decoded = hpack::Decoder::default().decode(request.block(), &mut fields);
        decoded.unwrap();
        let line = |(name, value): (&[u8], &[u8])| {
            format!("{}={}", name.escape_ascii(), value.escape_ascii())
        };
        fields.iter().map(line).collect()
    }

    const USER_AGENT: &str = concat!("user-agent=prony/", env!("CARGO_PKG_VERSION"));

    #[test]
    fn a_call_is_a_head_and_a_message_with_its_length() {
        let call = Call::unary(PATH, "localhost:50051", b"\x0a\x01x");
        let request = StreamRequest::of_call(&call).unwrap();
        assert_eq!((request.path(), request.method()), (PATH, "POST"));
        assert_eq!(request.call_kind(), Some(CallKind::Unary));
        assert_eq!(request.body(), b"\0\0\0\0\x03\x0a\x01x");
        let expected = [
            ":method=POST",
            ":scheme=http",
            ":path=/prony.echo.v1.Echo/Unary",
            ":authority=localhost:50051",
            "content-type=application/grpc",
            USER_AGENT,
            "te=trailers",
        ];
        assert_eq!(fields_of(&request), expected);
    }

    #[test]
    fn a_call_has_metadata_a_timeout_and_several_messages() {
        let metadata = [
            ("user-agent", "me"),
            ("x-token", "t"),
            ("te", "trailers"),
            ("connection", "close"),
        ]
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        });
        let call = Call {
            scheme: Scheme::Https,
            kind: CallKind::of(true, false),
            metadata: metadata.into(),
            timeout: Some(Duration::from_secs(1)),
            messages: vec![Base64(b"a".to_vec()), Base64::default()],
            ..Call::unary(PATH, "host", "")
        };
        let request = StreamRequest::of_call(&call).unwrap();
        assert_eq!(request.body(), b"\0\0\0\0\x01a\0\0\0\0\0");
        let mut fields = fields_of(&request);
        fields.retain(|field| !field.starts_with(':') || field.starts_with(":scheme"));
        fields.sort_unstable();
        let expected = [
            ":scheme=https",
            "content-type=application/grpc",
            "grpc-timeout=1000000u",
            "te=trailers",
            "user-agent=me",
            "x-token=t",
        ];
        assert_eq!(fields, expected);
    }
}
