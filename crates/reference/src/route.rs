//! Which workload a request asks for.

/// One of the workloads' paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
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
}

impl Route {
    /// Every route.
    #[cfg(test)]
    pub const ALL: [Route; 7] = [
        Route::Hello,
        Route::Byte,
        Route::Page,
        Route::PageLog,
        Route::Sse,
        Route::Sse20k,
        Route::Quote,
    ];

    /// The route that a request target (RFC 9112, section 3.2) leads to. The query is not part
    /// of the name.
    pub fn find(target: &str) -> Option<Self> {
        Some(match path_of(target) {
            "/hello" => Route::Hello,
            "/byte" => Route::Byte,
            "/" => Route::Page,
            "/log" => Route::PageLog,
            "/sse" => Route::Sse,
            "/sse-20k" => Route::Sse20k,
            "/franklin-says" => Route::Quote,
            _ => return None,
        })
    }

    /// Its path.
    pub const fn path(self) -> &'static str {
        match self {
            Route::Hello => "/hello",
            Route::Byte => "/byte",
            Route::Page => "/",
            Route::PageLog => "/log",
            Route::Sse => "/sse",
            Route::Sse20k => "/sse-20k",
            Route::Quote => "/franklin-says",
        }
    }

    /// Whether each of its requests owes a line on the log.
    pub const fn is_logged(self) -> bool {
        matches!(self, Route::PageLog | Route::Sse | Route::Sse20k)
    }
}

/// The path of a target in origin form (`/path?query`) or absolute form (`http://host/path`).
fn path_of(target: &str) -> &str {
    let path = match target.starts_with('/') {
        true => target,
        false => absolute_path(target).unwrap_or(target),
    };
    path.split(['?', '#']).next().unwrap_or(path)
}

fn absolute_path(target: &str) -> Option<&str> {
    let (scheme, rest) = target.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") {
        return None;
    }
    // `http://host` and `http://host?query` ask for the root.
    match rest.find(['/', '?']) {
        Some(at) if rest.as_bytes()[at] == b'/' => Some(&rest[at..]),
        _ => Some("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_leads_to_its_route_in_either_form() {
        for route in Route::ALL {
            let path = route.path();
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
    fn other_targets_lead_nowhere() {
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
