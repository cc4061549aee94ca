//! A scrape: the HTTP request for the figures, and the response to it.

use crate::openmetrics::Format;

/// The longest request, in bytes, that has a chance to be understood.
pub const LONGEST_REQUEST: usize = 8 * 1024;
const MOST_FIELDS: usize = 64;
const PATH: &str = "/metrics";

/// The response to what a client has sent so far, with `text` for the figures; `None` as long as the request is
/// incomplete. The connection ends after it.
pub fn respond(request: &[u8], text: impl FnOnce(Format) -> String) -> Option<Vec<u8>> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    match head.parse(request) {
        Ok(httparse::Status::Complete(_)) => Some(response(&head, text)),
        Ok(httparse::Status::Partial) if request.len() < LONGEST_REQUEST => None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            Some(refusal("431 Request Header Fields Too Large", ""))
        }
        Err(_) => Some(refusal("400 Bad Request", "")),
    }
}

fn response(request: &httparse::Request<'_, '_>, text: impl FnOnce(Format) -> String) -> Vec<u8> {
    let target = request.path.unwrap_or_default();
    if path(target) != PATH {
        return refusal("404 Not Found", "");
    }
    let with_body = match request.method {
        Some("GET") => true,
        Some("HEAD") => false,
        _ => return refusal("405 Method Not Allowed", "Allow: GET, HEAD\r\n"),
    };
    let format = Format::accepted(&accept(request));
    let text = text(format);
    let body = if with_body { text.as_str() } else { "" };
    message("200 OK", format.content_type(), "", text.len(), body)
}

/// The path of a request target without its query. A client of a proxy sends the whole URL (RFC 9112, 3.2.2).
fn path(target: &str) -> &str {
    let path = match target.split_once("://") {
        Some((scheme, rest)) if !scheme.contains('/') => {
            rest.find('/').map_or("/", |begin| &rest[begin..])
        }
        _ => target,
    };
    path.split('?').next().unwrap_or_default()
}

/// All `Accept` fields as one.
fn accept(request: &httparse::Request<'_, '_>) -> String {
    let fields = request.headers.iter();
    let values = fields
        .filter(|field| field.name.eq_ignore_ascii_case("accept"))
        .map(|field| String::from_utf8_lossy(field.value));
    values.collect::<Vec<_>>().join(",")
}

fn refusal(status: &str, fields: &str) -> Vec<u8> {
    let text = format!("{status}: the figures are at {PATH}\n");
    let media_type = "text/plain; charset=utf-8";
    message(status, media_type, fields, text.len(), &text)
}

fn message(status: &str, media_type: &str, fields: &str, length: usize, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n{fields}\r\n{body}"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(request: &str) -> Option<String> {
        let text = |format| format!("{format:?}\n");
        respond(request.as_bytes(), text).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_request_is_responded_to_once_it_is_complete() {
        let request = "GET /metrics?a=b HTTP/1.1\r\nHost: h\r\n\r\n";
        for end in 0..request.len() {
            assert_eq!(told(&request[..end]), None, "{end}");
        }
        let response = told(request).unwrap();
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("\r\nContent-Type: application/openmetrics-text; version=1.0.0"));
        assert!(head.contains("\r\nContent-Length: 12\r\n"));
        assert!(head.contains("\r\nConnection: close"));
        assert_eq!(body, "OpenMetrics\n");
    }

    #[test]
    fn a_client_may_choose_the_format_or_only_look() {
        let plain = "GET /metrics HTTP/1.0\r\nAccept: text/plain\r\n\r\n";
        assert!(told(plain).unwrap().ends_with("\r\n\r\nPrometheus\n"));
        let split = "GET /metrics HTTP/1.1\r\nACCEPT: text/plain\r\naccept: application/openmetrics-text\r\n\r\n";
        assert!(told(split).unwrap().ends_with("\r\n\r\nOpenMetrics\n"));
        let whole_url = "GET http://h:9464/metrics?a=://b HTTP/1.1\r\nHost: h:9464\r\n\r\n";
        assert!(told(whole_url).unwrap().starts_with("HTTP/1.1 200 OK\r\n"));
        let head = told("HEAD /metrics HTTP/1.1\r\n\r\n").unwrap();
        assert!(head.contains("Content-Length: 12\r\n") && head.ends_with("\r\n\r\n"));
    }

    #[test]
    fn everything_else_is_refused() {
        let many = "a: b\r\n".repeat(MOST_FIELDS + 1);
        let long = "a".repeat(LONGEST_REQUEST);
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n".to_owned(), "404"),
            ("GET /metricsx HTTP/1.1\r\n\r\n".to_owned(), "404"),
            ("GET http://h HTTP/1.1\r\n\r\n".to_owned(), "404"),
            ("GET http://metrics/ HTTP/1.1\r\n\r\n".to_owned(), "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n".to_owned(), "405"),
            ("\x16\x03\x01 no HTTP\r\n\r\n".to_owned(), "400"),
            (format!("GET /metrics HTTP/1.1\r\n{many}\r\n"), "431"),
            (format!("GET /{long}"), "431"),
        ] {
            let response = told(&request).unwrap();
            let start = format!("HTTP/1.1 {status} ");
            assert!(response.starts_with(&start), "{response}");
        }
    }
}
