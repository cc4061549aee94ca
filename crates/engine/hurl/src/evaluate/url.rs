//! Texts in URLs.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// All but unreserved characters (RFC 3986).
const PARAMETER: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The same without the slash.
const ENCODED: &AsciiSet = &PARAMETER.remove(b'/');

pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

pub(super) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The first parameter of a name.
pub(super) fn parameter(url: &str, name: &str) -> Result<Option<String>, &'static str> {
    check_scheme(url)?;
    let url = url.split('#').next().unwrap_or_default();
    let (_, query) = url.split_once('?').unwrap_or_default();
    let value = |text: &str| decoded(&text.replace('+', " "));
    let pairs = query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    Ok(pairs
        .map(|(key, text)| (value(key), text))
        .find(|(key, _)| key == name)
        .map(|(_, text)| value(text)))
}

/// Refuses what is no URL of HTTP.
pub(super) fn check_scheme(url: &str) -> Result<(), &'static str> {
    if url.starts_with("http://") || url.starts_with("https://") {
        return Ok(());
    }
    Err(match url.split_once("://") {
        Some((scheme, _))
            if !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_lowercase()) =>
        {
            "Only <http://> and <https://> schemes are supported"
        }
        _ => "Missing scheme <http://> or <https://>",
    })
}

/// The value of a parameter, in which only unreserved characters (RFC 3986) stay as they are.
pub(super) fn encoded_parameter(text: &str) -> String {
    utf8_percent_encode(text, PARAMETER).to_string()
}
