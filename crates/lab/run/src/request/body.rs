//! What a request sends.

use std::collections::BTreeMap;

use prony_traffic::SentJson;
use serde::Deserialize;

use super::value::Value;
use crate::one_or_more::OneOrMore;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestBody {
    Text(String),
    Json(SentJson),
    /// These fields, as an HTML form sends them.
    Form(BTreeMap<String, OneOrMore<Value>>),
    /// The content of this file.
    File(String),
    /// These parts, as an HTML form with files sends them.
    Multipart(Vec<MultipartPart>),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "PartFields")]
pub struct MultipartPart {
    /// The name of its field.
    pub name: String,
    /// What it holds.
    pub content: PartContent,
    /// The name of the file that it stands for.
    pub(crate) filename: Option<String>,
    /// Its media type.
    pub content_type: Option<String>,
}

/// What a part of a multipart body holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartContent {
    Text(Value),
    File(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartFields {
    name: String,
    text: Option<Value>,
    file: Option<String>,
    filename: Option<String>,
    content_type: Option<String>,
}

impl TryFrom<PartFields> for MultipartPart {
    type Error = String;

    fn try_from(fields: PartFields) -> Result<Self, String> {
        let name = fields.name;
        let content = match (fields.text, fields.file) {
            (Some(text), None) => PartContent::Text(text),
            (None, Some(file)) => PartContent::File(file),
            _ => return Err(format!("part `{name}` needs either `text` or `file`")),
        };
        if let Some(media) = &fields.content_type
            && !media.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        {
            return Err(format!("the `content_type` of part `{name}` is not one"));
        }
        Ok(Self {
            name,
            content,
            filename: fields.filename,
            content_type: fields.content_type,
        })
    }
}

impl RequestBody {
    /// Whether it has a value that must not be shown.
    pub(crate) fn has_secret(&self) -> bool {
        match self {
            Self::Text(_) | Self::Json(_) | Self::File(_) => false,
            Self::Form(fields) => {
                let mut values = fields.values().flat_map(OneOrMore::as_slice);
                values.any(Value::is_secret)
            }
            Self::Multipart(parts) => {
                let mut contents = parts.iter().map(|part| &part.content);
                contents.any(|it| matches!(it, PartContent::Text(text) if text.is_secret()))
            }
        }
    }
}
