use super::*;
use crate::files::Files;
use crate::workload::Workload;
use prony_load::Request;
use prony_testkit::table::{refused, rows};
use prony_testkit::{contains, starts_with};
use prony_traffic::{HttpVersion, Traffic};
use tempfile::TempDir;

/// A secret that every encoder writes in its own way.
const AWKWARD: &str = "sword fish/and&mo?re#\"~%2";

fn variables(name: &str) -> Option<std::ffi::OsString> {
    match name {
        "TOKEN" => Some("s3cr&t value".into()),
        "EMPTY" => Some("".into()),
        "AWKWARD" => Some(AWKWARD.into()),
        _ => None,
    }
}

fn read(lines: &str) -> Result<Workload, String> {
    let path = if lines.contains("path = ") {
        ""
    } else {
        "path = \"/a\""
    };
    let text = format!("[request]\nmethod = \"POST\"\n{path}\n{lines}\n[response]\nstatus = 200\n");
    toml::from_str(&text).map_err(|error| error.to_string())
}

fn prepare(lines: &str) -> Result<PreparedRequest, String> {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("data.bin"), b"\x00\xff").unwrap();
    std::fs::write(folder.path().join("empty"), b"").unwrap();
    let assets = TempDir::new().unwrap();
    std::fs::write(assets.path().join("shared.txt"), "shared").unwrap();
    let workload = Workload {
        id: "w".into(),
        ..read(lines)?
    };
    let files = Files::new(folder.path(), assets.path());
    let prepared = PreparedRequest::with(workload.exchange().unwrap(), &files, &variables);
    prepared.map_err(|error| {
        let error = error.to_string();
        error.replace(&format!("{}/", folder.path().display()), "")
    })
}

/// The request as HTTP/1.1 sends it, and its URL.
fn sent(lines: &str) -> (String, String) {
    let prepared = prepare(lines).unwrap_or_else(|error| panic!("{lines}: {error}"));
    let (url, request) = prepared.encode("127.0.0.1:80").unwrap();
    let Traffic::Requests(set, HttpVersion::Http1) = request else {
        panic!("not HTTP/1.1");
    };
    let request = Request::of(&set.requests()[0]);
    (String::from_utf8_lossy(request.bytes()).into_owned(), url)
}

#[test]
fn headers_query_and_cookies_are_sent() {
    let (request, url) = sent(
        "headers = { X-One = \"1\", x-two = 2, Authorization = { env = \"TOKEN\", prefix = \"Bearer \" } }\n\
         query = { q = \"a b&c\", tag = [\"x\", \"ä\"], deep = true }\n\
         cookies = { session = \"abc\", theme = \"dark\" }",
    );
    let line = "POST /a?deep=true&q=a%20b%26c&tag=x&tag=%C3%A4 HTTP/1.1\r\n";
    starts_with(&request, line);
    for field in [
        "authorization: Bearer s3cr&t value\r\n",
        "x-one: 1\r\n",
        "x-two: 2\r\n",
        "cookie: session=abc; theme=dark\r\n",
        "Content-Length: 0\r\n",
    ] {
        contains(&request, field);
    }
    starts_with(&url, "http://127.0.0.1:80/a?deep=true&q=");
}

#[test]
fn each_body_has_its_content_type() {
    for [body, media, content] in rows(
        r#"
        { text = "hi" } | text/plain; charset=utf-8 | hi
        { json = { a = [1, true] } } | application/json | {"a":[1,true]}
        { json = '{ "a" : null }' } | application/json | { "a" : null }
        { form = { user = "a b", n = [1, 2] } } | application/x-www-form-urlencoded | n=1&n=2&user=a+b
        { file = "data.bin" } | application/octet-stream | \0\u{fffd}
        { file = "shared.txt" } | application/octet-stream | shared
    "#,
    ) {
        let (request, _) = sent(&format!("body = {body}"));
        let (head, sent) = request.split_once("\r\n\r\n").unwrap();
        contains(head, &format!("content-type: {media}\r\n"));
        assert_eq!(sent, content);
    }
    let (own, _) = sent("headers = { Content-Type = \"text/csv\" }\nbody = { text = \"a\" }");
    contains(&own, "content-type: text/csv\r\n");
    let count = own.to_lowercase().matches("content-type").count();
    assert_eq!(count, 1, "{own}");
}

#[test]
fn a_multipart_body_has_its_parts() {
    let (request, _) = sent(
        "body = { multipart = [ { name = \"title\", text = \"hi\" }, \
         { name = \"file\", file = \"shared.txt\", filename = \"a\\\"b.txt\", content_type = \"text/plain\" } ] }",
    );
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let media = "content-type: multipart/form-data; boundary=prony-boundary-00000000\r\n";
    contains(head, media);
    assert_eq!(
        body,
        "--prony-boundary-00000000\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nhi\r\n\
         --prony-boundary-00000000\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a%22b.txt\"\r\n\
         Content-Type: text/plain\r\n\r\nshared\r\n--prony-boundary-00000000--\r\n"
    );
}

#[test]
fn a_compressed_response_is_accepted_if_wanted() {
    let (request, _) = sent("compressed = true");
    contains(&request, "accept-encoding: gzip, br, zstd, deflate\r\n");
    let accepted = |lines: &str| prepare(lines).unwrap().accepted().unwrap().is_none();
    assert!(!accepted("compressed = true"));
    assert!(!accepted("headers = { Accept-Encoding = \"br\" }"));
    assert!(accepted("headers = { accept-encoding = \"identity\" }"));
    assert!(accepted(""));
}

#[test]
fn secrets_are_sent_and_not_shown() {
    let lines = "query = { key = { env = \"TOKEN\", secret = true } }\n\
                 basic_auth = { user = \"ann\", password = \"swordfish\" }";
    let (request, url) = sent(lines);
    contains(&request, "/a?key=s3cr%26t%20value ");
    contains(&request, "authorization: Basic YW5uOnN3b3JkZmlzaA==\r\n");
    assert_eq!(url, "http://127.0.0.1:80/a?key=***");
    let prepared = prepare(lines).unwrap();
    let shown = prepared
        .secrets()
        .hide("ann, swordfish, YW5uOnN3b3JkZmlzaA==, s3cr&t value");
    assert_eq!(shown, "ann, ***, ***, ***");
    let debug = format!("{:?}", read(lines).unwrap());
    assert!(!debug.contains("swordfish"), "{debug}");
}

#[test]
fn a_secret_is_hidden_however_a_request_encodes_it() {
    for [lines, sent_as, hidden] in rows(
        r#"
        path = "/x/{{t}}/y" | /x/sword%20fish/and&mo?re%23%22~%2/y\u{20} | /x/***/y\u{20}
        query = { q = OWN } | ?q=sword%20fish%2Fand%26mo%3Fre%23%22~%252\u{20} | ?q=***\u{20}
        query = { q = "<{{t}}>" } | ?q=%3Csword%20fish%2Fand%26mo%3Fre%23%22~%252%3E\u{20} | ?q=%3C***%3E\u{20}
        body = { form = { f = OWN } } | f=sword+fish%2Fand%26mo%3Fre%23%22%7E%252 | f=***
        body = { json = { j = "{{t}}" } } | {"j":"sword fish/and&mo?re#\\"~%2"} | {"j":"***"}
        body = { text = "-{{t}}-" } | -sword fish/and&mo?re#"~%2- | -***-
        body = { multipart = [{ name = "m", text = OWN }] } | sword fish/and&mo?re#"~%2 | ***
        headers = { x = OWN } | x: sword fish/and&mo?re#"~%2 | x: ***
        basic_auth = { user = "ann", password = OWN } | Basic YW5uOnN3b3JkIGZpc2gvYW5kJm1vP3JlIyJ+JTI= | Basic ***
        "#,
    ) {
        const SECRET: &str = "{ env = \"AWKWARD\", secret = true }";
        let own = lines.replace("OWN", SECRET);
        let lines = format!("{own}\n[values]\nvariables = {{ t = {SECRET} }}");
        let (request, url) = sent(&lines);
        contains(&request, sent_as);
        let secrets = prepare(&lines).unwrap().secrets().clone();
        let escapes = ["%2F", "%3F", "%7E"];
        let lower_case = escapes.iter().fold(request.clone(), |text, escape| {
            text.replace(escape, &escape.to_lowercase())
        });
        contains(&secrets.hide(&request), hidden);
        contains(&secrets.hide(&lower_case), hidden);
        assert!(!url.contains("fish"), "{url}");
    }
}

#[test]
fn requests_that_cannot_be_sent_are_refused() {
    refused(
        prepare,
        r#"
        headers = { x = { env = "NOT_THERE" } } | workload `w`: its header `x` is the environment variable NOT_THERE, which is not set; set it: export NOT_THERE=…
        query = { x = { env = "EMPTY" } } | query field `x` is the environment variable EMPTY, which is empty
        basic_auth = { user = "a", password = { env = "NO" } } | its password is the environment variable NO
        basic_auth = { user = "a:b", password = "x" } | contains a colon
        cookies = { a = "b;c" } | its cookie `a` has a byte
        cookies = { "a b" = "c" } | `a b` is not the name of a cookie
        headers = { "a b" = "c" } | `a b` is not the name of a header
        headers = { a = "b\\nc" } | the value of header `a` contains a byte
        headers = { A = "b", a = "c" } | header `a` occurs twice
        headers = { Content-Length = 3 } | header `Content-Length` frames the body
        headers = { x = { envv = "A" } } | unknown field `envv`
        headers = { x = { env = "" } } | is not the name of an environment variable
        headers = { Cookie = "a=b" }\ncookies = { a = "b" } | `cookies` sets the header `cookie`
        headers = { accept-encoding = "br" }\ncompressed = true | `compressed` sets the header `accept-encoding`
        body = { file = "nothing" } | cannot read nothing, which workload `w` needs: No such file
        body = { file = "empty" } | empty is empty, and workload `w` sends it
        body = { file = "." } | it is not a file
        body = { jsn = 1 } | unknown variant `jsn`
        body = { json = '{' } | is not JSON
        body = { multipart = [ { name = "a" } ] } | part `a` needs either `text` or `file`
        body = { multipart = [ { name = "a", txt = "b" } ] } | unknown field `txt`
        query = { a = [] } | the list is empty
        "#,
    );
    let long = format!("query = {{ a = \"{}\" }}", "x".repeat(70_000));
    let error = prepare(&long).map(drop).unwrap_err();
    contains(&error, "query take 70005 bytes; at most 60000");
}
