//! What a response must be, and how others are reported.

mod body;
mod draws;
mod json_path;
mod line_of;
mod messages;
mod patch;
mod rules;
mod schema;

use std::borrow::Cow;

use encoding_rs::Encoding;
use serde::{Deserialize, Serialize};

use crate::coding::Accepted;
use crate::response::{LONGEST_BODY, Mismatch, Response};
use crate::secrets::Secrets;

pub use body::{BodyContent, BodyRules};
pub use draws::CountedDraws;
pub use json_path::{PathRule, PathTests};
pub use line_of::LineOf;
pub use messages::Messages;
pub use patch::Patch;
pub use rules::{Amount, Pattern};
pub use schema::{Schema, check_schema};

/// How much longer than its content a compressed body may be: some content cannot be compressed.
const COMPRESSION_ROOM: u64 = 64 * 1024;

/// The expected response. What it does not have is not checked.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Expected {
    /// The status codes, of which each is right; without them every 2xx and 3xx is.
    pub statuses: Vec<u16>,
    /// The media type, without parameters.
    pub content_type: Option<String>,
    /// Further header fields: names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body without its codings.
    pub body: BodyRules,
    /// The codings that the body may have; `None` if they are not looked at.
    pub accepted: Option<Accepted>,
    /// What no mismatch shows.
    pub secrets: Secrets,
    /// Counts the lines that responses draw. Only this process counts.
    #[serde(skip)]
    pub draws: Option<CountedDraws>,
}

impl Expected {
    /// # Errors
    ///
    /// With the difference, if there is one.
    pub fn check(&self, response: &Response) -> Result<(), Mismatch> {
        let result = self.compare(response).and_then(|body| {
            self.body.check(&body)?;
            if let Some(draws) = &self.draws {
                draws.count(&body);
            }
            Ok(())
        });
        result.map_err(|mismatch| {
            if self.secrets.is_empty() {
                mismatch
            } else {
                self.without_secrets(response, mismatch)
            }
        })
    }

    /// Whether [`check`](Self::check) compares more than the status and the length.
    pub fn compares(&self) -> bool {
        let only_length = BodyRules {
            size: self.body.size.filter(|size| size.exact().is_some()),
            ..BodyRules::default()
        };
        self.content_type.is_some()
            || !self.headers.is_empty()
            || self.accepted.is_some()
            || self.body != only_length
    }

    /// The body of every expected response, if there is only one and it is known.
    pub fn exact_body(&self) -> Option<&[u8]> {
        self.body.exact().filter(|_| self.is_plain())
    }

    /// The length of every expected body in bytes, if there is only one.
    pub fn body_length(&self) -> Option<u64> {
        self.body.length().filter(|_| self.is_plain())
    }

    /// The longest expected body, in bytes: no more of a response is kept.
    pub fn longest_body(&self) -> u64 {
        let longest = self.body.longest();
        if self.accepted.as_ref().is_none_or(Accepted::is_none) {
            longest
        } else {
            (longest + longest / 8 + COMPRESSION_ROOM).min(LONGEST_BODY)
        }
    }

    /// The lines from which each request must draw one, if there are several.
    pub fn drawn_lines(&self) -> Option<&LineOf> {
        self.body.lines().filter(|lines| lines.count() > 1)
    }

    /// Which of the drawn lines the response has.
    pub fn line(&self, response: &Response) -> Option<usize> {
        let lines = self.drawn_lines()?;
        lines.number(&self.decoded(response).ok()?)
    }

    /// Whether the body has the same bytes on the wire each time, which may be shown.
    fn is_plain(&self) -> bool {
        let accepted = self.accepted.as_ref();
        accepted.is_none_or(Accepted::is_none) && self.secrets.is_empty()
    }

    /// The body without its codings.
    fn decoded<'a>(&self, response: &'a Response) -> Result<Cow<'a, [u8]>, Mismatch> {
        match &self.accepted {
            None => Ok(Cow::Borrowed(&response.body)),
            Some(accepted) => accepted.decoded(response, self.body.longest()),
        }
    }

    /// Compares the head, and returns the body without its codings.
    fn compare<'a>(&self, response: &'a Response) -> Result<Cow<'a, [u8]>, Mismatch> {
        self.check_status(response)?;
        self.check_content_type(response)?;
        self.check_headers(response)?;
        self.decoded(response)
    }

    /// The mismatch without secrets, which the response may contain: it is found again in a response without them.
    fn without_secrets(&self, response: &Response, mismatch: Mismatch) -> Mismatch {
        let hidden = self.decoded(response).ok().and_then(|body| {
            let fields = response.headers.iter();
            let fields = fields.filter(|(name, _)| name != "content-encoding");
            let shown = Response {
                status: response.status,
                headers: fields
                    .map(|(name, value)| (name.clone(), self.secrets.hide_in(value)))
                    .collect(),
                body: self.secrets.hide_in(&body),
            };
            let body = self.compare(&shown);
            body.and_then(|body| self.body.check(&body)).err()
        });
        let Mismatch { expected, received } = hidden.unwrap_or(mismatch);
        Mismatch {
            expected: self.secrets.hide(&expected),
            received: self.secrets.hide(&received),
        }
    }

    fn check_status(&self, response: &Response) -> Result<(), Mismatch> {
        let received = response.status;
        let expected = match &self.statuses[..] {
            [] if (200..400).contains(&received) => return Ok(()),
            [] => "a status from 200 to 399".to_owned(),
            statuses if statuses.contains(&received) => return Ok(()),
            statuses => format!("status {}", either(statuses)),
        };
        let received = match (&self.accepted, self.decoded(response)) {
            (Some(_), Ok(body)) => response.status_and_line_of(&body),
            _ => response.status_and_line(),
        };
        Err(Mismatch { expected, received })
    }

    fn check_content_type(&self, response: &Response) -> Result<(), Mismatch> {
        let Some(expected) = &self.content_type else {
            return Ok(());
        };
        let received = response.header("content-type").unwrap_or_default();
        let media_type = received.split(';').next().unwrap_or_default();
        let expected = if !media_type.trim().eq_ignore_ascii_case(expected) {
            format!("content-type {expected}")
        } else if let Some(charset) = charset(received)
            && is_other_text(charset, &self.decoded(response)?)
        {
            "charset=utf-8, as in the body".to_owned()
        } else {
            return Ok(());
        };
        let received = match received {
            "" => "no content-type".to_owned(),
            received => format!("content-type {received}"),
        };
        Err(Mismatch { expected, received })
    }

    fn check_headers(&self, response: &Response) -> Result<(), Mismatch> {
        for (name, expected) in &self.headers {
            let received: Vec<_> = response
                .headers
                .iter()
                .filter(|(field, _)| field == name)
                .map(|(_, value)| value.trim_ascii())
                .collect();
            // A list may have other elements as well: `no-cache, no-transform`.
            let is_listed = |wanted: &[u8]| {
                let mut listed = received.iter().flat_map(|value| elements(value));
                listed.any(|element| element.eq_ignore_ascii_case(wanted))
            };
            if !elements(expected.as_bytes()).all(is_listed) {
                let received = match received.first() {
                    None => format!("no {name}"),
                    Some(value) => format!("{name}: {}", value.escape_ascii()),
                };
                let expected = format!("{name}: {expected}");
                return Err(Mismatch { expected, received });
            }
        }
        Ok(())
    }
}

/// The statuses in a sentence: `200`, `200 or 404`.
pub fn either(statuses: &[u16]) -> String {
    let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
    statuses.join(" or ")
}

/// The elements of a field that is a list (RFC 9110, section 5.6.1); the value itself if it is none.
fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}

/// The encoding that a media type names, if it is a known one.
fn charset(content_type: &str) -> Option<&'static Encoding> {
    let parameters = content_type.split(';').skip(1);
    let mut pairs = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, label) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Encoding::for_label(label.trim().trim_matches('"').as_bytes())
}

/// Whether a body that is text in UTF-8 is another text in this encoding, as clients would read it.
fn is_other_text(charset: &'static Encoding, body: &[u8]) -> bool {
    // UTF-16 has zeros in most texts.
    let is_text = !body.contains(&0) && str::from_utf8(body).is_ok();
    is_text && charset.decode_without_bom_handling(body).0.as_bytes() != body
}

#[cfg(test)]
mod tests {
    use prony_testkit::table::rows;

    use super::*;

    /// The expected status, length and body, then those of the response, and the mismatch.
    const CASES: &str = r#"
        - | - | - | 200 | x | ok
        - | - | - | 204 | x | ok
        - | - | - | 304 | x | ok
        - | - | - | 399 | x | ok
        - | - | - | 404 | "" | expected a status from 200 to 399, got 404
        404 | - | - | 404 | "" | ok
        404 | - | - | 200 | "" | expected status 404, got 200
        404 | - | - | 200 | \n a line \n | expected status 404, got 200: a line
        - | 10 | - | 200 | 0123456789 | ok
        - | 10 | - | 200 | 012345678 | expected a body of 10 bytes, got 9 bytes
        - | - | hello\n | 200 | hello\n | ok
        - | - | hello\n | 200 | help!\n | expected 6 bytes, at byte 3: `lo\\n`, got 6 bytes, at byte 3: `p!\\n`
        - | - | hello\n | 200 | hello | expected 6 bytes, at byte 5: `\\n`, got 5 bytes, at byte 5: its end
        - | - | hello\n | 200 | "" | expected 6 bytes, at byte 0: `hello\\n`, got 0 bytes, at byte 0: nothing
    "#;

    #[test]
    fn a_response_is_as_expected_or_the_difference_is_named() {
        for [status, length, body, got, got_body, mismatch] in rows(CASES) {
            let length = length.parse().ok();
            let body = (body != "-").then_some(body);
            let expected = Expected {
                statuses: status.parse().into_iter().collect(),
                body: BodyRules {
                    content: body.map(|body| BodyContent::Exact(body.into())),
                    size: length.map(Amount::exactly),
                    ..BodyRules::default()
                },
                ..Expected::default()
            };
            let known = body.map(|body| body.len() as u64);
            assert_eq!(expected.body_length(), length.or(known));
            assert_eq!(expected.compares(), body.is_some());
            let response = Response {
                status: got.parse().unwrap(),
                body: got_body.into(),
                ..Response::default()
            };
            let checked = expected.check(&response);
            let checked = checked.map_or_else(|mismatch| mismatch.to_string(), |()| "ok".into());
            assert_eq!(checked, mismatch);
        }
    }
}
