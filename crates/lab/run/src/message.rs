//! Protocol Buffers messages of texts and whole numbers, which is all that workloads need.

use std::collections::BTreeMap;

use prony_traffic::expected::Messages;
use serde::{Deserialize, Deserializer, de::Error};

/// A message whose fields are strings or whole numbers, by field number: `{ 1 = "r", 2 = 10 }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(BTreeMap<u32, Value>);

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "a field of a message is text or a whole number that is not negative"
)]
enum Value {
    Text(String),
    Number(u64),
}

/// The wire type of numbers.
const VARINT: u64 = 0;
/// The wire type of strings.
const LENGTH_DELIMITED: u64 = 2;
/// Field numbers have 29 bits.
const GREATEST_FIELD: u32 = (1 << 29) - 1;

impl Message {
    /// The bytes on the wire, fields in the order of their numbers.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (&field, value) in &self.0 {
            let field = u64::from(field) << 3;
            match value {
                Value::Text(text) => {
                    push_varint(&mut bytes, field | LENGTH_DELIMITED);
                    push_varint(&mut bytes, text.len() as u64);
                    bytes.extend_from_slice(text.as_bytes());
                }
                Value::Number(number) => {
                    push_varint(&mut bytes, field | VARINT);
                    push_varint(&mut bytes, *number);
                }
            }
        }
        bytes
    }
}

fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values = BTreeMap::<String, Value>::deserialize(deserializer)?;
        let fields = values
            .into_iter()
            .map(|(number, value)| match number.parse() {
                Ok(field @ 1..=GREATEST_FIELD) => Ok((field, value)),
                _ => Err(D::Error::custom(format!(
                    "`{number}` is not a field number; write a message like {{ 1 = \"text\" }}"
                ))),
            });
        fields.collect::<Result<_, _>>().map(Self)
    }
}

/// The same message several times: `{ count = 10, each = { 1 = "r" } }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "StreamFields")]
pub struct MessageStream {
    count: u32,
    each: Message,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamFields {
    count: u32,
    each: Message,
}

impl TryFrom<StreamFields> for MessageStream {
    type Error = String;

    fn try_from(StreamFields { count, each }: StreamFields) -> Result<Self, String> {
        Messages::new(each.encode(), count)?;
        Ok(Self { count, each })
    }
}

impl MessageStream {
    /// What they must be, as gRPC streams them.
    pub(crate) fn expected(&self) -> Messages {
        Messages::of(self.each.encode(), self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::table::refused;

    fn encoded(toml: &str) -> Result<Vec<u8>, String> {
        let message: Result<Message, _> = Deserialize::deserialize(value(toml));
        message
            .map(|message| message.encode())
            .map_err(|error| error.to_string())
    }

    fn stream(toml: &str) -> Result<Vec<u8>, String> {
        let stream: Result<MessageStream, _> = Deserialize::deserialize(value(toml));
        stream
            .map(|stream| stream.expected().body().to_vec())
            .map_err(|error| error.to_string())
    }

    fn value(toml: &str) -> toml::de::ValueDeserializer<'_> {
        toml::de::ValueDeserializer::parse(toml).unwrap()
    }

    #[test]
    fn fields_are_encoded_in_the_order_of_their_numbers() {
        let encoded = |toml: &str| encoded(toml).unwrap();
        assert_eq!(encoded("{ 1 = \"r\" }"), b"\x0a\x01r");
        let two = encoded("{ 16 = \"b\", 2 = \"\" }");
        assert_eq!(two, b"\x12\x00\x82\x01\x01b");
        let long = encoded(&format!("{{ 1 = \"{}\" }}", "x".repeat(300)));
        assert_eq!((&long[..3], long.len()), (&b"\x0a\xac\x02"[..], 303));
        assert_eq!(encoded("{}"), b"");
        let mixed = encoded("{ 1 = \"r\", 2 = 300 }");
        assert_eq!(mixed, b"\x0a\x01r\x10\xac\x02");
    }

    #[test]
    fn each_message_of_a_stream_has_its_prefix() {
        let stream = |toml: &str| stream(toml).unwrap();
        let two = stream("{ count = 2, each = { 1 = \"r\" } }");
        assert_eq!(two, b"\0\0\0\0\x03\x0a\x01r\0\0\0\0\x03\x0a\x01r");
        assert_eq!(stream("{ count = 0, each = { 1 = \"r\" } }"), b"");
        assert_eq!(stream("{ count = 1, each = {} }"), b"\0\0\0\0\0");
    }

    #[test]
    fn other_fields_values_and_counts_are_rejected() {
        refused(
            encoded,
            r#"
            { 1 = -1 } | is text or a whole number
            { 1 = 1.5 } | is text or a whole number
            { 1 = true } | is text or a whole number
            { 1 = [] } | is text or a whole number
            { 0 = "r" } | is not a field number
            { payload = "r" } | is not a field number
            { -1 = "r" } | is not a field number
            { 536870912 = "r" } | is not a field number
            "#,
        );
        refused(
            stream,
            r#"
            { count = 4000000000, each = { 1 = "r" } } | at most 67108864 are allowed
            { count = -1, each = {} } | expected u32
            { number = 1, each = {} } | unknown field `number`
            "#,
        );
    }
}
