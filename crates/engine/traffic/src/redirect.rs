//! Redirects: which response leads to another request of the entry, and how that differs from the one before.

use std::borrow::Cow;

use http::{HeaderName, Method, header};
use prony_hurl::ast::{EntryOption, KeyValue, OptionValue, Request, TextOption};

use crate::turn::{Reply, ScenarioRequest};
use crate::url::HttpUrl;

/// The most redirects of an entry, even if `max-redirs` is higher: a load must end.
pub(crate) const MOST_REDIRECTS: u64 = 1000;

/// Where a response redirects to, as its field `Location` has it. As for Hurl, any status from 300 to 399 redirects.
pub(crate) fn location<'a>(reply: &Reply<'a>) -> Option<Cow<'a, str>> {
    if !(300..400).contains(&reply.status) {
        return None;
    }
    let mut fields = reply.kept?.fields();
    let (_, value) = fields.find(|(name, _)| *name == b"location")?;
    Some(match std::str::from_utf8(value) {
        Ok(text) => Cow::Borrowed(text),
        // ISO 8859-1, as for Hurl.
        Err(_) => value.iter().copied().map(char::from).collect(),
    })
}

/// The absolute URL of a `Location` in the response to a request for `base` (RFC 3986, section 5.2).
pub(crate) fn resolved(base: &HttpUrl, location: &str) -> String {
    let location = location.trim_matches(|character| character <= ' ');
    let end = location.find(['?', '#']).unwrap_or(location.len());
    let (target, rest) = location.split_at(end);
    // As in browsers.
    let target = target.replace('\\', "/");
    if has_scheme(&target) {
        return format!("{target}{rest}");
    }
    if target.starts_with("//") {
        return format!("{}:{target}{rest}", base.scheme().name());
    }
    let path = base.path();
    let without_query = path.split('?').next().unwrap_or(path);
    let folder = match target.as_str() {
        "" if rest.starts_with('?') => without_query,
        "" => path,
        target if target.starts_with('/') => "",
        _ => &without_query[..without_query.rfind('/').map_or(0, |at| at + 1)],
    };
    format!("{}{folder}{target}{rest}", base.origin())
}

fn has_scheme(target: &str) -> bool {
    let Some((scheme, _)) = target.split_once(':') else {
        return false;
    };
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    scheme.starts_with(|first: char| first.is_ascii_alphabetic()) && scheme.bytes().all(is_part)
}

/// Makes a request the one that follows a response of that status. As for Hurl, 301 to 303 lead to a `GET` without the
/// body and the type that the body implied; any other status leads to the same request.
pub(crate) fn change_method(next: &mut ScenarioRequest, status: u16, entry: &Request) {
    if !(301..=303).contains(&status) || *next.parts().method() == Method::GET {
        return;
    }
    next.become_get();
    next.body_mut().clear();
    if !gives_content_type(entry) {
        let fields = next.fields_mut();
        fields.retain(|(name, _)| name != header::CONTENT_TYPE);
    }
}

/// Whether an entry gives the field `Content-Type` itself.
fn gives_content_type(entry: &Request) -> bool {
    let is_it = |name: &str| {
        let name = HeaderName::from_bytes(name.trim().as_bytes());
        name.is_ok_and(|name| name == header::CONTENT_TYPE)
    };
    let of_option = |EntryOption { value, .. }: &EntryOption| match value {
        OptionValue::Text(TextOption::Header, line) => {
            let field = line.literal().and_then(|line| line.split_once(':'));
            field.is_some_and(|(name, _)| is_it(name))
        }
        _ => false,
    };
    let of_field = |KeyValue { key, .. }: &KeyValue| key.literal().is_some_and(is_it);
    entry.headers.iter().any(of_field) || entry.options.iter().any(of_option)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target;

    /// What a location is from `http://h:81/a/b/c?d=/e/f`, with what the URL parser makes of it.
    fn from_base(location: &str) -> String {
        let base: HttpUrl = "http://h:81/a/b/c?d=/e/f".parse().expect("a URL");
        let text = resolved(&base, location);
        match target::parse(&text, false) {
            Ok(target) => target.as_str().to_owned(),
            Err(_) => format!("no URL: {text}"),
        }
    }

    #[test]
    fn locations_are_absolute_or_relative() {
        for (location, expected) in [
            ("http://other/x?y", "http://other/x?y"),
            ("HTTPS://other/x", "HTTPS://other/x"),
            ("//other/x", "http://other/x"),
            ("/x/y?z=1", "http://h:81/x/y?z=1"),
            ("x", "http://h:81/a/b/x"),
            ("./x", "http://h:81/a/b/x"),
            ("../x", "http://h:81/a/x"),
            ("../../../x", "http://h:81/x"),
            ("..", "http://h:81/a/"),
            ("x/../y?z=../w", "http://h:81/a/b/y?z=../w"),
            ("?x=1", "http://h:81/a/b/c?x=1"),
            ("", "http://h:81/a/b/c?d=/e/f"),
            (" /x\t", "http://h:81/x"),
            ("\\x\\y", "http://h:81/x/y"),
            ("/x y|é", "http://h:81/x%20y%7C%C3%A9"),
            ("/x%20y", "http://h:81/x%20y"),
            ("/x:y", "http://h:81/x:y"),
            ("./x:y", "http://h:81/a/b/x:y"),
            ("x?y:z", "http://h:81/a/b/x?y:z"),
            ("ftp://other/x", "no URL: ftp://other/x"),
            ("mailto:x@y", "no URL: mailto:x@y"),
            ("http://", "no URL: http://"),
            ("//", "no URL: http://"),
        ] {
            assert_eq!(from_base(location), expected, "{location:?}");
        }
    }

    #[test]
    fn a_fragment_stays_with_the_client() {
        let base: HttpUrl = "http://h/a?b#c".parse().expect("a URL");
        for (location, path) in [("/x#y", "/x"), ("#y", "/a?b"), ("x?z#/y", "/x?z")] {
            let target = target::parse(&resolved(&base, location), false).expect("a URL");
            assert_eq!(target.path(), path, "{location}");
        }
    }

    #[test]
    fn any_location_has_a_url_or_an_error() {
        let base: HttpUrl = "http://h/a/b".parse().expect("a URL");
        let pieces = [
            "", "/", ".", "..", "?", "#", ":", "\\", "a", "%", "@", "[", " ", "é",
        ];
        let mut locations = vec![String::new()];
        for _ in 0..4 {
            let longer = |text: &String| pieces.map(|piece| format!("{text}{piece}"));
            locations = locations.iter().flat_map(longer).collect();
        }
        for location in locations {
            if let Ok(target) = target::parse(&resolved(&base, &location), false) {
                let path = target.path();
                let segments = path.split(['?', '#']).next().unwrap_or_default().split('/');
                let is_dots = |segment: &str| segment == "." || segment == "..";
                let has_dots = segments.clone().any(is_dots);
                assert!(path.starts_with('/') && !has_dots, "{location:?}: {path}");
            }
        }
    }
}
