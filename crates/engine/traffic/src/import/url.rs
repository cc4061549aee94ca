//! URLs as they are sent.

use std::fmt;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::{ImportError, refuse, shortened};
use crate::target::without_dots;

/// How many characters of a URL a message has: `data:` URLs may be megabytes.
const LONGEST_SHOWN: usize = 60;

/// A URL of HTTP without its fragment, as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    scheme: &'static str,
    /// What is before an `@`.
    pub(crate) userinfo: Option<String>,
    /// The host, with a port if the URL has one.
    authority: String,
    /// The path, which begins with a slash.
    path: String,
    /// What is behind the `?`.
    query: Option<String>,
}

impl Url {
    /// Reads a URL. What cannot be in a request is percent-encoded.
    pub(crate) fn parse(text: &str) -> Result<Self, ImportError> {
        let text = text.trim();
        let (scheme, rest) = [("http", "http://"), ("https", "https://")]
            .into_iter()
            .find_map(|(scheme, start)| {
                let found = text.get(..start.len())?;
                let is_it = found.eq_ignore_ascii_case(start);
                is_it.then(|| (scheme, &text[start.len()..]))
            })
            .ok_or_else(|| {
                let text = shortened(text, LONGEST_SHOWN);
                format!("`{text}` is not a URL of HTTP: it must begin with http:// or https://")
            })?;
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?', '\\']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        let (userinfo, authority) = match authority.rsplit_once('@') {
            Some((userinfo, authority)) => (Some(userinfo.to_owned()), authority),
            None => (None, authority),
        };
        if authority.is_empty() || authority.starts_with(':') {
            return refuse(format!("`{}` has no host", shortened(text, LONGEST_SHOWN)));
        }
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (target, None),
        };
        Ok(Self {
            scheme,
            userinfo,
            authority: authority.to_owned(),
            path: match path {
                "" => "/".into(),
                path => encoded(path),
            },
            query: query.map(encoded),
        })
    }

    /// The host in small letters, and its port if it is not the usual one: a page over http often redirects to the
    /// same host over https.
    pub(crate) fn host(&self) -> String {
        let authority = self.authority.to_ascii_lowercase();
        let usual = [":80", ":443"];
        let host = usual.iter().find_map(|port| authority.strip_suffix(port));
        host.map_or(authority.clone(), str::to_owned)
    }

    pub(crate) fn add_query(&mut self, fields: &str) {
        let query = self.query.get_or_insert_with(String::new);
        if !query.is_empty() && !query.ends_with('&') {
            query.push('&');
        }
        query.push_str(&encoded(fields));
    }

    /// Removes `.` and `..` from the path (RFC 3986, section 5.2.4).
    pub(crate) fn remove_dots(&mut self) {
        self.path = without_dots(&self.path);
    }
}

impl fmt::Display for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}://{}{}",
            self.scheme, self.authority, self.path
        )?;
        let mut query = self.query.iter();
        query.try_for_each(|query| write!(formatter, "?{query}"))
    }
}

/// All but visible ASCII characters.
const INVISIBLE: &AsciiSet = &CONTROLS.add(b' ');

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, INVISIBLE).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_written_as_they_are_sent() {
        for (text, expected) in [
            ("http://a", "http://a/"),
            ("HTTP://a?b=c#d", "http://a/?b=c"),
            (
                "https://u:p@a:8080/é {x}?y=z w",
                "https://a:8080/%C3%A9%20{x}?y=z%20w",
            ),
        ] {
            let url = Url::parse(text).expect("a URL");
            assert_eq!(url.to_string(), expected);
        }
        let with_user = Url::parse("http://u:p@a/").expect("a URL");
        assert_eq!(with_user.userinfo.as_deref(), Some("u:p"));
    }

    #[test]
    fn other_urls_are_refused() {
        let other = "|a|ws://a/|data:text/plain,a|blob:http://a/|http:/a|é|chrome-extension://a/";
        for text in other.split('|') {
            let error = Url::parse(text).expect_err(text).to_string();
            assert!(error.contains("is not a URL of HTTP"), "{error}");
        }
        let error = Url::parse("http:///a").expect_err("no URL");
        assert_eq!(error.to_string(), "`http:///a` has no host");
        let long = format!("data:{}", "a".repeat(100));
        let message = Url::parse(&long).expect_err("no URL").to_string();
        assert!(message.contains("a…`"), "{message}");
    }

    #[test]
    fn dots_are_removed_from_paths() {
        for (path, expected) in [
            ("/a/./b/../c", "/a/c"),
            ("/..", "/"),
            ("/a/..", "/"),
            ("/a/.", "/a/"),
            ("/a//b", "/a//b"),
            ("/a.b/..c", "/a.b/..c"),
        ] {
            let mut url = Url::parse(&format!("http://h{path}")).expect("a URL");
            url.remove_dots();
            assert_eq!(url.to_string(), format!("http://h{expected}"));
        }
    }

    #[test]
    fn usual_ports_do_not_count() {
        for (text, host) in [
            ("http://A:80/", "a"),
            ("https://a:443", "a"),
            ("http://a:8080", "a:8080"),
        ] {
            assert_eq!(Url::parse(text).expect("a URL").host(), host);
        }
    }
}
