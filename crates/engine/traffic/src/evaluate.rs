//! Checks responses, and captures what later requests need.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};

use prony_hurl::ast::{Entry, StatusValue};
use prony_hurl::evaluate::{
    Environment, Evaluation, Failure, HttpVersion, Redirect, Response, Variables,
};
use prony_model::Outcome;

use crate::coding::Accepted;
use crate::collect::Collect;
use crate::http_version::HttpVersion as WireVersion;
use crate::response::LONGEST_BODY;
use crate::turn::Reply;

/// Why a response is not as expected.
pub(crate) enum Unexpected {
    /// The status or the version.
    Status(Vec<Failure>),
    /// Anything else, by the file.
    Content(Vec<Failure>),
    /// What the file does not say, with its outcome.
    Other(Outcome, String),
}

/// A response to evaluate.
pub(crate) struct Received<'a> {
    pub(crate) url: &'a str,
    /// Those before it.
    pub(crate) redirects: &'a [Redirect],
    pub(crate) reply: &'a Reply<'a>,
    pub(crate) kept: &'a Collect,
}

/// Whether an entry expects that status. Without a response it accepts what every load does.
pub(crate) fn accepts(entry: &Entry, status: u16) -> bool {
    match entry
        .response
        .as_ref()
        .map(|response| response.status.value)
    {
        None => (200..400).contains(&status),
        Some(StatusValue::Any) => true,
        Some(StatusValue::Exactly(expected)) => u64::from(status) == expected,
    }
}

/// Evaluates the captures and asserts of an entry.
pub(crate) fn evaluate(
    entry: &Entry,
    coerces_json_path: bool,
    received: &Received<'_>,
    variables: &mut Variables,
    environment: &mut dyn Environment,
) -> Result<(), Unexpected> {
    let Some(expected) = &entry.response else {
        return Ok(());
    };
    let Received {
        url,
        redirects,
        reply,
        kept,
    } = *received;
    let body = decoded(kept).map_err(|reason| Unexpected::Other(Outcome::WrongBody, reason))?;
    let texts: Vec<(Cow<'_, str>, Cow<'_, str>)> = kept
        .fields()
        .map(|(name, value)| {
            (
                String::from_utf8_lossy(name),
                String::from_utf8_lossy(value),
            )
        })
        .collect();
    let headers: Vec<(&str, &str)> = texts
        .iter()
        .map(|(name, value)| (&**name, &**value))
        .collect();
    let response = Response {
        version: version(reply.http, kept),
        status: reply.status,
        headers: &headers,
        body: &body,
        raw_body: kept.kept_body(),
        url,
        duration: reply.duration,
        ip: reply.server.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)),
    };
    let mut evaluation = Evaluation::new(&response);
    evaluation.redirects = redirects;
    evaluation.coerces_json_path = coerces_json_path;
    let failures = evaluation.status_line(expected);
    if !failures.is_empty() {
        return Err(Unexpected::Status(failures));
    }
    evaluation
        .content(expected, variables, environment)
        .map_err(Unexpected::Content)
}

fn decoded(kept: &Collect) -> Result<Cow<'_, [u8]>, String> {
    let is_coding = |(name, _): &(&[u8], &[u8])| *name == b"content-encoding";
    let codings = kept.fields().filter(is_coding).map(|(_, value)| value);
    Accepted::all()
        .decoded_body(codings, kept.kept_body(), LONGEST_BODY)
        .map_err(|mismatch| mismatch.to_string())
}

fn version(http: WireVersion, kept: &Collect) -> HttpVersion {
    match http {
        WireVersion::Http1 if kept.is_http10() => HttpVersion::Http10,
        WireVersion::Http1 => HttpVersion::Http11,
        WireVersion::Http2 => HttpVersion::Http2,
    }
}
