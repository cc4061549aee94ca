//! Texts of requests in which `{{name}}` stands for a value.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_hurl::Position;
use prony_hurl::ast::{Expression, Placeholder};
use prony_hurl::evaluate::Scope;
use serde::{Deserialize, Serialize};

use crate::encode::Encode;
use crate::sources::Sources;

/// Why a text with placeholders is unusable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    #[error("`{0}` is not a placeholder; write `{{{{name}}}}`")]
    Placeholder(String),
    #[error("`{{{{` is not followed by `}}}}`")]
    Open,
    #[error("the value `{name}` is not defined")]
    Undefined { name: String },
    #[error("{0}")]
    Text(&'static str),
    #[error("the value `{name}` {reason}")]
    Value { name: String, reason: &'static str },
    #[error("it is not JSON: {0}")]
    Json(String),
}

/// A text as a file has it.
#[derive(Clone, Default)]
pub struct Template(Vec<Element>);

#[derive(Clone)]
enum Element {
    /// Text of the file.
    Text(String),
    /// A value that never differs, and its name.
    Constant(String, String),
    /// A value that differs.
    Value(Expression),
}

/// A text as it is sent.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Text(Vec<Piece>);

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Piece {
    Literal(#[serde(with = "crate::base64")] Vec<u8>),
    /// A value, or a function, and how it is written.
    Value(#[serde(with = "by_name")] Placeholder, Encode),
    /// These pieces in base64.
    Base64(Vec<Piece>),
}

impl Template {
    /// A text without placeholders.
    pub fn literal(text: &str) -> Self {
        Self(vec![Element::Text(text.to_owned())])
    }

    /// A text with placeholders for the values of these sources. Those that never differ are put in.
    ///
    /// # Errors
    ///
    /// If a placeholder is none, or its value is not defined.
    pub fn parse(text: &str, sources: &Sources) -> Result<Self, TextError> {
        let mut elements = Vec::new();
        let mut rest = text;
        while let Some(split) = split_at_placeholder(rest)? {
            if !split.before.is_empty() {
                elements.push(Element::Text(split.before.to_owned()));
            }
            elements.push(Element::of(expression(split.inner)?, sources)?);
            rest = split.behind;
        }
        if !rest.is_empty() {
            elements.push(Element::Text(rest.to_owned()));
        }
        Ok(Self(elements))
    }

    /// The text, if it never differs.
    pub fn constant(&self) -> Option<String> {
        let texts = self.0.iter().map(|element| match element {
            Element::Text(text) | Element::Constant(_, text) => Some(text.as_str()),
            Element::Value(_) => None,
        });
        texts.collect()
    }

    /// The text as it is sent: `encode_text` is for what the file says, `encode_value` for each value.
    ///
    /// # Errors
    ///
    /// If a value that never differs cannot be sent.
    pub fn encoded(&self, encode_text: Encode, encode_value: Encode) -> Result<Text, TextError> {
        let mut text = Text::default();
        for element in &self.0 {
            match element {
                Element::Text(piece) => {
                    let encoded = encode_text.encode(piece).map_err(TextError::Text)?;
                    text.push(encoded.as_bytes());
                }
                Element::Constant(name, value) => {
                    let encoded = encode_value.encode(value);
                    let encoded = encoded.map_err(|reason| value_error(name, reason))?;
                    text.push(encoded.as_bytes());
                }
                Element::Value(expression) => text.push_value(expression.clone(), encode_value),
            }
        }
        Ok(text)
    }

    /// JSON with placeholders: those in strings are escaped, the others stand for whole values.
    ///
    /// # Errors
    ///
    /// If it is not JSON.
    pub fn json(&self) -> Result<Text, TextError> {
        let mut place = JsonPlace::default();
        let mut text = Text::default();
        // What JSON the text is if each value is 0.
        let mut example = String::new();
        for element in &self.0 {
            let encode = if place.is_in_string {
                Encode::JsonString
            } else {
                Encode::JsonValue
            };
            match element {
                Element::Text(piece) => {
                    place.go_through(piece);
                    text.push(piece.as_bytes());
                    example.push_str(piece);
                }
                Element::Constant(name, value) => {
                    let encoded = encode
                        .encode(value)
                        .map_err(|reason| value_error(name, reason))?;
                    text.push(encoded.as_bytes());
                    example.push('0');
                }
                Element::Value(expression) => {
                    text.push_value(expression.clone(), encode);
                    example.push('0');
                }
            }
        }
        match serde_json::from_str::<serde::de::IgnoredAny>(&example) {
            Ok(_) => Ok(text),
            Err(error) => Err(TextError::Json(error.to_string())),
        }
    }
}

/// A text with a placeholder.
struct Split<'a> {
    before: &'a str,
    /// What is between the braces.
    inner: &'a str,
    behind: &'a str,
}

/// Splits a text at its first placeholder.
fn split_at_placeholder(text: &str) -> Result<Option<Split<'_>>, TextError> {
    let Some((before, rest)) = text.split_once("{{") else {
        return Ok(None);
    };
    let (inner, behind) = rest.split_once("}}").ok_or(TextError::Open)?;
    Ok(Some(Split {
        before,
        inner,
        behind,
    }))
}

/// The first placeholder of a text.
pub fn placeholder(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Ok(Some(split)) = split_at_placeholder(rest) {
        if expression(split.inner).is_ok() {
            let end = rest.len() - split.behind.len();
            return Some(&rest[split.before.len()..end]);
        }
        rest = split.behind;
    }
    None
}

fn expression(inner: &str) -> Result<Expression, TextError> {
    match inner.trim() {
        "newDate" => Ok(Expression::NewDate),
        "newUuid" => Ok(Expression::NewUuid),
        name if prony_hurl::is_variable_name(name) => Ok(Expression::Variable(name.to_owned())),
        _ => Err(TextError::Placeholder(format!("{{{{{inner}}}}}"))),
    }
}

fn value_error(name: &str, reason: &'static str) -> TextError {
    TextError::Value {
        name: name.to_owned(),
        reason,
    }
}

impl Element {
    fn of(expression: Expression, sources: &Sources) -> Result<Self, TextError> {
        let Expression::Variable(name) = &expression else {
            return Ok(Self::Value(expression));
        };
        if sources.changing().any(|changing| changing == name) {
            return Ok(Self::Value(expression));
        }
        let name = name.clone();
        match sources.variables.get(&name) {
            Some(variable) => Ok(Self::Constant(name, variable.value.to_string())),
            None => Err(TextError::Undefined { name }),
        }
    }
}

impl Text {
    /// A text that never differs.
    pub fn literal(bytes: impl Into<Vec<u8>>) -> Self {
        Self(vec![Piece::Literal(bytes.into())])
    }

    /// Appends bytes that never differ.
    pub fn push(&mut self, bytes: &[u8]) {
        match self.0.last_mut() {
            Some(Piece::Literal(last)) => last.extend_from_slice(bytes),
            _ => self.0.push(Piece::Literal(bytes.to_vec())),
        }
    }

    fn push_value(&mut self, expression: Expression, encode: Encode) {
        self.0.push(Piece::value(expression, encode));
    }

    /// Appends another text.
    pub fn append(&mut self, other: Self) {
        for piece in other.0 {
            match piece {
                Piece::Literal(bytes) => self.push(&bytes),
                other => self.0.push(other),
            }
        }
    }

    /// The text in base64.
    #[must_use]
    pub fn in_base64(self) -> Self {
        match self.constant() {
            Some(bytes) => Self::literal(STANDARD.encode(bytes)),
            None => Self(vec![Piece::Base64(self.0)]),
        }
    }

    /// The bytes, if they never differ.
    pub fn constant(&self) -> Option<Vec<u8>> {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Literal(bytes) => Some(bytes.as_slice()),
            Piece::Value(..) | Piece::Base64(_) => None,
        });
        Some(pieces.collect::<Option<Vec<_>>>()?.concat())
    }

    pub(crate) fn differs(&self) -> bool {
        let is_literal = |piece: &Piece| matches!(piece, Piece::Literal(_));
        !self.0.iter().all(is_literal)
    }

    /// The bytes that never differ, one piece after the other.
    pub fn literals(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Literal(bytes) => Some(bytes.as_slice()),
            Piece::Value(..) | Piece::Base64(_) => None,
        })
    }

    /// The text with the names of the values that differ: `/items/{{item}}`.
    pub fn shown(&self) -> String {
        shown(&self.0)
    }

    /// Appends the text with the present values to `bytes`.
    pub(crate) fn render(
        &self,
        scope: &mut Scope<'_>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), TextError> {
        render(&self.0, scope, bytes)
    }
}

/// A placeholder as its name.
mod by_name {
    use prony_hurl::ast::Placeholder;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        placeholder: &Placeholder,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_str(super::name_of(placeholder))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Placeholder, D::Error> {
        let expression = super::expression(&String::deserialize(from)?);
        Ok(super::placeholder_of(expression.map_err(D::Error::custom)?))
    }
}

fn placeholder_of(expression: Expression) -> Placeholder {
    Placeholder {
        expression,
        position: Position::START,
    }
}

impl Piece {
    fn value(expression: Expression, encode: Encode) -> Self {
        Self::Value(placeholder_of(expression), encode)
    }
}

fn render(pieces: &[Piece], scope: &mut Scope<'_>, bytes: &mut Vec<u8>) -> Result<(), TextError> {
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => bytes.extend_from_slice(literal),
            Piece::Value(placeholder, encode) => {
                let value = scope.value(placeholder).ok();
                let text = value.and_then(|value| value.rendered());
                let encoded = match &text {
                    Some(text) => encode.encode(text),
                    None => Err(
                        "is a list or an object; only text, numbers, booleans and null can be sent",
                    ),
                };
                let encoded =
                    encoded.map_err(|reason| value_error(name_of(placeholder), reason))?;
                bytes.extend_from_slice(encoded.as_bytes());
            }
            Piece::Base64(pieces) => {
                let mut inner = Vec::new();
                render(pieces, scope, &mut inner)?;
                bytes.extend_from_slice(STANDARD.encode(inner).as_bytes());
            }
        }
    }
    Ok(())
}

fn shown(pieces: &[Piece]) -> String {
    let shown = pieces.iter().map(|piece| match piece {
        Piece::Literal(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Piece::Value(placeholder, _) => format!("{{{{{}}}}}", name_of(placeholder)),
        Piece::Base64(pieces) => shown(pieces),
    });
    shown.collect()
}

fn name_of(placeholder: &Placeholder) -> &str {
    match &placeholder.expression {
        Expression::Variable(name) => name,
        Expression::NewDate => "newDate",
        Expression::NewUuid => "newUuid",
    }
}

/// Where in JSON a text ends.
#[derive(Default)]
struct JsonPlace {
    is_in_string: bool,
    is_escaped: bool,
}

impl JsonPlace {
    fn go_through(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.is_in_string => self.is_escaped = true,
                b'"' => self.is_in_string = !self.is_in_string,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::turn::FlowShare;
    use prony_testkit::table::rows;

    use super::*;
    use crate::environment::UserEnvironment;

    fn sources() -> Sources {
        let mut sources = Sources::default();
        sources.set("fixed", "a \"b\"").expect("a name");
        let rows = "item,n\n\"pen \"\"x\"\"\\\",7\n";
        sources.add_csv(rows.as_bytes()).expect("rows");
        sources
    }

    fn rendered(text: &Text) -> Result<String, TextError> {
        let sources = sources();
        let mut environment = UserEnvironment::new(None, 1);
        let mut variables = sources.variables.clone();
        sources.fill(FlowShare::ALL, &mut variables, &mut environment.random);
        let mut bytes = Vec::new();
        text.render(&mut Scope::new(&variables, &mut environment), &mut bytes)?;
        Ok(String::from_utf8(bytes).expect("a text"))
    }

    fn plain(text: &str) -> Result<String, TextError> {
        rendered(&Template::parse(text, &sources())?.encoded(Encode::Unchanged, Encode::Query)?)
    }

    #[test]
    fn values_are_encoded_and_text_is_not() {
        let sent = plain("a {{item}}-{{ n }}-{{fixed}}-b").expect("a text");
        assert_eq!(sent, "a pen%20%22x%22%5C-7-a%20%22b%22-b");
        let uuid = plain("{{newUuid}}").expect("a text");
        assert_eq!((uuid.len(), uuid.as_bytes()[14]), (36, b'4'));
        assert!(plain("{{newDate}}").expect("a text").contains('T'));
    }

    #[test]
    fn what_never_differs_is_put_in_once() {
        for (text, expected) in [
            ("{{fixed}}!", Some("a \"b\"!")),
            ("{{n}}", None),
            ("{{newUuid}}", None),
        ] {
            let template = Template::parse(text, &sources()).expect("a text");
            assert_eq!(template.constant().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn faults_of_placeholders_are_reported() {
        for [text, expected] in rows(
            "{{a b}} | `{{a b}}` is not a placeholder; write `{{name}}`
            {{}} | `{{}}` is not a placeholder; write `{{name}}`
            a {{item | `{{` is not followed by `}}`
            {{itm}} | the value `itm` is not defined",
        ) {
            let error = plain(text).expect_err(text);
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn a_placeholder_is_found() {
        assert_eq!(placeholder("a {{ b c }} {{d}} {{e}}"), Some("{{d}}"));
        assert_eq!(placeholder("{\"a\": {\"b\": 1}} {{"), None);
    }

    #[test]
    fn json_escapes_within_strings_and_takes_values_elsewhere() {
        let json = |text: &str| {
            let template = Template::parse(text, &sources())?;
            rendered(&template.json()?)
        };
        assert_eq!(
            json(r#"{"\"{{item}}": [{{n}}, "{{n}} {{fixed}}"]}"#),
            Ok(r#"{"\"pen \"x\"\\": [7, "7 a \"b\""]}"#.to_owned())
        );
        for [text, expected] in rows(
            r#"
            {"a": {{n}} | it is not JSON: EOF while parsing an object
            {"a": {{item}}} | the value `item` is not JSON by itself; write the placeholder between quotes
            {"a": {{fixed}}} | the value `fixed` is not JSON by itself; write the placeholder between quotes
        "#,
        ) {
            let error = json(text).expect_err(text).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn base64_is_of_the_whole() {
        let template = Template::parse("{{n}}:x", &sources()).expect("a text");
        let text = template
            .encoded(Encode::Unchanged, Encode::Unchanged)
            .expect("a text")
            .in_base64();
        assert_eq!(rendered(&text), Ok(STANDARD.encode("7:x")));
        let constant = Text::literal("7:x").in_base64();
        assert_eq!(constant.constant(), Some(STANDARD.encode("7:x").into()));
    }
}
