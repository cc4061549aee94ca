//! The cookies that a user keeps (RFC 6265), all of one server.

use std::cell::LazyCell;
use std::net::IpAddr;

use cookie::Cookie;
use time::OffsetDateTime;

use crate::collect::Collect;
use crate::url::{HttpUrl, Scheme};

/// The most cookies of a user, and the most bytes of one: a server must not fill the memory.
const MOST_COOKIES: usize = 200;
const LONGEST_COOKIE: usize = 8192;

/// The present time, which is only read for a cookie that expires.
type Now = LazyCell<OffsetDateTime>;

/// The cookies of a user.
#[derive(Debug, Default)]
pub(crate) struct CookieJar {
    /// As they are sent: the longest path first, and then the oldest (section 5.4, step 2).
    cookies: Vec<StoredCookie>,
    /// How many were stored: the oldest has the lowest number.
    count: u64,
}

/// A cookie that the server has set.
#[derive(Clone, Debug, PartialEq, Eq)]
struct StoredCookie {
    name: String,
    value: String,
    path: String,
    needs_tls: bool,
    expires: Option<OffsetDateTime>,
    /// How many were stored before it.
    number: u64,
}

impl CookieJar {
    pub(crate) fn clear(&mut self) {
        self.cookies.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.cookies.is_empty()
    }

    /// Takes those that a response to a request for `path` on `server` sets.
    pub(crate) fn take_all(&mut self, response: &Collect, server: &HttpUrl, path: &str) {
        let fields = response.fields();
        for (_, value) in fields.filter(|(name, _)| *name == b"set-cookie") {
            if let Ok(field) = std::str::from_utf8(value) {
                self.take(field, server, path);
            }
        }
    }

    /// Takes the value of a `Set-Cookie` field in the response to a request for `path` on `server`. A cookie that the
    /// server may not set is ignored, as browsers do.
    pub(crate) fn take(&mut self, field: &str, server: &HttpUrl, path: &str) {
        if field.len() > LONGEST_COOKIE {
            return;
        }
        let Ok(cookie) = Cookie::parse(field) else {
            return;
        };
        if !cookie
            .domain()
            .is_none_or(|domain| is_domain_of(domain, server.host()))
        {
            return;
        }
        let now = Now::new(OffsetDateTime::now_utc);
        let expires = match (cookie.max_age(), cookie.expires_datetime()) {
            (Some(age), _) => Some(now.checked_add(age).unwrap_or(*now)),
            (None, expires) => expires,
        };
        let stored = StoredCookie {
            name: cookie.name().to_owned(),
            value: cookie.value().to_owned(),
            path: match cookie.path() {
                Some(path) if path.starts_with('/') => path.to_owned(),
                _ => default_path(path).to_owned(),
            },
            needs_tls: cookie.secure() == Some(true),
            expires,
            number: self.count,
        };
        let is_same = |it: &StoredCookie| (&it.name, &it.path) == (&stored.name, &stored.path);
        let is_expired = stored.is_expired(&now);
        match self.cookies.iter().position(is_same) {
            Some(at) if is_expired => drop(self.cookies.remove(at)),
            // It keeps its place (section 5.3, step 11).
            Some(at) => {
                let number = self.cookies[at].number;
                self.cookies[at] = StoredCookie { number, ..stored };
            }
            None if is_expired => {}
            None => self.add(stored),
        }
    }

    fn add(&mut self, cookie: StoredCookie) {
        if self.cookies.len() == MOST_COOKIES {
            let oldest = (0..MOST_COOKIES).min_by_key(|at| self.cookies[*at].number);
            self.cookies.remove(oldest.unwrap_or_default());
        }
        self.count += 1;
        let goes_first = |it: &StoredCookie| it.path.len() >= cookie.path.len();
        let at = self.cookies.partition_point(goes_first);
        self.cookies.insert(at, cookie);
    }

    /// The value of the `Cookie` field for a request for `path`; `None` if no cookie is for that.
    pub(crate) fn field(&self, server: &HttpUrl, path: &str) -> Option<String> {
        let path = path.split('?').next().unwrap_or_default();
        let now = Now::new(OffsetDateTime::now_utc);
        let is_secure = server.scheme() == Scheme::Https || is_loopback(server.host());
        let is_sent = |it: &&StoredCookie| {
            (is_secure || !it.needs_tls) && is_path_of(&it.path, path) && !it.is_expired(&now)
        };
        let mut field = String::new();
        for it in self.cookies.iter().filter(is_sent) {
            let separator = if field.is_empty() { "" } else { "; " };
            field.extend([separator, &it.name, "=", &it.value]);
        }
        (!field.is_empty()).then_some(field)
    }
}

impl StoredCookie {
    fn is_expired(&self, now: &Now) -> bool {
        self.expires.is_some_and(|expires| expires <= **now)
    }
}

/// Section 5.1.3.
fn is_domain_of(domain: &str, host: &str) -> bool {
    let domain = domain.strip_prefix('.').unwrap_or(domain);
    if domain.is_empty() || host.eq_ignore_ascii_case(domain) {
        return true;
    }
    let begins = host.len().checked_sub(domain.len());
    let is_suffix = begins.is_some_and(|at| {
        at > 0
            && host.is_char_boundary(at)
            && host.as_bytes()[at - 1] == b'.'
            && host[at..].eq_ignore_ascii_case(domain)
    });
    is_suffix && host.parse::<IpAddr>().is_err()
}

/// Section 5.1.4.
fn default_path(path: &str) -> &str {
    let path = path.split('?').next().unwrap_or_default();
    match path.rfind('/') {
        None | Some(0) => "/",
        Some(at) => &path[..at],
    }
}

/// Section 5.1.4.
fn is_path_of(cookie: &str, path: &str) -> bool {
    match path.strip_prefix(cookie) {
        None => false,
        Some(rest) => rest.is_empty() || cookie.ends_with('/') || rest.starts_with('/'),
    }
}

/// As in curl and in browsers, a cookie for TLS also goes to a server on the same machine.
fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use prony_testkit::table::rows;

    use super::*;

    fn server(url: &str) -> HttpUrl {
        url.parse().expect("a URL")
    }

    #[test]
    fn cookies_go_to_their_host_and_path() {
        for [host, fields, path, expected] in rows(
            r#"
            // The longest path goes first, and then the oldest.
            http://h | x=1; Path=/\ny=2; Path=/a\nz=3; Path=/\nx=4; path=/ | /a/c?d | y=2; x=4; z=3
            http://h | x=1; Path=/\ny=2; Path=/a\nz=3; Path=/\nx=4; path=/ | /ab | x=4; z=3
            // Without a path a cookie is for the folder of the request.
            http://h | x=1 | /a/other | x=1
            http://h | x=1 | /a | x=1
            http://h | x=1 | / | ""
            http://h | x=1; Path=rel | /a/c | x=1
            // An expired cookie removes the one of its name.
            http://h | x=1; Path=/\nx=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT | / | ""
            http://h | x=1; Path=/\nx=; Path=/; Max-Age=0 | / | ""
            http://h | x=1; Path=/; Max-Age=100; Expires=Thu, 01 Jan 1970 00:00:00 GMT | / | x=1
            // Only domains of the host are accepted.
            http://www.example.com | x=1; Path=/; Domain=example.com | / | x=1
            http://www.example.com | x=1; Path=/; Domain=.example.com | / | x=1
            http://www.example.com | x=1; Path=/; Domain=www.Example.com | / | x=1
            http://www.example.com | x=1; Path=/; Domain=ample.com | / | ""
            http://www.example.com | x=1; Path=/; Domain=other.com | / | ""
            http://www.example.com | x=1; Path=/; Domain=a.www.example.com | / | ""
            http://10.0.0.1 | x=1; Path=/; Domain=0.0.1 | / | ""
            // A cookie for TLS is not sent without it.
            http://h | x=1; Path=/; Secure | / | ""
            https://h | x=1; Path=/; Secure | / | x=1
            http://localhost:1 | x=1; Path=/; Secure | / | x=1
        "#,
        ) {
            let mut jar = CookieJar::default();
            for field in fields.lines() {
                jar.take(field, &server(host), "/a/b?q=/x/");
            }
            let sent = jar.field(&server(host), path).unwrap_or_default();
            assert_eq!(sent, expected, "{host} {fields} {path}");
        }
    }

    #[test]
    fn the_number_of_cookies_is_bounded() {
        let (mut jar, server) = (CookieJar::default(), server("http://h"));
        for number in 0..1000 {
            let path = if number % 2 == 0 { "/" } else { "/a" };
            jar.take(&format!("c{number}=1; Path={path}"), &server, "/");
        }
        jar.take(&format!("long={}", "x".repeat(10_000)), &server, "/");
        // The oldest make room, whatever their path is.
        let [odd, even] = [801, 800].map(|first| (first..1000).step_by(2));
        let expected: Vec<String> = odd
            .chain(even)
            .map(|number| format!("c{number}=1"))
            .collect();
        assert_eq!(jar.field(&server, "/a"), Some(expected.join("; ")));
    }
}
