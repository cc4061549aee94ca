//! Checks a body without its codings.

use prony_load::{LONGEST_BODY, Mismatch, same_bytes};
use serde_json::Value;

use super::json_path::PathRule;
use super::messages::Messages;
use super::rules::{self, Amount, Pattern};
use super::schema::Schema;
use super::{ExpectedContent, LineOf, Patch};
use crate::files::{AssetError, Files};
use crate::json::{Json, difference, parsed};
use crate::workload::Exchange;

/// What the body must be, with the content of the files that the workload names. Everything is checked.
#[derive(Clone, Debug, Default)]
pub(super) struct BodyCheck {
    pub(super) content: Option<BodyContent>,
    pub(super) size: Option<Amount>,
    pub(super) json: Option<Json>,
    pub(super) json_path: Vec<PathRule>,
    pub(super) schema: Option<Schema>,
    pub(super) matches: Vec<Pattern>,
    pub(super) contains: Vec<String>,
}

/// The whole body.
#[derive(Clone, Debug)]
pub(super) enum BodyContent {
    Exact(Vec<u8>),
    LineOf(LineOf),
    Patch(Patch),
    Messages(Messages),
}

impl BodyCheck {
    pub(super) fn new(workload: Exchange<'_>, files: &Files) -> Result<Self, AssetError> {
        let Some(expected) = &workload.response.body else {
            return Ok(Self::default());
        };
        let id = workload.id;
        let content = expected.content.as_ref();
        let schema = expected.schema.as_ref();
        Ok(Self {
            content: content
                .map(|content| BodyContent::new(content, id, files))
                .transpose()?,
            size: expected.size,
            json: expected.json.clone(),
            json_path: expected.json_path.clone(),
            schema: schema
                .map(|schema| Schema::new(schema, id, files))
                .transpose()?,
            matches: expected.matches.clone(),
            contains: expected.contains.clone(),
        })
    }

    pub(super) fn check(&self, body: &[u8]) -> Result<(), Mismatch> {
        if let Some(content) = &self.content {
            content.check(body)?;
        }
        // Before the rest: no more is kept of a body that is longer, and that is not whole.
        if let Some(size) = self.size {
            size.check_size(body)?;
        }
        if self.needs_json() {
            self.check_json(&parsed(body)?)?;
        }
        self.matches
            .iter()
            .try_for_each(|pattern| pattern.check(body))?;
        self.contains
            .iter()
            .try_for_each(|text| rules::contains(body, text))
    }

    fn needs_json(&self) -> bool {
        self.json.is_some() || !self.json_path.is_empty() || self.schema.is_some()
    }

    fn check_json(&self, body: &Value) -> Result<(), Mismatch> {
        let expected = self.json.as_ref();
        if let Some(mismatch) = expected.and_then(|it| difference(it.value(), body, "$")) {
            return Err(mismatch);
        }
        self.json_path
            .iter()
            .try_for_each(|rule| rule.check(body))?;
        match &self.schema {
            Some(schema) => schema.check(body),
            None => Ok(()),
        }
    }

    /// The lines of which the body is one.
    pub(super) fn lines(&self) -> Option<&LineOf> {
        match &self.content {
            Some(BodyContent::LineOf(lines)) => Some(lines),
            _ => None,
        }
    }

    /// The only body.
    pub(super) fn exact(&self) -> Option<&[u8]> {
        match self.content.as_ref()? {
            BodyContent::Exact(body) => Some(body),
            BodyContent::Messages(messages) => Some(messages.body()),
            BodyContent::LineOf(_) | BodyContent::Patch(_) => None,
        }
    }

    /// The length of every body.
    pub(super) fn length(&self) -> Option<u64> {
        let exact = self.exact().map(|body| body.len() as u64);
        exact.or_else(|| self.size?.exact())
    }

    /// The longest body that is kept, in bytes.
    pub(super) fn longest(&self) -> u64 {
        let of_content = match &self.content {
            Some(BodyContent::Exact(body)) => body.len() as u64,
            Some(BodyContent::LineOf(lines)) => lines.longest(),
            Some(BodyContent::Patch(patch)) => patch.longest(),
            Some(BodyContent::Messages(messages)) => messages.body().len() as u64,
            None => LONGEST_BODY,
        };
        let of_size = self.size.and_then(Amount::max);
        of_content.min(of_size.unwrap_or(LONGEST_BODY))
    }
}

impl BodyContent {
    fn new(content: &ExpectedContent, id: &str, files: &Files) -> Result<Self, AssetError> {
        let read = |name: &str| files.asset(id, name);
        Ok(match content {
            ExpectedContent::Text(text) => Self::Exact(text.clone().into_bytes()),
            ExpectedContent::Message(message) => Self::Exact(message.encode()),
            ExpectedContent::Messages(stream) => Self::Messages(Messages::new(stream)),
            ExpectedContent::Asset(name) => Self::Exact(read(name)?.content),
            ExpectedContent::DatastarPatchOf(name) => Self::Patch(Patch::of(&read(name)?.content)),
            ExpectedContent::LineOf(name) => {
                let file = read(name)?;
                let lines = LineOf::new(name, &file.content).ok_or(AssetError::NoLines {
                    workload: id.to_owned(),
                    path: file.path,
                })?;
                Self::LineOf(lines)
            }
        })
    }

    fn check(&self, body: &[u8]) -> Result<(), Mismatch> {
        match self {
            Self::Exact(expected) => same_bytes(expected, body),
            Self::LineOf(lines) => lines.check(body),
            Self::Patch(patch) => patch.check(body),
            Self::Messages(messages) => messages.check(body),
        }
    }
}
