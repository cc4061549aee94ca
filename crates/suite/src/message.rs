//! Protocol Buffers messages of text fields, which is all that workloads need.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::Error};

/// A message whose fields are strings, by field number: `{ 1 = "r" }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(BTreeMap<u32, String>);

/// The wire type of strings.
const LENGTH_DELIMITED: u64 = 2;
/// Field numbers have 29 bits.
const GREATEST_FIELD: u32 = (1 << 29) - 1;

impl Message {
    /// The bytes on the wire, fields in the order of their numbers.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (&field, text) in &self.0 {
            push_varint(&mut bytes, u64::from(field) << 3 | LENGTH_DELIMITED);
            push_varint(&mut bytes, text.len() as u64);
            bytes.extend_from_slice(text.as_bytes());
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
        let texts = BTreeMap::<String, String>::deserialize(deserializer)?;
        let fields = texts
            .into_iter()
            .map(|(number, text)| match number.parse() {
                Ok(field @ 1..=GREATEST_FIELD) => Ok((field, text)),
                _ => Err(D::Error::custom(format!(
                    "`{number}` is not a field number; write a message like {{ 1 = \"text\" }}"
                ))),
            });
        fields.collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(toml: &str) -> Result<Vec<u8>, String> {
        #[derive(Deserialize)]
        struct File {
            message: Message,
        }
        let file: File = toml::from_str(toml).map_err(|error| error.to_string())?;
        Ok(file.message.encode())
    }

    #[test]
    fn fields_are_encoded_in_the_order_of_their_numbers() {
        assert_eq!(encoded("message = { 1 = \"r\" }").unwrap(), b"\x0a\x01r");
        let two = encoded("message = { 16 = \"b\", 2 = \"\" }").unwrap();
        assert_eq!(two, b"\x12\x00\x82\x01\x01b");
        let long = encoded(&format!("message = {{ 1 = \"{}\" }}", "x".repeat(300))).unwrap();
        assert_eq!((&long[..3], long.len()), (&b"\x0a\xac\x02"[..], 303));
        assert_eq!(encoded("message = {}").unwrap(), b"");
    }

    #[test]
    fn invalid_field_numbers_are_rejected() {
        for number in ["0", "payload", "-1", "536870912"] {
            let error = encoded(&format!("message = {{ {number} = \"r\" }}")).unwrap_err();
            assert!(error.contains("is not a field number"), "{error}");
        }
    }
}
