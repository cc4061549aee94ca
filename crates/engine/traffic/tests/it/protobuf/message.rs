//! Messages from and to JSON.

use prony_testkit::contains;
use prony_testkit::table::rows;
use prony_traffic::protobuf::{MAX_JSON, MAX_MESSAGE, MAX_MESSAGES, Method, decode};
use proptest::prelude::*;

use crate::protobuf::{compile, shop};

fn method(name: &str) -> Method {
    shop().method(&format!("shop.v1.Catalog/{name}")).unwrap()
}

fn legacy(name: &str) -> Method {
    let schema = compile("legacy.proto");
    schema.method(&format!("legacy.Ledger/{name}")).unwrap()
}

/// The JSON of an item that has every field.
const ITEM: &str = r#"{
    "id": -7, "stock": "9007199254740993", "weight": 1.25, "rating": "NaN", "inStock": true, "displayName": "Chair ✓",
    "picture": "AAH/", "size": "SIZE_LARGE", "tags": ["a", "b"], "deltas": [-1, 2],
    "parts": {"leg": {"name": "left", "parts": [{"name": "foot"}]}}, "names": {"4": "vier"},
    "money": {"currency": "EUR", "units": "3"}, "added": "2024-02-29T12:00:00.500Z", "leadTime": "1.500s",
    "extra": {"list": [1.0, null]}, "anyValue": [true],
    "detail": {"@type": "type.googleapis.com/shop.v1.Money", "currency": "USD"}, "mask": "id,displayName",
    "views": "0", "serial": "18446744073709551615", "note": ""
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
fn messages_are_those_of_the_protobuf_specification() {
    let ids = [&b"\x08\x01"[..], b"\x08\x02"];
    for (name, json, expected) in [
        // A single request takes one value or nothing.
        ("Find", "", &[&b""[..]][..]),
        ("Find", " \n", &[b""]),
        ("Find", "{}", &[b""]),
        // A stream takes an array or values in a row.
        ("Import", r#"[{"id":1},{"id":2}]"#, &ids),
        ("Import", "{\"id\":1}\n{\"id\":2}\n", &ids),
        ("Import", "", &[]),
        ("Import", "[]", &[]),
        ("Import", "\n", &[]),
        // Names may be those of the .proto file.
        ("Import", r#"{"displayName":"x"}"#, &[b"\x32\x01x"]),
        ("Import", r#"{"display_name":"x"}"#, &[b"\x32\x01x"]),
    ] {
        assert_eq!(encode(name, json), expected, "{json}");
    }
    let query = r#"{"text":"hi","limit":150}"#;
    assert_eq!(encode("Find", query), [b"\x0a\x02hi\x10\x96\x01"]);
    let shown = method("Find").decode(b"\x08\x96\x01").unwrap();
    assert_eq!(shown, "{\n  \"id\": 150\n}");
    // An array is one message if the type is a list.
    let count = |json| encode("Load", json).len();
    assert_eq!((count("[1]"), count("[1] [2]")), (1, 2));
}

#[test]
fn an_integer_may_have_an_exponent_in_quotes_or_without() {
    let plain = encode(
        "Import",
        r#"[{"id": 100, "stock": "-20"}, {"id": 3, "note": "1e2"}]"#,
    );
    for json in [
        r#"[{"id": 1e2, "stock": -2e1}, {"id": 3, "note": "1e2"}]"#,
        r#"[{"id": "1e2", "stock": "-2.0E+1"}, {"id": "30e-1", "note": "1e2"}]"#,
        "\u{feff}[{\"id\": \"1e2\",\n \"stock\": \"-20\"}, {\"id\": 3, \"note\": \"1e2\"}]",
    ] {
        assert_eq!(encode("Import", json), plain, "{json}");
    }
    for (json, message) in [
        (
            r#"{"size": "1e2"}"#,
            "line 1, column 14: field `size`: unrecognized enum value",
        ),
        (r#"{"id": "1e-1"}"#, "line 1, column 13: field `id`: "),
        (r#"{"id": "1e2x"}"#, "line 1, column 13: field `id`: "),
    ] {
        contains(&error("Import", json), message);
    }
}

#[test]
fn errors_name_field_line_and_column() {
    for [name, json, expected] in rows(
        r#"
        Find | {} {} | line 1, column 4: trailing characters
        Find | [{}] | line 1, column 1: invalid type: sequence, expected a map
        Find | {"txt": 1} | line 1, column 6: unrecognized field name 'txt'; did you mean `text`?
        Find | {"limit": -1} | line 1, column 12: field `limit`: out of range integral type conversion attempted
        Find | {"text" | line 1, column 7: EOF while parsing an object
        Import | [{}] {} | line 1, column 6: trailing characters
        Import | [\n  {"id": 1},\n  {"id": "x"}\n] | line 3, column 12: field `[1].id`: invalid digit found in string
        Import | {"parts": {"leg": {"parts": [{"names": 1}]}}} | line 1, column 37: field `parts.leg.parts[0]`: unrecognized field name 'names'; did you mean `name`?
        Import | {"size": "SIZE_LARGER"} | line 1, column 22: field `size`: unrecognized enum value 'SIZE_LARGER'; did you mean `SIZE_LARGE`?
        Import | {"quote":"x","money":{}} | line 1, column 24: multiple fields provided for oneof 'price'
    "#,
    ) {
        assert_eq!(error(name, json), expected, "{json}");
    }
}

#[test]
fn a_required_field_must_be_set() {
    let post = legacy("Post");
    let error = |json: &str| post.encode(json).unwrap_err().to_string();
    assert_eq!(error("{}"), "field `account` is required");
    let without_number = r#"{"account":"a","line":[{"number":1},{}]}"#;
    assert_eq!(error(without_number), "field `line.number` is required");
    let whole = r#"{"account":"a","line":[{"number":1}],"[legacy.reviewer]":"b"}"#;
    let expected = [b"\x0a\x01a\x23\x08\x01\x24\xa2\x06\x01b"];
    assert_eq!(post.encode(whole).unwrap(), expected);
}

#[test]
fn numbers_are_packed_as_the_file_says() {
    let packed = legacy("Pack").encode(r#"{"values":[1,2],"others":[1,2]}"#);
    assert_eq!(packed.unwrap(), [b"\x0a\x02\x01\x02\x10\x01\x10\x02"]);
}

#[test]
fn depth_and_size_are_limited() {
    let deep = r#"{"parts":["#.repeat(10_000) + &"]}".repeat(10_000);
    let deep = format!(r#"{{"root":{deep}}}"#);
    contains(&error("Import", &deep), "recursion limit");
    let too_many = "there are more than 100000 messages";
    let many = "{}".repeat(MAX_MESSAGES + 1);
    assert_eq!(error("Import", &many), too_many);
    let many = format!("[{}{{}}]", "{},".repeat(MAX_MESSAGES));
    assert!(error("Import", &many).ends_with(too_many));
    let long = " ".repeat(MAX_JSON + 1);
    assert_eq!(error("Find", &long), "the JSON is larger than 16 MiB");
    let long = vec![0; MAX_MESSAGE + 1];
    assert_eq!(not_decoded(&long), "the message is larger than 4 MiB");
}

/// Why a response of `Find` is refused.
fn not_decoded(message: &[u8]) -> String {
    method("Find").decode(message).unwrap_err().to_string()
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
    let nested = |any: Vec<u8>, _| [&url[..], &field(0x12, &any)].concat();
    let any = (0..levels).fold(Vec::new(), nested);
    [&[0x9a], &field(0x01, &any)[..]].concat()
}

#[test]
fn the_deepest_message_is_shown() {
    let part = (0..97).fold(Vec::new(), |part, _| field(0x12, &part));
    let item = [&[0xc2], &field(0x01, &part)[..]].concat();
    let shown = method("Find").decode(&item).unwrap();
    assert_eq!(shown.matches("parts").count(), 97);
}

#[test]
fn what_is_no_message_is_refused() {
    let without_json = "the message has no JSON form: ";
    let too_deep = "the message is nested more than 100 levels deep";
    for (message, expected) in [
        (&b"\x0a\x05ab"[..], "the bytes are not a `shop.v1.Item`: "),
        // A date beyond the year 9999.
        (b"\x7a\x07\x08\xff\xff\xff\xff\xff\x7f", without_json),
        // The innermost `Any` has no type.
        (&nested_any(90), without_json),
        (&nested_any(20_000), too_deep),
    ] {
        let error = not_decoded(message);
        assert!(error.starts_with(expected), "{error}");
    }
}

fn items() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::json;
    let scalars = any::<(i32, i64, bool, String, Option<String>, u64)>();
    let others = (
        -1e9..1e9f64,
        prop::collection::vec(any::<String>(), 0..4),
        prop::collection::vec(any::<i32>(), 0..4),
        prop::collection::btree_map(any::<i32>(), any::<String>(), 0..4),
        prop::collection::btree_map(any::<String>(), any::<String>(), 0..4),
        prop::sample::select(&["SIZE_UNSPECIFIED", "SIZE_SMALL", "SIZE_LARGE"]),
    );
    (scalars, others).prop_map(|((id, stock, in_stock, name, note, serial), (weight, tags, deltas, names, parts, size))| {
        let parts = parts.into_iter().map(|(key, name)| (key, json!({ "name": name })));
        json!({
            "id": id, "stock": stock.to_string(), "weight": weight, "inStock": in_stock, "displayName": name,
            "tags": tags, "deltas": deltas, "names": names, "parts": serde_json::Map::from_iter(parts),
            "serial": serial.to_string(), "size": size, "note": note,
        })
    })
}

/// Removes the values that JSON leaves out: the defaults of fields without presence.
fn without_defaults(item: &mut serde_json::Value) {
    let defaults = serde_json::json!({
        "id": 0, "stock": "0", "weight": 0.0, "inStock": false, "displayName": "", "tags": [], "deltas": [], "names": {},
        "parts": {}, "serial": "0", "size": "SIZE_UNSPECIFIED", "note": null,
    });
    for part in item["parts"].as_object_mut().unwrap().values_mut() {
        part.as_object_mut().unwrap().retain(|_, name| name != "");
    }
    let fields = item.as_object_mut().unwrap();
    fields.retain(|name, value| defaults.get(name) != Some(value));
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
