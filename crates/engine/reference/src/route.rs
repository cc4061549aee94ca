//! Which response a request gets.

use crate::framing::{Head, Link, Method, Refusal};

/// The path of a workload, or of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// `GET /hello`
    Hello,
    /// `GET /byte`
    Byte,
    /// `GET /`
    Page,
    /// `GET /log`
    PageLog,
    /// `GET /sse`
    Sse,
    /// `GET /sse-20k`
    Sse20k,
    /// `GET /franklin-says`
    Quote,
    /// `GET /session`, which names an item: for flows of requests.
    Session,
    /// `GET /items/42`, that item.
    Item,
}

/// Every route with its path, in the order of their declaration.
const ROUTES: [(&str, Route); 9] = [
    ("/hello", Route::Hello),
    ("/byte", Route::Byte),
    ("/", Route::Page),
    ("/log", Route::PageLog),
    ("/sse", Route::Sse),
    ("/sse-20k", Route::Sse20k),
    ("/franklin-says", Route::Quote),
    ("/session", Route::Session),
    ("/items/42", Route::Item),
];

impl Route {
    /// The route of a request target (RFC 9112, section 3.2), without its query.
    pub(crate) fn find(target: &str) -> Option<Self> {
        let path = path_of(target);
        let found = ROUTES.iter().find(|(other, _)| *other == path)?;
        Some(found.1)
    }

    pub(crate) const fn path(self) -> &'static str {
        ROUTES[self as usize].0
    }

    /// Whether each request must write a log line.
    pub(crate) const fn is_logged(self) -> bool {
        matches!(self, Route::PageLog | Route::Sse | Route::Sse20k)
    }
}

/// The path of a target in origin form (`/path?query`) or absolute form (`http://host/path`).
fn path_of(target: &str) -> &str {
    let path = if target.starts_with('/') {
        target
    } else {
        absolute_path(target).unwrap_or(target)
    };
    path.split(['?', '#']).next().unwrap_or(path)
}

fn absolute_path(target: &str) -> Option<&str> {
    let (scheme, rest) = target.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") {
        return None;
    }
    // `http://host` and `http://host?query` mean the root.
    match rest.find(['/', '?']) {
        Some(at) if rest.as_bytes()[at] == b'/' => Some(&rest[at..]),
        _ => Some("/"),
    }
}

/// The response that a request gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// What the response is.
    pub(crate) what: What,
    /// Whether it has no body: the response to HEAD.
    pub(crate) head_only: bool,
    /// Whether the connection stays open.
    pub(crate) link: Link,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The response of a workload.
    Route(Route),
    /// 404: no workload has this path.
    NotFound,
    /// 405: not GET or HEAD.
    NotAllowed,
    /// 415: a body in a format of gRPC that the server does not know.
    MediaType,
    /// The request cannot be read.
    Refused(Refusal),
}

impl What {
    /// The response to a request for `target`.
    pub(crate) fn of(method: Method, target: &str) -> Self {
        match (Route::find(target), method) {
            (None, _) => What::NotFound,
            (Some(_), Method::Other) => What::NotAllowed,
            (Some(route), Method::Get | Method::Head) => What::Route(route),
        }
    }
}

impl Reply {
    pub(crate) fn to(head: &Head<'_>) -> Self {
        Self {
            what: What::of(head.method, head.target),
            head_only: head.method == Method::Head,
            link: head.link,
        }
    }

    /// The reply to bytes that are not a request. The connection closes after it.
    pub(crate) fn refusing(refusal: Refusal) -> Self {
        Self {
            what: What::Refused(refusal),
            head_only: false,
            link: Link::Closes,
        }
    }

    /// The method and path to log, if the workload requires a log line.
    pub(crate) fn log_line(&self) -> Option<(&'static str, &'static str)> {
        match self.what {
            What::Route(route) if route.is_logged() => {
                let method = if self.head_only { "HEAD" } else { "GET" };
                Some((method, route.path()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_has_its_route_in_either_form() {
        for (path, route) in ROUTES {
            assert_eq!(route.path(), path);
            for target in [
                path.to_owned(),
                format!("{path}?q=/x"),
                format!("http://a:1{path}"),
                format!("HTTP://a{path}?b"),
            ] {
                assert_eq!(Route::find(&target), Some(route), "{target}");
            }
        }
        assert_eq!(Route::find("http://a"), Some(Route::Page));
        assert_eq!(Route::find("http://a?/b"), Some(Route::Page));
    }

    #[test]
    fn other_targets_have_no_route() {
        for target in [
            "*",
            "/hello/",
            "/Hello",
            "//",
            "hello",
            "a:443",
            "ftp://a/hello",
            "",
        ] {
            assert_eq!(Route::find(target), None, "{target}");
        }
    }
}
