//! Checks a body without its codings.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json_path::PathRule;
use super::messages::Messages;
use super::rules::{self, Amount, Pattern};
use super::schema::Schema;
use super::{LineOf, Patch};
use crate::json::{Json, difference, parsed};
use crate::response::{LONGEST_BODY, Mismatch, same_bytes};

/// What a body must be. Everything is checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BodyRules {
    /// The whole of it.
    pub content: Option<BodyContent>,
    /// How many bytes it has.
    pub size: Option<Amount>,
    /// A JSON value that it equals.
    pub json: Option<Json>,
    /// What JSONPaths select in it.
    pub json_path: Vec<PathRule>,
    /// A JSON Schema that it satisfies.
    pub schema: Option<Schema>,
    /// Regular expressions that match somewhere in it.
    pub matches: Vec<Pattern>,
    /// Texts that occur in it.
    pub contains: Vec<String>,
}

/// The whole body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BodyContent {
    /// These bytes.
    Exact(#[serde(with = "crate::base64")] Vec<u8>),
    /// One line of a file, drawn for each request.
    LineOf(LineOf),
    /// One event of Datastar.
    Patch(Patch),
    /// The messages of a gRPC stream.
    Messages(Messages),
}

impl BodyRules {
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

    pub(super) fn exact(&self) -> Option<&[u8]> {
        match self.content.as_ref()? {
            BodyContent::Exact(body) => Some(body),
            BodyContent::Messages(messages) => Some(messages.body()),
            BodyContent::LineOf(_) | BodyContent::Patch(_) => None,
        }
    }

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
    fn check(&self, body: &[u8]) -> Result<(), Mismatch> {
        match self {
            Self::Exact(expected) => same_bytes(expected, body),
            Self::LineOf(lines) => lines.check(body),
            Self::Patch(patch) => patch.check(body),
            Self::Messages(messages) => messages.check(body),
        }
    }
}
