//! What is written is read back as the same requests.

use std::time::{Duration, SystemTime};

use prony_hurl::ast::FlagOption;
use prony_hurl::evaluate::{Environment, FileError, Rendered, Scope, Value, Variables};
use proptest::prelude::*;

use super::*;
use crate::import::scenario::method;

/// A file whose content is its name, and a boundary that never changes.
struct Fixed;

impl Environment for Fixed {
    fn now(&mut self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn random(&mut self) -> u128 {
        7
    }

    fn file(&mut self, name: &str) -> Result<Vec<u8>, FileError> {
        Ok(name.as_bytes().to_vec())
    }
}

/// The value of every variable in these tests.
const VALUE: &str = "{{v#";

fn entry(content: Content) -> Entry {
    Entry {
        method: "POST".into(),
        url: "http://host/".into(),
        content,
        ..Entry::default()
    }
}

fn try_written(entries: Vec<Entry>) -> Result<String, String> {
    write(&entries, &["a\ncomment".to_owned()]).map_err(|error| error.to_string())
}

fn written(entries: Vec<Entry>) -> String {
    try_written(entries).expect("a Hurl file")
}

/// The requests that Prony sends for a text.
fn rendered(text: &str) -> Vec<Rendered> {
    let file = prony_hurl::parse(text)
        .unwrap_or_else(|error| panic!("{}\n{text}", error.render("a.hurl", text)));
    assert_eq!(prony_hurl::unsupported(&file), []);
    let mut variables = Variables::default();
    variables.set("name", Value::Text(VALUE.into()));
    let render = |entry: &prony_hurl::ast::Entry| {
        Scope::new(&variables, &mut Fixed)
            .request(&entry.request)
            .unwrap_or_else(|error| panic!("{error:?}\n{text}"))
    };
    file.entries.iter().map(render).collect()
}

fn value(text: &Text) -> String {
    text.pieces
        .iter()
        .map(|piece| match piece {
            Piece::Literal(text) => text,
            Piece::Variable(_) => VALUE,
        })
        .collect()
}

/// Texts of the characters that mean something in a Hurl file.
fn nasty() -> impl Strategy<Value = String> {
    let special = "{ } {{ }} # ` ``` \\ \" \n \r\n \t ␣ \0 \x1b [ ] : ; , file, base64, HTTP␣200 [Asserts] name é 😀 \u{301} \
        \u{feff} = & % + / \\u{20} 1 null";
    let special: Vec<String> = special.split(' ').map(|it| it.replace('␣', " ")).collect();
    let special = prop::sample::select(special);
    prop::collection::vec(prop_oneof![3 => special, 1 => any::<String>()], 0..8)
        .prop_map(|pieces| pieces.concat())
}

fn text() -> impl Strategy<Value = Text> {
    let variable = Just(Text::variable("name".into()));
    let piece = prop_oneof![3 => nasty().prop_map(Text::from), 1 => variable];
    prop::collection::vec(piece, 0..4)
        .prop_map(|pieces| pieces.into_iter().fold(Text::default(), Text::then))
}

fn name() -> impl Strategy<Value = Text> {
    text().prop_filter("a name", |text| !text.is_empty())
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let json = nasty().prop_map(|text| serde_json::json!({ "key": [{ &text: text }] }).to_string());
    let form =
        nasty().prop_map(|text| format!("a={text}&b={}", utf8_percent_encode(&text, UNRESERVED)));
    prop_oneof![
        nasty().prop_map(String::into_bytes),
        json.prop_map(String::into_bytes),
        form.prop_map(String::into_bytes),
        any::<Vec<u8>>(),
    ]
}

proptest! {
    #[test]
    fn urls_and_headers_are_read_back(
        url in text(),
        headers in prop::collection::vec((name(), text()), 0..4),
        comment in nasty(),
    ) {
        let url = Text::from("http://host/").then(url);
        let one = Entry {
            url: url.clone(),
            headers: headers.clone(),
            comments: vec![comment],
            status: Some(Status::Exactly(200)),
            ..entry(Content::None)
        };
        let read = rendered(&written(vec![one.clone(), one]));
        prop_assert_eq!(read.len(), 2);
        for request in read {
            prop_assert_eq!(&request.url, &value(&url));
            let expected: Vec<_> = headers.iter().map(|(a, b)| (value(a), value(b))).collect();
            prop_assert_eq!(&request.headers, &expected);
            prop_assert_eq!(&request.body, b"");
        }
    }

    #[test]
    fn bodies_are_read_back(
        body in bytes(),
        content_type in prop::option::of(prop::sample::select(vec![FORM, "application/json", "x/y"])),
    ) {
        let headers = content_type.map(|it| (Text::from("Content-Type"), it.into()));
        let one = Entry {
            headers: headers.into_iter().collect(),
            status: Some(Status::Hundred(2)),
            ..entry(Content::Bytes(body.clone()))
        };
        for request in rendered(&written(vec![one.clone(), one])) {
            prop_assert_eq!(&request.body, &body);
            let sent = request.headers.iter();
            let sent: Vec<_> = sent.map(|(name, value)| (name.to_lowercase(), &**value)).collect();
            let expected = content_type.map(|it| ("content-type".to_owned(), it));
            prop_assert_eq!(sent, Vec::from_iter(expected));
        }
    }

    #[test]
    fn parts_are_read_back(names in prop::collection::vec((name(), text()), 1..4), file in name()) {
        let mut parts: Vec<Part> = names
            .iter()
            .map(|(name, value)| Part::Value(name.clone(), value.clone()))
            .collect();
        parts.push(Part::File("file".into(), file.clone(), Some("a/b; c=d".into())));
        let one = entry(Content::Multipart(parts));
        let read = rendered(&written(vec![one])).remove(0);
        let mut rest = String::from_utf8(read.body).expect("a text");
        for (_, text) in &names {
            let part = format!("\r\n\r\n{}\r\n", value(text));
            let at = rest.find(&part).expect("the part");
            rest = rest[at + part.len() - 2..].to_owned();
        }
        let tail = format!("\r\ncontent-type: a/b; c=d\r\n\r\n{}\r\n", value(&file));
        prop_assert!(rest.contains(&tail), "{}", rest);
    }

    #[test]
    fn users_and_forms_are_read_back(user in name(), password in text(), file in name()) {
        let one = Entry {
            basic_auth: Some((user.clone(), password.clone())),
            ..entry(Content::Form(vec![("a".into(), password.clone())]))
        };
        let two = entry(Content::File(file.clone()));
        let read = rendered(&written(vec![one, two]));
        let credentials = STANDARD.encode(format!("{}:{}", value(&user), value(&password)));
        prop_assert_eq!(&read[0].headers[0].1, &format!("Basic {credentials}"));
        let form = format!("a={}", utf8_percent_encode(&value(&password), UNRESERVED));
        prop_assert_eq!(&read[0].body, form.as_bytes());
        prop_assert_eq!(&read[1].body, &value(&file).into_bytes());
    }
}

#[test]
fn a_file_reads_well() {
    let header = |name: &str, value: &str| (Text::from(name), Text::from(value));
    let first = Entry {
        comments: vec!["Log in".into()],
        headers: vec![header("content-type", FORM), header("x-empty", "")],
        options: Options {
            delay: Some(Duration::from_millis(1500)),
            flags: vec![FlagOption::Insecure, FlagOption::Http2],
            ..Options::default()
        },
        status: Some(Status::Exactly(303)),
        ..entry(Content::Bytes(b"user=a&password=b%20c".to_vec()))
    };
    let second = Entry {
        headers: vec![header("content-type", "application/json")],
        ..entry(Content::Bytes(br#"{"a": "b"}"#.to_vec()))
    };
    let third = entry(Content::Bytes(b"two\nlines".to_vec()));
    let fourth = Entry {
        status: Some(Status::Hundred(2)),
        ..entry(Content::Bytes(b"{{not}} `a` variable".to_vec()))
    };
    let expected = r#"# a comment

# Log in
POST http://host/
x-empty:
[Options]
delay: 1500ms
insecure: true
http2: true
[Form]
user: a
password: b c
HTTP 303

POST http://host/
content-type: application/json
{"a": "b"}

POST http://host/
```raw
two
lines```

POST http://host/
`{\u{7b}not}} \`a\` variable`
HTTP *
[Asserts]
status >= 200
status < 300
"#;
    assert_eq!(written(vec![first, second, third, fourth]), expected);
}

#[test]
fn names_without_a_character_and_long_files_are_refused() {
    let nameless = Entry {
        headers: vec![("".into(), "a".into())],
        ..entry(Content::None)
    };
    let error = "POST http://host/: a header has no name".to_owned();
    assert_eq!(try_written(vec![nameless]), Err(error));
    let long = entry(Content::Bytes(vec![b'a'; prony_hurl::MAX_FILE_BYTES]));
    let error = try_written(vec![long]).expect_err("too long");
    assert!(error.contains("at most 4096 KiB"), "{error}");
}

#[test]
fn methods_are_capitals() {
    for name in ["", "get", "M-SEARCH", "HTTP", "CONNECT"] {
        assert!(method(name).is_err(), "{name}");
    }
    assert!(method("PURGE").is_ok());
}
