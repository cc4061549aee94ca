//! Valid and invalid request files.

use std::io::Cursor;

use prony_testkit::contains;
use prony_testkit::table::rows;

use super::*;

const SERVER: &str = "http://localhost:8080/";

fn read(text: &str, headers: &[&str]) -> Result<RequestFile, RequestFileError> {
    let server: HttpUrl = SERVER.parse().unwrap();
    let headers: Vec<String> = headers.iter().map(|&line| line.into()).collect();
    RequestFile::read(Cursor::new(text), Some(&server), &headers)
}

/// The method and the path, the host, the fields and the body.
fn shown(request: &RequestParts) -> String {
    let url = request.url();
    let mut text = format!("{} {} @{}", request.method(), url.path(), url.host_header());
    for (name, value) in request.fields() {
        text += &format!(" {name}: {}", value.to_str().unwrap());
    }
    text + " " + std::str::from_utf8(request.body()).unwrap()
}

fn requests(text: &str, headers: &[&str]) -> Vec<String> {
    let requests = read(text, headers).unwrap().requests;
    requests.iter().map(shown).collect()
}

#[test]
fn a_line_is_a_request() {
    let text = r#"
        {"path": "/items/7?full=1"}

        {"method": "POST", "url": "http://LOCALHOST:8080/items", "headers": {"X-A": "b"}, "body": "ä"}
        {"method": "PUT", "path": "/blob", "body_base64": "AAEC"}"#;
    assert_eq!(
        requests(text, &[]),
        [
            "GET /items/7?full=1 @localhost:8080 ",
            "POST /items @LOCALHOST:8080 x-a: b ä",
            "PUT /blob @localhost:8080 \0\u{1}\u{2}",
        ]
    );
}

#[test]
fn a_lines_headers_override_the_common_ones() {
    let text = "{\"path\": \"/\", \"headers\": {\"ACCEPT\": \"text/html\"}}\n{\"path\": \"/\"}";
    assert_eq!(
        requests(text, &["Accept: */*", "X-All: 1"]),
        [
            "GET / @localhost:8080 accept: text/html x-all: 1 ",
            "GET / @localhost:8080 accept: */* x-all: 1 ",
        ]
    );
}

#[test]
fn the_first_url_names_the_server() {
    let text = "{\"url\": \"http://a:81/x\"}\n{\"path\": \"/y\"}\n";
    let file = RequestFile::read(Cursor::new(text), None, &[]).unwrap();
    assert_eq!((file.server.host(), file.server.port()), ("a", 81));
    assert_eq!(file.requests.len(), 2);
    assert_eq!(shown(&file.requests[1]), "GET /y @a:81 ");
    let error = RequestFile::read(Cursor::new("{\"path\": \"/y\"}"), None, &[]).unwrap_err();
    contains(
        &error.to_string(),
        "line 1: field `path`: no server is known",
    );
}

#[test]
fn an_invalid_request_is_reported_with_its_line_and_field() {
    for [line, message] in rows(
        r#"
            nonsense | not a JSON object (expected ident at column 2); write for instance {"path": "/"}
            {"path": "/" | not a JSON object (EOF while parsing
            [1] | not a JSON object (an array)
            {"pth": "/"} | there is no field `pth`; the fields are `method`, `path`, `url`,
            {} | field `path` or `url` is missing
            {"path": 7} | field `path`: expected a string, got a number
            {"path": "x"} | field `path`: `x` does not start with `/`
            {"path": "/", "url": "http://localhost:8080/"} | fields `path` and `url`: give only one
            {"url": "localhost:8080"} | field `url`: `localhost:8080` has no scheme
            {"url": "http://localhost:8081/"} | field `url`: `http://localhost:8081/` is on another server than localhost:8080
            {"path": "/", "method": "GE T"} | field `method`: `GE T` is not an HTTP method
            {"path": "/", "method": null} | field `method`: expected a string, got null
            {"path": "/", "headers": ["A: b"]} | field `headers`: expected an object
            {"path": "/", "headers": {"A": 1}} | field `headers.A`: expected a string, got a number
            {"path": "/", "headers": {"A b": "c"}} | field `headers`: `A b` is not the name
            {"path": "/", "headers": {"A:b": "c"}} | field `headers`: `A:b` is not the name
            {"path": "/", "headers": {"A": "b\\nc"}} | field `headers`: the value of header `A`
            {"path": "/", "headers": {"Content-Length": "3"}} | field `headers`: header `Content-Length` frames the body
            {"path": "/", "body": {}} | field `body`: expected a string, got an object
            {"path": "/", "body_base64": "!"} | field `body_base64`: Invalid
            {"path": "/", "body": "", "body_base64": ""} | fields `body` and `body_base64`: give only one of them
            {"path": "/a", "path": "/b"} | the key `path` appears twice at column 21; give it once
            {"path": "/", "headers": {"A": "1", "A": "2"}} | the key `A` appears twice
        "#,
    ) {
        let text = format!("{{\"path\": \"/\"}}\n\n{line}\n");
        let error = read(&text, &[]).unwrap_err().to_string();
        let expected = format!("line 3: {message}");
        assert!(error.starts_with(&expected), "{line}: {error}");
    }
}

#[test]
fn invalid_utf8_is_reported_with_its_line() {
    let file = Cursor::new(b"{\"path\": \"/\xff\"}");
    let server = SERVER.parse().unwrap();
    let error = RequestFile::read(file, Some(&server), &[]).unwrap_err();
    contains(&error.to_string(), "line 1: not a JSON object");
}

#[test]
fn empty_and_oversized_files_are_refused() {
    assert!(matches!(read("", &[]), Err(RequestFileError::Empty)));
    assert!(matches!(read("\n \n", &[]), Err(RequestFileError::Empty)));
    let server = SERVER.parse().unwrap();
    let line = "{\"path\": \"/\"}\n";
    let within = |limit: usize| {
        let file = Cursor::new(line.repeat(3));
        read_within(limit as u64, file, Some(&server), &[])
    };
    assert_eq!(within(3 * line.len()).unwrap().requests.len(), 3);
    let refused = within(3 * line.len() - 1);
    assert!(matches!(refused, Err(RequestFileError::TooLong { .. })));
    // One endless line takes no more memory than the limit.
    let endless = io::BufReader::new(io::repeat(b' '));
    let refused = read_within(10_000, endless, Some(&server), &[]);
    let too_long = matches!(refused, Err(RequestFileError::TooLong { limit: 10_000 }));
    assert!(too_long, "{refused:?}");
}
