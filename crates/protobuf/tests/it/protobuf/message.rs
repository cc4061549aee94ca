//! Messages from and to JSON.

use prony_protobuf::{MAX_MESSAGE, Method, decode};
use proptest::prelude::*;

use crate::protobuf::{compile, shop};

fn method(name: &str) -> Method {
    shop().method(&format!("shop.v1.Catalog/{name}")).unwrap()
}

/// The JSON of an item that has every field.
const ITEM: &str = r#"{
  "id": -7,
  "stock": "9007199254740993",
  "weight": 1.25,
  "rating": "NaN",
  "inStock": true,
  "displayName": "Chair ✓",
  "picture": "AAH/",
  "size": "SIZE_LARGE",
  "tags": [
    "a",
    "b"
  ],
  "deltas": [
    -1,
    2
  ],
  "parts": {
    "leg": {
      "name": "left",
      "parts": [
        {
          "name": "foot"
        }
      ]
    }
  },
  "names": {
    "4": "vier"
  },
  "money": {
    "currency": "EUR",
    "units": "3"
  },
  "added": "2024-02-29T12:00:00.500Z",
  "leadTime": "1.500s",
  "extra": {
    "list": [
      1.0,
      null
    ]
  },
  "anyValue": [
    true
  ],
  "detail": {
    "@type": "type.googleapis.com/shop.v1.Money",
    "currency": "USD"
  },
  "mask": "id,displayName",
  "views": "0",
  "serial": "18446744073709551615",
  "note": ""
}"#;

fn encode(name: &str, json: &str) -> Vec<Vec<u8>> {
    method(name).encode(json).unwrap()
}

fn error(name: &str, json: &str) -> String {
    method(name).encode(json).unwrap_err().to_string()
}

#[test]
fn every_kind_of_field_survives() {
    let item = method("Import").input();
    let [bytes] = &encode("Import", ITEM)[..] else {
        panic!("not one message")
    };
    // Google's library for Python wrote these bytes.
    assert_eq!(bytes, include_bytes!("../../protoc/item.bin"));
    let shown = decode(&item, bytes).unwrap();
    let normal = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
    assert_eq!(normal(&shown), normal(ITEM));
}

#[test]
fn bytes_are_those_of_the_protobuf_specification() {
    assert_eq!(
        encode("Find", r#"{"text":"hi","limit":150}"#),
        [b"\x0a\x02hi\x10\x96\x01"]
    );
    assert_eq!(
        method("Find").decode(b"\x08\x96\x01").unwrap(),
        "{\n  \"id\": 150\n}"
    );
}

#[test]
fn names_may_be_those_of_the_proto_file() {
    assert_eq!(
        encode("Import", r#"{"display_name":"x"}"#),
        encode("Import", r#"{"displayName":"x"}"#)
    );
}

#[test]
fn a_single_request_takes_one_value_or_nothing() {
    for json in ["", " \n", "{}"] {
        assert_eq!(encode("Find", json), [b""]);
    }
    assert_eq!(
        error("Find", "{} {}"),
        "line 1, column 4: trailing characters"
    );
    assert_eq!(
        error("Find", "[{}]"),
        "line 1, column 1: invalid type: sequence, expected a map"
    );
}

#[test]
fn a_stream_takes_an_array_or_values_in_a_row() {
    let expected = [b"\x08\x01", b"\x08\x02"];
    assert_eq!(encode("Import", r#"[{"id":1},{"id":2}]"#), expected);
    assert_eq!(encode("Import", "{\"id\":1}\n{\"id\":2}\n"), expected);
    for nothing in ["", "[]", "\n"] {
        assert!(encode("Import", nothing).is_empty());
    }
    assert_eq!(
        error("Import", "[{}] {}"),
        "line 1, column 6: trailing characters"
    );
}

#[test]
fn an_array_is_one_message_if_the_type_is_a_list() {
    assert_eq!(encode("Load", "[1]").len(), 1);
    assert_eq!(encode("Load", "[1] [2]").len(), 2);
}

#[test]
fn errors_name_field_line_and_column() {
    assert_eq!(
        error("Import", "[\n  {\"id\": 1},\n  {\"id\": \"x\"}\n]"),
        "line 3, column 12: field `[1].id`: invalid digit found in string"
    );
    assert_eq!(
        error(
            "Import",
            "{\"parts\": {\"leg\": {\"parts\": [{\"names\": 1}]}}}"
        ),
        "line 1, column 37: field `parts.leg.parts[0]`: unrecognized field name 'names'; did you mean `name`?"
    );
    assert_eq!(
        error("Find", "{\"txt\": 1}"),
        "line 1, column 6: unrecognized field name 'txt'; did you mean `text`?"
    );
    assert_eq!(
        error("Import", "{\"size\": \"SIZE_LARGER\"}"),
        "line 1, column 22: field `size`: unrecognized enum value 'SIZE_LARGER'; did you mean `SIZE_LARGE`?"
    );
    assert_eq!(
        error("Find", "{\"limit\": -1}"),
        "line 1, column 12: field `limit`: out of range integral type conversion attempted"
    );
    assert!(error("Find", "{\"text\"").starts_with("line 1, column 7: "));
    assert!(error("Import", r#"{"quote":"x","money":{}}"#).contains("oneof 'price'"));
}

#[test]
fn a_required_field_must_be_set() {
    let post = compile("legacy.proto")
        .method("legacy.Ledger/Post")
        .unwrap();
    let error = |json: &str| post.encode(json).unwrap_err().to_string();
    assert_eq!(error("{}"), "field `account` is required");
    assert_eq!(
        error(r#"{"account":"a","line":[{"number":1},{}]}"#),
        "field `line.number` is required"
    );
    assert_eq!(
        post.encode(r#"{"account":"a","line":[{"number":1}],"[legacy.reviewer]":"b"}"#)
            .unwrap(),
        [b"\x0a\x01a\x23\x08\x01\x24\xa2\x06\x01b"]
    );
}

#[test]
fn numbers_are_packed_as_the_file_says() {
    let pack = compile("legacy.proto")
        .method("legacy.Ledger/Pack")
        .unwrap();
    let json = r#"{"values":[1,2],"others":[1,2]}"#;
    assert_eq!(
        pack.encode(json).unwrap(),
        [b"\x0a\x02\x01\x02\x10\x01\x10\x02"]
    );
}

#[test]
fn depth_and_size_are_limited() {
    let deep = format!("{}{}", r#"{"parts":["#.repeat(10_000), "]}".repeat(10_000));
    let deep = format!(r#"{{"root":{deep}}}"#);
    let text = error("Import", &deep);
    assert!(text.contains("recursion limit"), "{text}");
    let many = "{}".repeat(prony_protobuf::MAX_MESSAGES + 1);
    assert_eq!(
        error("Import", &many),
        "there are more than 100000 messages"
    );
    let many = format!("[{}{{}}]", "{},".repeat(prony_protobuf::MAX_MESSAGES));
    assert!(error("Import", &many).ends_with("there are more than 100000 messages"));
    let long = " ".repeat(prony_protobuf::MAX_JSON + 1);
    assert_eq!(error("Find", &long), "the JSON is larger than 16 MiB");
    let find = method("Find");
    let long = vec![0; MAX_MESSAGE + 1];
    let error = find.decode(&long).unwrap_err();
    assert_eq!(error.to_string(), "the message is larger than 4 MiB");
}

/// A message field, encoded.
fn field(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![tag];
    let mut length = bytes.len();
    while length >= 0x80 {
        field.push(length as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    field.extend(bytes);
    field
}

/// An item whose detail is an `Any` within `levels` others.
fn nested_any(levels: usize) -> Vec<u8> {
    let url = field(0x0a, b"type.googleapis.com/google.protobuf.Any");
    let mut any = Vec::new();
    for _ in 0..levels {
        let value = field(0x12, &any);
        any = [url.as_slice(), &value].concat();
    }
    let mut detail = vec![0x9a, 0x01];
    detail.extend(&field(0, &any)[1..]);
    detail
}

#[test]
fn an_any_within_an_any_is_limited() {
    let find = method("Find");
    let error = find.decode(&nested_any(20_000)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the message is nested more than 100 levels deep"
    );
    // The innermost one has no type.
    let error = find.decode(&nested_any(90)).unwrap_err().to_string();
    assert!(
        error.starts_with("the message has no JSON form: "),
        "{error}"
    );
}

#[test]
fn the_deepest_message_is_shown() {
    let mut part = Vec::new();
    for _ in 0..97 {
        part = field(0x12, &part);
    }
    let mut item = vec![0xc2, 0x01];
    item.extend(&field(0, &part)[1..]);
    let shown = method("Find").decode(&item).unwrap();
    assert_eq!(shown.matches("parts").count(), 97);
}

#[test]
fn what_is_no_message_is_refused() {
    let find = method("Find");
    let error = find.decode(b"\x0a\x05ab").unwrap_err().to_string();
    assert!(
        error.starts_with("the bytes are not a `shop.v1.Item`: "),
        "{error}"
    );
    // A date beyond the year 9999.
    let error = find
        .decode(b"\x7a\x07\x08\xff\xff\xff\xff\xff\x7f")
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("the message has no JSON form: "),
        "{error}"
    );
}

/// The JSON of items.
fn items() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::json;
    let scalars = (
        any::<i32>(),
        any::<i64>(),
        -1e9..1e9f64,
        any::<bool>(),
        any::<String>(),
        any::<Option<String>>(),
    );
    let lists = (
        prop::collection::vec(any::<String>(), 0..4),
        prop::collection::vec(any::<i32>(), 0..4),
        prop::collection::btree_map(any::<i32>(), any::<String>(), 0..4),
        prop::collection::btree_map(any::<String>(), any::<String>(), 0..4),
        0..3usize,
        any::<u64>(),
    );
    (scalars, lists).prop_map(|((id, stock, weight, in_stock, name, note), (tags, deltas, names, parts, size, serial))| {
        let parts: serde_json::Map<_, _> = parts
            .into_iter()
            .map(|(key, name)| (key, json!({ "name": name })))
            .collect();
        let mut item = json!({
            "id": id, "stock": stock.to_string(), "weight": weight, "inStock": in_stock, "displayName": name,
            "tags": tags, "deltas": deltas, "names": names, "parts": parts, "serial": serial.to_string(),
            "size": (["SIZE_UNSPECIFIED", "SIZE_SMALL", "SIZE_LARGE"][size]),
        });
        if let Some(note) = note {
            item["note"] = note.into();
        }
        item
    })
}

/// Removes the values that JSON leaves out: the defaults of fields without presence.
fn without_defaults(value: &mut serde_json::Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|name, value| {
            if name == "parts" {
                value
                    .as_object_mut()
                    .unwrap()
                    .values_mut()
                    .for_each(without_defaults);
            }
            let is_default = match &*value {
                serde_json::Value::Bool(value) => !value,
                serde_json::Value::Number(value) => value.as_f64() == Some(0.0),
                serde_json::Value::String(value) => match name.as_str() {
                    "stock" | "serial" => value == "0",
                    "size" => value == "SIZE_UNSPECIFIED",
                    _ => value.is_empty(),
                },
                serde_json::Value::Array(values) => values.is_empty(),
                serde_json::Value::Object(values) => values.is_empty(),
                serde_json::Value::Null => true,
            };
            name == "note" || !is_default
        });
    }
}

proptest! {
    #[test]
    fn json_survives_encoding_and_decoding(mut item in items()) {
        let method = method("Import");
        let encoded = method.encode(&item.to_string()).unwrap();
        let shown = decode(&method.input(), &encoded[0]).unwrap();
        without_defaults(&mut item);
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        prop_assert_eq!(&shown, &item);
    }

    #[test]
    fn random_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let method = method("Import");
        if let Ok(json) = decode(&method.input(), &bytes) {
            serde_json::from_str::<serde_json::Value>(&json).unwrap();
        }
    }

    #[test]
    fn random_text_is_encoded_or_refused(text in r#"[\[\]{}":,a-z0-9 \n\\]{0,60}"#) {
        let _ = method("Import").encode(&text);
        let _ = method("Find").encode(&text);
    }
}
