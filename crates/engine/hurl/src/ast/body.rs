//! Bodies of requests and of expected responses.

use super::{Placeholder, Template};
use crate::position::Position;

/// A body.
#[derive(Clone, Debug)]
pub struct Body {
    /// What it is.
    pub value: BodyValue,
    /// Where it is.
    pub position: Position,
}

/// What a body is.
#[derive(Clone, Debug)]
pub enum BodyValue {
    /// JSON with placeholders.
    Json(Json),
    /// An XML document, as it is.
    Xml(String),
    /// A text between backticks.
    Oneline(Template),
    /// A text between lines of three backticks.
    Multiline(Multiline),
    /// `base64,…;` or `hex,…;`
    Bytes(Bytes),
    /// `file,name;`
    File(Template),
}

/// Bytes, from their digits.
#[derive(Clone, Debug)]
pub struct Bytes {
    /// The bytes.
    pub value: Vec<u8>,
    /// Where the digits are.
    pub position: Position,
}

/// A text between lines of three backticks.
#[derive(Clone, Debug)]
pub enum Multiline {
    /// Without a hint.
    Text(Template),
    /// `json`
    Json(Template),
    /// `xml`
    Xml(Template),
    /// `raw`, in which `{{` is a text.
    Raw(String),
    /// `graphql`
    GraphQl {
        /// The query.
        query: Template,
        /// The value of `variables`, without white space.
        variables: Option<Json>,
    },
}

/// JSON with placeholders, as pieces of its text.
#[derive(Clone, Debug, Default)]
pub struct Json {
    /// The pieces, in their order.
    pub pieces: Vec<JsonPiece>,
}

/// A piece of JSON.
#[derive(Clone, Debug)]
pub enum JsonPiece {
    /// A text, as it is.
    Text(String),
    /// A placeholder within a string: quotes of its value are escaped.
    InString(Placeholder),
    /// A placeholder for a number, a boolean or null.
    Value(Placeholder),
}
