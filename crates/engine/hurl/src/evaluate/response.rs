//! A response that was received.

use std::cell::OnceCell;
use std::net::IpAddr;
use std::time::Duration;

use super::failure::{Failure, fail};
use crate::ast::HttpVersion;
use crate::position::Position;

#[derive(Clone, Debug)]
pub struct Response<'a> {
    pub version: HttpVersion,
    pub status: u16,
    pub headers: &'a [(&'a str, &'a str)],
    /// The body without its content encoding.
    pub body: &'a [u8],
    /// The body as it was received.
    pub raw_body: &'a [u8],
    pub url: &'a str,
    /// From the request to the end of the response.
    pub duration: Duration,
    pub ip: IpAddr,
}

/// A response that led to another request of the same entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    pub location: String,
    pub status: u16,
}

impl<'a> Response<'a> {
    /// The values of the fields of a name.
    pub fn header(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.headers
            .iter()
            .filter(move |(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value)
    }

    /// The body as a text, in the encoding that `content-type` gives. A failure is at `position`.
    fn text(&self, position: Position) -> Result<String, Failure> {
        let charset = self.header("content-type").next().and_then(charset);
        let charset = charset.unwrap_or("utf-8");
        let Some(encoding) = encoding_rs::Encoding::for_label(charset.as_bytes()) else {
            let reason = format!("the charset '{charset}' is not valid");
            return fail(position, "Invalid charset", reason);
        };
        match encoding.decode_without_bom_handling_and_without_replacement(self.body) {
            Some(text) => Ok(text.into_owned()),
            None => {
                let charset = encoding.name();
                let reason = format!("could not decode response body with charset '{charset}'");
                fail(position, "Invalid decoding", reason)
            }
        }
    }
}

fn charset(content_type: &str) -> Option<&str> {
    content_type.split(';').find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then_some(value.trim())
    })
}

/// What is computed of a response once.
#[derive(Debug, Default)]
pub(super) struct Cache {
    text: OnceCell<Result<String, Failure>>,
    json: OnceCell<Option<serde_json::Value>>,
}

impl Cache {
    pub(super) fn text(
        &self,
        response: &Response<'_>,
        position: Position,
    ) -> Result<&str, Failure> {
        let text = self.text.get_or_init(|| response.text(position));
        text.as_deref().map_err(|failure| Failure {
            position,
            ..failure.clone()
        })
    }

    pub(super) fn json(
        &self,
        response: &Response<'_>,
        position: Position,
    ) -> Result<&serde_json::Value, Failure> {
        let text = self.text(response, position)?;
        let json = self.json.get_or_init(|| serde_json::from_str(text).ok());
        match json {
            Some(json) => Ok(json),
            None => fail(
                position,
                "Invalid JSON",
                "HTTP response is not a valid JSON",
            ),
        }
    }
}
