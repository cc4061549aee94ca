//! Texts, values and bodies from templates.

use std::borrow::Cow;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use super::failure::{Failure, fail};
use super::value::Value;
use super::variables::Variables;
use crate::ast::{
    Body, BodyValue, Compiled, Count, Expression, Json, JsonPath, JsonPiece, Multiline,
    Placeholder, RegexValue, Setting, Template, TemplateElement, VariableDefinition, VariableValue,
};
use crate::number::Number;
use crate::position::Position;

pub trait Environment {
    /// The present time, for `newDate`, `daysAfterNow` and `daysBeforeNow`.
    fn now(&mut self) -> SystemTime;

    /// A random number, for `newUuid`.
    fn random(&mut self) -> u128;

    /// What is in a file that a body or a predicate names.
    fn file(&mut self, name: &str) -> Result<Vec<u8>, FileError>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileError {
    /// It cannot be read, for this reason.
    Unreadable(String),
    /// It is outside of the folders that a Hurl file may read.
    Forbidden,
}

/// Variables and what is outside of the file: all that a template depends on.
pub struct Scope<'a> {
    variables: &'a Variables,
    environment: &'a mut dyn Environment,
}

impl<'a> Scope<'a> {
    pub fn new(variables: &'a Variables, environment: &'a mut dyn Environment) -> Self {
        Self {
            variables,
            environment,
        }
    }

    pub(super) fn variables(&self) -> &'a Variables {
        self.variables
    }

    pub(super) fn random(&mut self) -> u128 {
        self.environment.random()
    }

    pub(super) fn now(&mut self) -> SystemTime {
        self.environment.now()
    }

    pub fn value(&mut self, placeholder: &Placeholder) -> Result<Value, Failure> {
        match &placeholder.expression {
            Expression::Variable(name) => match self.variables.get(name) {
                Some(variable) => Ok(variable.value.clone()),
                None => {
                    let reason = format!("you must set the variable {name}");
                    fail(placeholder.position, "Undefined variable", reason)
                }
            },
            Expression::NewDate => Ok(Value::Date(self.now().into())),
            Expression::NewUuid => Ok(Value::Text(uuid(self.environment.random()))),
        }
    }

    fn rendered(&mut self, placeholder: &Placeholder) -> Result<String, Failure> {
        let value = self.value(placeholder)?;
        match value.rendered() {
            Some(text) => Ok(text),
            None => {
                let reason = format!("expression with value {value} can not be rendered");
                fail(placeholder.position, "Unrenderable expression", reason)
            }
        }
    }

    pub fn text(&mut self, template: &Template) -> Result<String, Failure> {
        let mut text = String::new();
        for element in &template.elements {
            match element {
                TemplateElement::Text(piece) => text.push_str(piece),
                TemplateElement::Placeholder(placeholder) => {
                    text.push_str(&self.rendered(placeholder)?)
                }
            }
        }
        Ok(text)
    }

    fn json(&mut self, json: &Json) -> Result<String, Failure> {
        let mut text = String::new();
        for piece in &json.pieces {
            match piece {
                JsonPiece::Text(piece) => text.push_str(piece),
                JsonPiece::InString(placeholder) => {
                    append_json_string(&self.rendered(placeholder)?, &mut text)
                }
                JsonPiece::Value(placeholder) => {
                    let value = self.rendered(placeholder)?;
                    if !crate::parse::begins_with_json_scalar(&value) {
                        let position = placeholder.position;
                        return Err(Failure::actual(position, "Invalid JSON", value));
                    }
                    text.push_str(&value);
                }
            }
        }
        Ok(text)
    }

    /// The text between lines of backticks. A GraphQL query becomes JSON.
    pub(super) fn multiline(&mut self, multiline: &Multiline) -> Result<String, Failure> {
        match multiline {
            Multiline::Text(template) | Multiline::Json(template) | Multiline::Xml(template) => {
                self.text(template)
            }
            Multiline::Raw(text) => Ok(text.clone()),
            Multiline::GraphQl { query, variables } => {
                let query = serde_json::Value::from(self.text(query)?.trim());
                match variables {
                    None => Ok(format!("{{\"query\":{query}}}")),
                    Some(variables) => Ok(format!(
                        "{{\"query\":{query},\"variables\":{}}}",
                        self.json(variables)?
                    )),
                }
            }
        }
    }

    pub(super) fn body(&mut self, body: &Body) -> Result<Vec<u8>, Failure> {
        match &body.value {
            BodyValue::Bytes(bytes) => Ok(bytes.clone()),
            BodyValue::File(name) => self.file(name),
            _ => {
                let text = self.body_text(body)?;
                Ok(text.map_or(Vec::new(), |(text, _)| text.into_bytes()))
            }
        }
    }

    pub(super) fn file(&mut self, name: &Template) -> Result<Vec<u8>, Failure> {
        let text = self.text(name)?;
        self.environment.file(&text).or_else(|error| {
            let (title, reason) = match error {
                FileError::Unreadable(reason) => (
                    "File read access",
                    format!("file {text} can not be read: {reason}"),
                ),
                FileError::Forbidden => (
                    "Unauthorized file access",
                    format!("unauthorized access to file {text}"),
                ),
            };
            fail(name.position, title, reason)
        })
    }

    pub(super) fn regex<'v>(
        &mut self,
        value: &'v RegexValue,
    ) -> Result<Cow<'v, regex::Regex>, Failure> {
        match value {
            RegexValue::Literal(regex) => Ok(Cow::Borrowed(regex)),
            RegexValue::Template(template) => self.compiled(template, "Invalid regex", |_| {
                "regex expression is not valid".into()
            }),
        }
    }

    pub(super) fn json_path<'v>(
        &mut self,
        path: &'v JsonPath,
    ) -> Result<Cow<'v, serde_json_path::JsonPath>, Failure> {
        self.compiled(path, "Invalid JSONPath", |text| {
            format!("JSONPath expression '{text}' is not valid")
        })
    }

    /// What a text means; `reason` says that it means nothing.
    fn compiled<'v, T: Clone + FromStr>(
        &mut self,
        compiled: &'v Compiled<T>,
        title: &'static str,
        reason: fn(&str) -> String,
    ) -> Result<Cow<'v, T>, Failure> {
        if let Some(value) = &compiled.value {
            return Ok(Cow::Borrowed(value));
        }
        let text = self.text(&compiled.template)?;
        let value = text.parse().map(Cow::Owned);
        value.or_else(|_| fail(compiled.template.position, title, reason(&text)))
    }

    pub(super) fn index(&mut self, setting: &Setting<i64>) -> Result<i64, Failure> {
        self.setting(setting, "integer", |value| match value {
            Value::Number(Number::Integer(value)) => Some(*value),
            _ => None,
        })
    }

    pub fn flag(&mut self, setting: &Setting<bool>) -> Result<bool, Failure> {
        self.setting(setting, "boolean", |value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        })
    }

    pub fn count(&mut self, setting: &Setting<Count>) -> Result<Count, Failure> {
        self.setting(setting, "integer >= -1", |value| match value {
            Value::Number(Number::Integer(-1)) => Some(Count::Infinite),
            Value::Number(Number::Integer(value)) => u64::try_from(*value).ok().map(Count::Finite),
            _ => None,
        })
    }

    /// A time, by an option. A variable has the unit in its text, or is a number without one.
    pub fn duration(&mut self, setting: &Setting<Duration>) -> Result<Duration, Failure> {
        self.setting(setting, "duration", |value| match value {
            Value::Number(Number::Integer(value)) => {
                u64::try_from(*value).ok().map(Duration::from_millis)
            }
            Value::Text(text) => crate::parse::duration(text),
            _ => None,
        })
    }

    fn setting<T: Clone>(
        &mut self,
        setting: &Setting<T>,
        expected: &'static str,
        convert: impl Fn(&Value) -> Option<T>,
    ) -> Result<T, Failure> {
        match setting {
            Setting::Literal(value) => Ok(value.clone()),
            Setting::Placeholder(placeholder) => {
                let value = self.value(placeholder)?;
                match convert(&value) {
                    Some(value) => Ok(value),
                    None => {
                        let actual = value.described();
                        let reason = format!("expecting {expected}, actual value is {actual}");
                        fail(placeholder.position, "Invalid expression type", reason)
                    }
                }
            }
        }
    }

    /// The value that the option `variable` gives.
    pub fn definition(&mut self, definition: &VariableDefinition) -> Result<Value, Failure> {
        match &definition.value {
            VariableValue::Null => Ok(Value::Null),
            VariableValue::Bool(value) => Ok(Value::Bool(*value)),
            VariableValue::Number(number) => Ok(Value::Number(number.clone())),
            VariableValue::Text(template) => self.text(template).map(Value::Text),
        }
    }

    /// The text of a body that is compared as a text, and where it begins; nothing for bytes.
    pub(super) fn body_text(&mut self, body: &Body) -> Result<Option<(String, Position)>, Failure> {
        let start = body.position;
        Ok(match &body.value {
            BodyValue::Json(json) => Some((self.json(json)?, start)),
            BodyValue::Xml(text) => Some((text.clone(), start)),
            BodyValue::Oneline(template) => Some((self.text(template)?, template.position)),
            BodyValue::Multiline(multiline) => {
                let position = match multiline {
                    Multiline::Text(template)
                    | Multiline::Json(template)
                    | Multiline::Xml(template)
                    | Multiline::GraphQl {
                        query: template, ..
                    } => template.position,
                    Multiline::Raw(_) => body.position.after('\n'),
                };
                Some((self.multiline(multiline)?, position))
            }
            BodyValue::Bytes(_) | BodyValue::File(_) => None,
        })
    }
}

fn append_json_string(value: &str, text: &mut String) {
    for character in value.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            character => text.push(character),
        }
    }
}

/// A UUID of version 4 (RFC 9562).
fn uuid(random: u128) -> String {
    let bits = random & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    let mut digits = format!("{bits:032x}");
    for at in [20, 16, 12, 8] {
        digits.insert(at, '-');
    }
    digits
}
