//! The URLs of a file.

use percent_encoding::{
    AsciiSet, CONTROLS, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode,
};
use prony_load::{HttpUrl, TargetError};

/// What a URL does not have as it is (the path and query sets of the URL standard).
pub(crate) const NOT_IN_URLS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'^')
    .add(b'|')
    .add(b'\\');

/// What a value in a path does not have as it is: it may have the delimiters of paths and queries.
pub(crate) const IN_PATHS: &AsciiSet = &NOT_IN_URLS.add(b'#');

/// What a value in a query does not have as it is (RFC 3986, section 2.3).
pub(crate) const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Where an entry sends its request.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) url: HttpUrl,
    /// `NAME:PASSWORD`, if the URL has a user.
    pub(crate) user: Option<Vec<u8>>,
}

impl Target {
    /// Parses a URL, after it has encoded what no URL has. Removes `.` and `..` from the path unless `keeps_dots`, as
    /// curl does.
    pub(crate) fn parse(text: &str, keeps_dots: bool) -> Result<Self, TargetError> {
        let Some((scheme, rest)) = text.split_once("://") else {
            // The error says what is missing.
            let url = text.parse()?;
            return Ok(Self { url, user: None });
        };
        let rest = utf8_percent_encode(rest, NOT_IN_URLS).to_string();
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, rest) = rest.split_at(end);
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(decoded_user(user)), host),
            None => (None, authority),
        };
        let (path, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
        let path = match keeps_dots {
            true => path.to_owned(),
            false => without_dots(path),
        };
        let url = format!("{scheme}://{host}{path}{query}").parse()?;
        Ok(Self { url, user })
    }
}

/// The user of a URL, with a password that is empty if the URL has none.
fn decoded_user(text: &str) -> Vec<u8> {
    let mut user: Vec<u8> = percent_decode_str(text).collect();
    if !text.contains(':') {
        user.push(b':');
    }
    user
}

/// A path without the segments `.` and `..` (RFC 3986, section 5.2.4).
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." => {}
            // The first one is empty: it is before the first slash.
            ".." => kept.truncate(kept.len().saturating_sub(1).max(1)),
            _ => {
                kept.push(segment);
                continue;
            }
        }
        if is_last {
            kept.push("");
        }
    }
    kept.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_removed_from_paths_alone() {
        for (path, expected) in [
            ("", ""),
            ("/", "/"),
            ("/a/../b", "/b"),
            ("/a/./b", "/a/b"),
            ("/a//b/", "/a//b/"),
            ("/a/..", "/"),
            ("/a/b/..", "/a/"),
            ("/a/.", "/a/"),
            ("/../../a", "/a"),
            ("/a/b/../../..", "/"),
            ("/..a/b..", "/..a/b.."),
        ] {
            assert_eq!(without_dots(path), expected, "{path}");
        }
        let url = |keeps_dots| {
            let text = "http://h/a/../b?c=/../d";
            Target::parse(text, keeps_dots).expect("a URL").url
        };
        assert_eq!(url(false).as_str(), "http://h/b?c=/../d");
        assert_eq!(url(true).as_str(), "http://h/a/../b?c=/../d");
    }

    #[test]
    fn the_user_is_taken_out_of_the_url() {
        let target = Target::parse("http://a%40b:c@h:81/d@e", false).expect("a URL");
        assert_eq!(target.user.as_deref(), Some(&b"a@b:c"[..]));
        assert_eq!(target.url.as_str(), "http://h:81/d@e");
        let target = Target::parse("http://a%3Ab@h", false).expect("a URL");
        assert_eq!(target.user.as_deref(), Some(&b"a:b:"[..]));
        let target = Target::parse("http://h/@", false).expect("a URL");
        assert_eq!(target.user, None);
    }

    #[test]
    fn what_no_url_has_is_encoded() {
        let target = Target::parse("http://h/a b|é?c={d}", false).expect("a URL");
        assert_eq!(target.url.as_str(), "http://h/a%20b%7C%C3%A9?c=%7Bd%7D");
    }
}
