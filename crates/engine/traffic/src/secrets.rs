//! Keeps secrets out of messages.

use std::fmt;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use http::header::AUTHORIZATION;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::target::{IN_PATHS, UNRESERVED};
use crate::turn::ScenarioRequest;
use crate::url::NOT_IN_URLS;

/// What stands for a secret.
pub const HIDDEN: &str = "***";
/// Messages show the start of a long text: a shorter start of a secret reveals nothing.
const SHORTEST_START: usize = 4;
/// No message shows more of a text, even if it escapes every byte.
const LONGEST_START: usize = 256;
/// What marks the end of a text that was cut.
const CUT: &str = "…";
/// How paths, queries and Hurl's `urlEncode` encode text.
const PERCENT_ENCODINGS: [&AsciiSet; 5] = [
    NOT_IN_URLS,
    IN_PATHS,
    UNRESERVED,
    &UNRESERVED.remove(b'/'),
    NON_ALPHANUMERIC,
];

/// Texts that no message shows, in every form in which requests and messages have them.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub struct Secrets {
    texts: Vec<String>,
    /// The longest first: one form may be a part of another.
    forms: Vec<Vec<u8>>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} forms of secrets", self.forms.len())
    }
}

impl From<Vec<String>> for Secrets {
    fn from(texts: Vec<String>) -> Self {
        let mut secrets = Self::default();
        secrets.extend(texts);
        secrets
    }
}

impl From<Secrets> for Vec<String> {
    fn from(secrets: Secrets) -> Self {
        secrets.texts
    }
}

impl Secrets {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Adds a secret, and how URLs, forms, JSON, HTML, base64 and messages write it.
    pub fn add(&mut self, secret: &str) {
        if self.has(secret) {
            return;
        }
        self.texts.push(secret.to_owned());
        let form: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
        let encoded = PERCENT_ENCODINGS.map(|set| utf8_percent_encode(secret, set).to_string());
        let encoded = encoded.into_iter().chain([form]);
        let encoded = encoded.flat_map(|text| [lower_case_escapes(&text), text]);
        let hexadecimal = secret.bytes().map(|byte| format!("{byte:02x}"));
        let others = [
            secret.to_owned(),
            secret.trim().to_owned(),
            secret.as_bytes().escape_ascii().to_string(),
            hexadecimal.collect(),
        ];
        let forms = encoded.chain(others).chain(in_base64(secret));
        let forms = forms.chain(in_json(secret)).chain(in_html(secret));
        let forms = forms.map(String::into_bytes);
        self.forms.extend(forms.filter(|form| !form.is_empty()));
        let length = |form: &Vec<u8>| std::cmp::Reverse(form.len());
        self.forms
            .sort_by(|a, b| length(a).cmp(&length(b)).then_with(|| a.cmp(b)));
        self.forms.dedup();
    }

    /// Adds the user and the password of basic authentication, if the request has them and one of them is a secret.
    pub(crate) fn add_credentials(&mut self, request: &ScenarioRequest) {
        if self.is_empty() {
            return;
        }
        let fields = request.parts().fields().iter();
        let values = fields.filter(|(name, _)| name == AUTHORIZATION);
        let credentials = values.filter_map(|(_, value)| {
            let encoded = value.to_str().ok()?.strip_prefix("Basic ")?;
            String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok()
        });
        for credentials in credentials {
            if !self.has(&credentials) && self.hide(&credentials) != credentials {
                self.add(&credentials);
            }
        }
    }

    fn has(&self, secret: &str) -> bool {
        self.texts.iter().any(|text| text == secret)
    }

    /// The text with `***` for every secret, also if it shows only the start of one.
    pub fn hide(&self, text: &str) -> String {
        if self.is_empty() {
            return text.to_owned();
        }
        let mut bytes = self.hide_whole(text.as_bytes());
        // Most texts are not cut.
        let forms = self.forms.iter().filter(|_| text.contains(CUT));
        for form in forms.filter(|form| form.len() > SHORTEST_START) {
            for end in (SHORTEST_START..form.len().min(LONGEST_START)).rev() {
                let start = [&form[..end], CUT.as_bytes()].concat();
                bytes = replace(&bytes, &start, format!("{HIDDEN}{CUT}").as_bytes());
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The bytes with `***` for every secret, also for the start of one at their end: they may have been cut.
    pub(crate) fn hide_in(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = self.hide_whole(bytes);
        let starts = self.forms.iter().flat_map(|form| {
            let ends = (SHORTEST_START..form.len()).rev();
            ends.map(move |end| &form[..end])
        });
        let longest = starts.filter(|start| bytes.ends_with(start));
        if let Some(length) = longest.map(<[u8]>::len).max() {
            bytes.truncate(bytes.len() - length);
            bytes.extend_from_slice(HIDDEN.as_bytes());
        }
        bytes
    }

    fn hide_whole(&self, bytes: &[u8]) -> Vec<u8> {
        let hide = |bytes: Vec<u8>, form: &Vec<u8>| replace(&bytes, form, HIDDEN.as_bytes());
        self.forms.iter().fold(bytes.to_vec(), hide)
    }
}

impl<T: AsRef<str>> Extend<T> for Secrets {
    fn extend<I: IntoIterator<Item = T>>(&mut self, secrets: I) {
        for secret in secrets {
            self.add(secret.as_ref());
        }
    }
}

/// How JSON writes a secret: many servers escape what is not ASCII, and some escape slashes.
fn in_json(secret: &str) -> impl Iterator<Item = String> {
    let quoted = serde_json::Value::from(secret).to_string();
    let json = quoted[1..quoted.len() - 1].to_owned();
    let escaped = |unit: fn(u16) -> String| -> String {
        let character = |one: char| {
            if one.is_ascii() {
                one.to_string()
            } else {
                one.encode_utf16(&mut [0; 2])
                    .iter()
                    .copied()
                    .map(unit)
                    .collect()
            }
        };
        json.chars().map(character).collect()
    };
    let lower = escaped(|unit| format!("\\u{unit:04x}"));
    let upper = escaped(|unit| format!("\\u{unit:04X}"));
    let forms = [json, lower, upper].into_iter();
    forms.flat_map(|form| [form.replace('/', "\\/"), form])
}

/// How HTML writes a secret; there are several ways to write an apostrophe.
fn in_html(secret: &str) -> impl Iterator<Item = String> {
    let text = secret.replace('&', "&amp;").replace('<', "&lt;");
    let text = text.replace('>', "&gt;");
    let quoted = text.replace('"', "&quot;");
    let apostrophes = ["'", "&#39;", "&#039;", "&#x27;"];
    let quoted = apostrophes.map(|apostrophe| quoted.replace('\'', apostrophe));
    quoted.into_iter().chain([text])
}

/// How base64 writes a secret, also in the middle of a text and in URLs.
fn in_base64(secret: &str) -> impl Iterator<Item = String> {
    let forms = [BASE64_STANDARD.encode(secret)].into_iter();
    let forms = forms.chain(within_base64(secret));
    forms.flat_map(|form| [form.replace('+', "-").replace('/', "_"), form])
}

/// How base64 writes a secret in the middle of a text, without the characters that also depend on what is beside it.
fn within_base64(secret: &str) -> impl Iterator<Item = String> {
    (0..3).filter_map(move |before| {
        let bytes = [&[0; 3][..before], secret.as_bytes()].concat();
        let encoded = BASE64_STANDARD_NO_PAD.encode(&bytes);
        let inner = encoded.get((before * 8).div_ceil(6)..bytes.len() * 8 / 6)?;
        (inner.len() > SHORTEST_START).then(|| inner.to_owned())
    })
}

/// `%c3` instead of `%C3`: a server may write them so.
fn lower_case_escapes(text: &str) -> String {
    let mut parts = text.split('%');
    let mut lower = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // A sign that was not encoded may be followed by anything.
        match part.split_at_checked(2) {
            Some((digits, rest)) => {
                lower.push_str(&format!("%{}{rest}", digits.to_ascii_lowercase()));
            }
            None => lower.push_str(&format!("%{part}")),
        }
    }
    lower
}

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr::memmem::find(rest, from) {
        replaced.extend_from_slice(&rest[..at]);
        replaced.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    replaced.extend_from_slice(rest);
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(secret: &str) -> Secrets {
        let mut secrets = Secrets::default();
        secrets.add(secret);
        secrets
    }

    #[test]
    fn a_secret_is_hidden_in_every_form() {
        let secrets = secrets("p&ss 'wörd\"");
        for text in [
            "a p&ss 'wörd\" b",
            "a p%26ss%20%27w%C3%B6rd%22 b",
            "a p%26ss%20%27w%c3%b6rd%22 b",
            "a p%26ss+%27w%C3%B6rd%22 b",
            "a p&ss%20'w%C3%B6rd%22 b",
            "a p&ss%20'w%c3%b6rd%22 b",
            "a p&ss 'wörd\\\" b",
            "a p&ss \\'w\\xc3\\xb6rd\\\" b",
            "a 70267373202777c3b6726422 b",
            "a p&ss 'w\\u00f6rd\\\" b",
            "a p&ss 'w\\u00F6rd\\\" b",
            "a p&amp;ss 'wörd&quot; b",
            "a p&amp;ss &#x27;wörd&quot; b",
            "a p&amp;ss 'wörd\" b",
        ] {
            assert_eq!(secrets.hide(text), "a *** b", "{text}");
        }
        for (before, after) in [("a", ""), ("ab", "c"), ("abc", "cd"), ("", "cde")] {
            let encoded = BASE64_STANDARD.encode(format!("{before}p&ss 'wörd\"{after}"));
            let hidden = secrets.hide(&encoded);
            assert!(hidden.contains("***") && hidden.len() < 16, "{hidden}");
        }
        let encoded = BASE64_STANDARD.encode("p&ss 'wörd\"");
        assert_eq!(secrets.hide(&encoded), "***");
        assert!(!format!("{secrets:?}").contains("rd"));
    }

    #[test]
    fn a_secret_with_slashes_and_astral_characters_is_hidden_in_json() {
        let secrets = secrets("a/b😀/c");
        for text in [
            "a\\/b😀\\/c",
            "a/b\\ud83d\\ude00/c",
            "a\\/b\\uD83D\\uDE00\\/c",
        ] {
            assert_eq!(secrets.hide(text), "***", "{text}");
        }
    }

    #[test]
    fn a_secret_with_percent_signs_is_hidden_in_urls() {
        // What paths encode leaves them as they are.
        for secret in ["100%", "%é", "50%C3 off", "%"] {
            let secrets = secrets(secret);
            for set in PERCENT_ENCODINGS {
                let text = utf8_percent_encode(secret, set).to_string();
                assert_eq!(secrets.hide(&text), "***", "{text}");
            }
        }
    }

    #[test]
    fn the_start_of_a_secret_is_hidden_if_the_rest_is_cut() {
        let secrets = secrets("swordfish");
        assert_eq!(secrets.hide("`is sword…`"), "`is ***…`");
        assert_eq!(secrets.hide_in(b"is swordfi"), b"is ***");
        assert_eq!(secrets.hide_in(b"swordfish, swo"), b"***, swo");
    }

    #[test]
    fn a_long_secret_is_hidden_in_reasonable_time() {
        let secrets = secrets(&"long&".repeat(20_000));
        let body = "long&".repeat(19_000);
        assert_eq!(secrets.hide_in(body.as_bytes()), b"***");
        assert_eq!(secrets.hide("is `long&long&lo…`"), "is `***…`");
    }
}
