//! Expected responses as workload files declare them.

use std::collections::BTreeMap;

use prony_traffic::Json;
use prony_traffic::expected::{Amount, BodyRules, PathRule, PathTests, Pattern};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::schema::SchemaSource;
use crate::message::{Message, MessageStream};
use crate::one_or_more::OneOrMore;

/// The expected response.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeclaredResponse {
    /// The status code, or several of which each is right.
    pub status: OneOrMore<Status>,
    /// The media type, without parameters; `None` if any is right.
    pub content_type: Option<String>,
    /// The body; `None` if any is right.
    pub body: Option<ExpectedBody>,
    /// Further header fields that it must have: name (in any case) and value.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// How many lines on standard output the server must write per request.
    #[serde(default)]
    pub log_lines: u32,
}

impl DeclaredResponse {
    pub fn new(status: Status) -> Self {
        Self {
            status: status.into(),
            content_type: None,
            body: None,
            headers: BTreeMap::new(),
            log_lines: 0,
        }
    }

    /// Whether its body is a stream of messages.
    pub fn is_stream(&self) -> bool {
        let content = self.body.as_ref().and_then(|body| body.content.as_ref());
        matches!(content, Some(ExpectedContent::Messages(_)))
    }
}

/// A final status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(u16);

impl Status {
    #[cfg(test)]
    pub(crate) const OK: Self = Self(200);

    pub fn code(self) -> u16 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer)?;
        match u16::try_from(number) {
            Ok(status @ 200..=599) => Ok(Self(status)),
            _ => Err(D::Error::custom(format_args!(
                "{number} is not a final status; write one from 200 to 599"
            ))),
        }
    }
}

/// The expected body: what it is, or rules that it follows, or both.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "BodyFields")]
pub struct ExpectedBody {
    /// The whole of it.
    pub content: Option<ExpectedContent>,
    /// A JSON Schema that it satisfies.
    pub schema: Option<SchemaSource>,
    /// The rules that need no file.
    pub rules: BodyRules,
}

/// The whole expected body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedContent {
    Text(String),
    /// This file of the assets, byte for byte.
    Asset(String),
    /// One line of this file of the assets, drawn for each request. A line feed may follow.
    LineOf(String),
    /// This file of the assets as one `datastar-patch-elements` event.
    DatastarPatchOf(String),
    /// This message, as gRPC sends it.
    Message(Message),
    /// These messages, as gRPC streams them.
    Messages(MessageStream),
}

impl From<ExpectedContent> for ExpectedBody {
    fn from(content: ExpectedContent) -> Self {
        Self {
            content: Some(content),
            ..Self::default()
        }
    }
}

/// The fields of an expected body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BodyFields {
    text: Option<String>,
    asset: Option<String>,
    line_of: Option<String>,
    datastar_patch_of: Option<String>,
    message: Option<Message>,
    messages: Option<MessageStream>,
    json: Option<Json>,
    #[serde(default)]
    json_path: BTreeMap<String, PathTests>,
    schema: Option<SchemaSource>,
    matches: Option<OneOrMore<Pattern>>,
    contains: Option<OneOrMore<String>>,
    size: Option<Amount>,
}

impl BodyFields {
    fn contents(&mut self) -> Vec<(&'static str, ExpectedContent)> {
        use ExpectedContent::*;
        let contents = [
            ("text", self.text.take().map(Text)),
            ("asset", self.asset.take().map(Asset)),
            ("line_of", self.line_of.take().map(LineOf)),
            (
                "datastar_patch_of",
                self.datastar_patch_of.take().map(DatastarPatchOf),
            ),
            ("message", self.message.take().map(Message)),
            ("messages", self.messages.take().map(Messages)),
        ];
        let contents = contents.into_iter();
        contents
            .filter_map(|(name, content)| Some((name, content?)))
            .collect()
    }
}

impl TryFrom<BodyFields> for ExpectedBody {
    type Error = String;

    fn try_from(mut fields: BodyFields) -> Result<Self, String> {
        let mut contents = fields.contents();
        if let [(one, _), (other, _), ..] = &contents[..] {
            return Err(format!(
                "`{one}` and `{other}` both say what the whole body is; keep one"
            ));
        }
        let paths = fields.json_path.into_iter();
        let body = Self {
            content: contents.pop().map(|(_, content)| content),
            schema: fields.schema,
            rules: BodyRules {
                json: fields.json,
                json_path: paths
                    .map(|(path, tests)| PathRule::new(path, tests))
                    .collect::<Result<_, _>>()?,
                matches: list(fields.matches),
                contains: list(fields.contains),
                size: fields.size,
                ..BodyRules::default()
            },
        };
        if body == Self::default() {
            Err("the expected body is empty; write for example `{ contains = \"text\" }`, or leave `body` out".into())
        } else {
            Ok(body)
        }
    }
}

fn list<T: Clone>(values: Option<OneOrMore<T>>) -> Vec<T> {
    values.map_or(Vec::new(), |values| values.as_slice().to_vec())
}
