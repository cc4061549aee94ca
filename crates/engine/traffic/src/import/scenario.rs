//! What an import gives: requests in their order, before they are a text.

use std::time::Duration;

use prony_hurl::ast::FlagOption;

use super::{ImportError, refuse};

/// A variable that a user gives a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// What it stands for, in a few words.
    pub meaning: String,
}

/// A request, and the status that is expected.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// Comments above the request, a line each.
    pub(crate) comments: Vec<String>,
    pub method: String,
    /// The URL with its query.
    pub url: Text,
    pub headers: Vec<(Text, Text)>,
    pub options: Options,
    /// A user and a password.
    pub basic_auth: Option<(Text, Text)>,
    pub content: Content,
    pub status: Option<Status>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How long to wait before the request.
    pub delay: Option<Duration>,
    /// Those that are on.
    pub flags: Vec<FlagOption>,
    /// Whether the body was to be sent in chunks, which Prony does not do.
    pub chunked: bool,
}

impl Options {
    /// What differs if the body was to be sent in chunks.
    pub fn note_on_chunks(&self) -> Option<&'static str> {
        let note = "Prony sends Content-Length instead of Transfer-Encoding";
        self.chunked.then_some(note)
    }
}

#[derive(Clone, Debug, Default)]
pub enum Content {
    #[default]
    None,
    Bytes(Vec<u8>),
    File(Text),
    /// Fields of a form, which are percent-encoded when they are sent.
    Form(Vec<(Text, Text)>),
    /// Parts of a multipart body.
    Multipart(Vec<Part>),
}

#[derive(Clone, Debug)]
pub enum Part {
    Value(Text, Text),
    /// A file with its media type, if one is given.
    File(Text, Text, Option<Text>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Exactly(u16),
    /// Any of this hundred: 2 for 200 to 299.
    Hundred(u16),
}

/// The name of a method that a Hurl file can have: capital letters.
pub(crate) fn method(name: &str) -> Result<String, ImportError> {
    let is_capital = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase());
    // In a Hurl file, HTTP begins a response; Prony opens no tunnels.
    if is_capital && !matches!(name, "HTTP" | "CONNECT") {
        Ok(name.to_owned())
    } else {
        refuse(format!(
            "the method `{name}` is not supported: methods are in capital letters, such as GET or POST"
        ))
    }
}

/// The name of a variable from any text: characters that it cannot have become `_`.
pub(crate) fn variable_name(text: &str) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name = text.replace(|c| !is_name(c), "_");
    // Hurl has functions of these names.
    match name.as_str() {
        "" => "value".into(),
        "newDate" | "newUuid" | "getEnv" => format!("{name}_"),
        _ => name,
    }
}

/// A text in which variables stand for values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    pub(crate) pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Literal(String),
    Variable(String),
}

impl Text {
    pub(crate) fn variable(name: String) -> Self {
        Self {
            pieces: vec![Piece::Variable(name)],
        }
    }

    /// This text with another behind it.
    #[must_use]
    pub(crate) fn then(mut self, more: impl Into<Text>) -> Self {
        for piece in more.into().pieces {
            match (self.pieces.last_mut(), piece) {
                (Some(Piece::Literal(last)), Piece::Literal(text)) => last.push_str(&text),
                (_, piece) => self.pieces.push(piece),
            }
        }
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The text, if it has no variables.
    pub fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [] => Some(""),
            [Piece::Literal(text)] => Some(text),
            _ => None,
        }
    }
}

impl<T: Into<String>> From<T> for Text {
    fn from(text: T) -> Self {
        let text = text.into();
        let pieces = if text.is_empty() {
            Vec::new()
        } else {
            vec![Piece::Literal(text)]
        };
        Self { pieces }
    }
}

pub(crate) fn is_named(header: &Text, name: &str) -> bool {
    let literal = header.literal();
    literal.is_some_and(|header| header.eq_ignore_ascii_case(name))
}

pub(crate) fn has_header(headers: &[(Text, Text)], name: &str) -> bool {
    headers.iter().any(|(header, _)| is_named(header, name))
}
