//! Bodies of requests and of expected responses.

use super::{Placeholder, Template};
use crate::position::Position;

#[derive(Clone, Debug)]
pub struct Body {
    pub value: BodyValue,
    pub position: Position,
}

#[derive(Clone, Debug)]
pub enum BodyValue {
    Json(Json),
    /// An XML document, as it is.
    Xml(String),
    /// A text between backticks.
    Oneline(Template),
    /// A text between lines of three backticks.
    Multiline(Multiline),
    /// `base64,…;` or `hex,…;`
    Bytes(Vec<u8>),
    /// `file,name;`
    File(Template),
}

/// A text between lines of three backticks.
#[derive(Clone, Debug)]
pub enum Multiline {
    Text(Template),
    Json(Template),
    Xml(Template),
    /// `raw`, in which `{{` is a text.
    Raw(String),
    GraphQl {
        query: Template,
        /// The value of `variables`, without white space.
        variables: Option<Json>,
    },
}

/// JSON with placeholders, as pieces of its text.
#[derive(Clone, Debug, Default)]
pub struct Json {
    pub pieces: Vec<JsonPiece>,
}

#[derive(Clone, Debug)]
pub enum JsonPiece {
    Text(String),
    /// A placeholder within a string: quotes of its value are escaped.
    InString(Placeholder),
    /// A placeholder for a number, a boolean or null.
    Value(Placeholder),
}
