//! The URLs of a file.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};

use crate::url::{HttpUrl, NOT_IN_URLS, UrlError};

/// What a value in a path does not have as it is: it may have the delimiters of paths and queries.
pub(crate) const IN_PATHS: &AsciiSet = &NOT_IN_URLS.add(b'#');

/// What a value in a query does not have as it is (RFC 3986, section 2.3).
pub(crate) const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Parses the URL to which an entry sends its request. Removes `.` and `..` from the path unless `keeps_dots`, as curl
/// does.
pub(crate) fn parse(text: &str, keeps_dots: bool) -> Result<HttpUrl, UrlError> {
    let begin = text.find("://").map_or(0, |at| at + "://".len());
    let Some(path) = text[begin..].find(['/', '?', '#']).filter(|_| !keeps_dots) else {
        return text.parse();
    };
    let (before, rest) = text.split_at(begin + path);
    let (path, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    format!("{before}{}{query}", without_dots(path)).parse()
}

/// A path without the segments `.` and `..` (RFC 3986, section 5.2.4).
pub(crate) fn without_dots(path: &str) -> String {
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
        let url = |keeps_dots| parse("http://h/a/../b?c=/../d", keeps_dots).expect("a URL");
        assert_eq!(url(false).as_str(), "http://h/b?c=/../d");
        assert_eq!(url(true).as_str(), "http://h/a/../b?c=/../d");
        let path = parse("http://../a/../b", false);
        assert_eq!(path.expect("a URL").as_str(), "http://../b");
    }
}
