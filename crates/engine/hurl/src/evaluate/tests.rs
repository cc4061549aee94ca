//! What files mean for responses, as Hurl sees them.

use prony_testkit::table::rows;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::*;
use crate::ast::HurlFile;
use crate::position::Position;

/// A fixed time, a fixed random number and one file.
struct Fixed;

impl Environment for Fixed {
    fn now(&mut self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * 365)
    }

    fn random(&mut self) -> u128 {
        u128::MAX
    }

    fn file(&mut self, name: &str) -> Result<Vec<u8>, FileError> {
        match name {
            "data.bin" | "folder/data.bin" => Ok(vec![1, 2]),
            "../secret" => Err(FileError::Forbidden),
            _ => Err(FileError::Unreadable("not found".into())),
        }
    }
}

const HEADERS: &[(&str, &str)] = &[
    ("Content-Type", "application/json; charset=utf-8"),
    ("X-Many", "a"),
    ("x-many", "b"),
    (
        "Set-Cookie",
        "id=42; Path=/shop; Max-Age=60; Secure; Expires=Wed, 13 Jan 2021 22:23:01 GMT",
    ),
    ("Set-Cookie", "plain=yes"),
];

const BODY: &str = r#"{"name": "Bob", "count": 3, "big": 18446744073709551615, "ratio": 0.5, "none": null, "ok": true,
"tags": ["a", "b", "c"], "empty": [], "items": [{"id": 1, "price": 5}, {"id": 2, "price": 15}], "inner": "{\"x\": 1}"}"#;

fn response<'a>(body: &'a [u8], headers: &'a [(&'a str, &'a str)]) -> Response<'a> {
    Response {
        version: HttpVersion::Http11,
        status: 200,
        headers,
        body,
        raw_body: body,
        url: "http://host/path?q=1",
        duration: Duration::from_micros(12_900),
        ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
    }
}

fn parsed(text: &str) -> HurlFile {
    crate::parse(text).unwrap_or_else(|error| panic!("{}", error.render("test.hurl", text)))
}

fn variables() -> Variables {
    let mut variables = Variables::default();
    variables.set("name", Value::Text("Bob".into()));
    variables.set("three", Value::integer(3));
    variables.set("quote", Value::Text("say \"hi\"\n".into()));
    variables.set("list", Value::List(vec![Value::integer(1)]));
    variables
}

/// The variables behind the only response of a file, or what is wrong with that.
fn evaluated(text: &str, evaluation: &Evaluation<'_>) -> Result<Variables, Vec<Failure>> {
    let file = parsed(text);
    let expected = file.entries[0].response.as_ref().expect("a response");
    let mut variables = variables();
    let failures = evaluation.status_line(expected);
    if !failures.is_empty() {
        return Err(failures);
    }
    let result = evaluation.content(expected, &mut variables, &mut Fixed);
    result.map(|()| variables)
}

/// The same for this body.
fn failures(text: &str, body: &str) -> Result<Variables, Vec<Failure>> {
    evaluated(text, &Evaluation::new(&response(body.as_bytes(), HEADERS)))
}

/// What is wrong with an entry that expects this, a line each.
fn faults(expected: &str, body: &str) -> String {
    let failures = failures(&format!("GET http://host\nHTTP 200\n{expected}\n"), body);
    let failures: Vec<_> = failures.err().unwrap_or_default();
    let lines = failures.iter().map(Failure::to_string);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn asserts_pass() {
    let asserts = r#"
        status == 200
        version == "1.1"
        url endsWith "q=1"
        url urlQueryParam "q" == "1"
        header "content-type" contains "json"
        header "X-Many" count == 2
        header "X-Many" nth -1 == "b"
        header "Nothing" not exists
        cookie "id" == "42"
        cookie "id[Path]" == "/shop"
        cookie "id[Max-Age]" == 60
        cookie "id[Secure]" exists
        cookie "id[HttpOnly]" not exists
        cookie "id[Expires]" dateFormat "%Y" == "2021"
        cookie "id[Expires]" daysAfterNow == 18275
        body contains "{{name}}"
        bytes count > 100
        rawbytes startsWith hex,7b;
        sha256 != hex,00;
        jsonpath "$.name" == "Bob"
        jsonpath "$.name" matches /^B.b$/
        jsonpath "$.count" == {{three}}
        jsonpath "$.count" == 3.0
        jsonpath "$.big" > 9223372036854775807
        jsonpath "$.big" isInteger
        jsonpath "$.ratio" isFloat
        jsonpath "$.none" == null
        jsonpath "$.ok" == true
        jsonpath "$.tags" includes "b"
        jsonpath "$.tags" contains "c"
        jsonpath "$.tags" count == 3
        jsonpath "$.empty" isEmpty
        jsonpath "$.missing" not exists
        jsonpath "$.items[?(@.price > 10)].id" == 2
        jsonpath "$..id" count == 2
        jsonpath "$.items[0]" isObject
        jsonpath "$.inner" jsonpath "$.x" == 1
        regex /"name": "(\w+)"/ == "Bob"
        variable "name" == "Bob"
        duration == 12
        ip isIpv4
        redirects count == 0
        redirects isEmpty
        jsonpath "$.name" utf8Encode base64Encode base64Decode toHex == "426f62"
        jsonpath "$.name" utf8Encode base64Encode == "Qm9i"
        jsonpath "$.name" replaceRegex /(o)/ "<$1>" htmlEscape == "B&lt;o&gt;b"
        jsonpath "$.name" replace "o" "&eacute;" htmlUnescape == "Béb"
        jsonpath "$.name" split "o" last == "b"
        jsonpath "$.name" urlEncode == "Bob"
        jsonpath "$.count" toString toInt toFloat == 3.0
        jsonpath "$.name" startsWith "B"
    "#;
    assert_eq!(faults(&format!("[Asserts]{asserts}"), BODY), "");
}

#[test]
fn failures_say_what_was_expected() {
    let cases = rows(
        r#"
        jsonpath "$.count" == 5 | actual: integer <3> expected: integer <5>
        jsonpath "$.count" not == 3 | actual: integer <3> expected: not integer <3>
        jsonpath "$.count" != 3 | actual: integer <3> expected: not integer <3>
        jsonpath "$.missing" > 3 | actual: none expected: greater than integer <3>
        jsonpath "$.name" > 3 | actual: string <Bob> expected: greater than integer <3> >>> types between actual and expected are not consistent
        jsonpath "$.tags" == "a" | actual: list <[a,b,c]> expected: string <a>
        jsonpath "$.tags" isEmpty | actual: list <[a,b,c]> expected: empty
        jsonpath "$.name" isUuid | actual: string <Bob> expected: string in UUID format
        jsonpath "$.name" matches "x" | actual: string <Bob> expected: matches regex <x>
        jsonpath "$.name" matches "(" | regex expression is not valid
        jsonpath "$[" exists | JSONPath expression '$[' is not valid
        jsonpath "$.tags" nth 7 exists | invalid filter input: out of bound - size is 3
        jsonpath "$.empty" first exists | invalid filter input: out of bound - size is 0
        jsonpath "$.missing" count == 0 | missing value to apply filter
        jsonpath "$.count" split "," exists | invalid filter input type actual: integer expected: string
        body contains "{{unknown}}" | you must set the variable unknown
        body contains "{{list}}" | expression with value [1] can not be rendered
        bytes == file,missing; | file missing can not be read: not found
        bytes == file,../secret; | unauthorized access to file ../secret
        variable "unknown" not == {{unknown}} | you must set the variable unknown
        certificate "Issuer" exists | the query certificate is not supported
        body location exists | invalid filter input type actual: string expected: http response
        redirects nth 0 location exists | invalid filter input: out of bound - size is 0
    "#,
    );
    for [assert, expected] in cases {
        let failures = failures(&format!("GET x\nHTTP 200\n[Asserts]\n{assert}\n"), BODY);
        let failures = failures.expect_err(assert);
        assert_eq!(failures[0].reason, expected, "{assert}");
    }
}

#[test]
fn redirects_before_the_response_have_a_location_and_a_status() {
    let text = "GET http://host\nHTTP 200\n[Captures]\nall: redirects\nlast: redirects last location\none: redirects last\n[Asserts]\n\
                redirects count == 2\nredirects nth 0 location == \"http://host/a\"\n\
                variable \"last\" == \"http://host/b\"\nredirects nth 0 == {{last}}\nredirects first toString exists\nredirects first == {{one}}\n\
                variable \"all\" nth 1 location endsWith \"/b\"\nredirects location exists\n";
    let redirect = |location: &str, status| Redirect {
        location: location.into(),
        status,
    };
    let redirects = [
        redirect("http://host/a", 302),
        redirect("http://host/b", 307),
    ];
    let response = response(b"", HEADERS);
    let mut evaluation = Evaluation::new(&response);
    evaluation.redirects = &redirects;
    let failures = evaluated(text, &evaluation).expect_err("some asserts fail");
    let lines: Vec<String> = failures.iter().map(Failure::to_string).collect();
    let first = "http response <Response(location=http://host/a, status=302)>";
    let expected = [
        format!("11: Assert failure: actual: {first} expected: string <http://host/b>"),
        format!("12: Filter error: invalid filter input: {first} can not be converted to a string"),
        format!(
            "13: Assert failure: actual: {first} expected: http response <Response(location=http://host/b, status=307)>"
        ),
        "15: Filter error: invalid filter input type actual: list expected: http response".into(),
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_failure_has_its_place() {
    for [expected, body, place] in rows(
        r#"
        HTTP 200\n[Asserts]\njsonpath "$.count" >= 5 | {"count": 3} | 4:0 Assert failure: actual: integer <3> expected: greater or equal than integer <5>
        // A wrong status hides all else but a wrong version.
        HTTP/2 201\n[Asserts]\nstatus == 7 | "" | 2:1 Assert HTTP version: actual value is <HTTP/1.1>, 2:8 Assert status code: actual value is <200>
        // Bodies of lines are compared by line.
        HTTP 200\n```\na\nb\nc\n``` | a\nx\nc\n | 5:1 Assert body value: -b\n+x\n
    "#,
    ) {
        let failures = failures(&format!("GET http://host\n{expected}\n"), body);
        let failures = failures.expect_err(expected).into_iter().map(|failure| {
            let Position { line, column } = failure.position;
            format!("{line}:{column} {}: {}", failure.title, failure.reason)
        });
        assert_eq!(failures.collect::<Vec<_>>().join(", "), place);
    }
}

#[test]
fn fields_bodies_and_captures_are_evaluated() {
    for [expected, body, reason] in rows(
        r#"
        // A field is compared with one of its values.
        X-Many: b\nCONTENT-TYPE: application/json; charset=utf-8 | "" | ""
        X-Many: c\nNone: x | "" | 3: Assert header value: actual value is <["a", "b"]>\n4: Header not found: this header has not been found in the response
        `{{name}}` | Bob | ""
        {"a": "{{quote}}", "b": {{three}}} | {"a": "say \\"hi\\"\\n", "b": 3} | ""
        base64,Qm9i; | Bob | ""
        file,data.bin; | \x01\x02 | ""
        `Bob` | Eve | 3: Assert body value: actual value is <Eve>
        // A capture that finds nothing fails.
        [Captures]\na: jsonpath "$.missing" | {"count": 3} | 4: No query result: query didn't return any result
        [Captures]\na: body regex "z(z)z" | {"count": 3} | 4: Filter error: a filter didn't return any result
        [Captures]\na: jsonpath "$.count" redact | {"count": 3} | 4: Invalid secret type: secret must be string, actual value is <integer>
        [Captures]\na: jsonpath "$.a" | <html> | 4: Invalid JSON: HTTP response is not a valid JSON
    "#,
    ) {
        assert_eq!(faults(expected, body), reason, "{expected}");
    }
}

#[test]
fn captures_set_variables() {
    let text = "GET x\nHTTP *\n[Captures]\nid: jsonpath \"$.items[1].id\"\nboth: body regex \"(n)ame\" redact\n\
                {{name}}2: variable \"id\" toString\n";
    let variables = failures(text, BODY).expect("captures");
    for (name, value, is_secret) in [
        ("id", Value::integer(2), false),
        ("both", Value::Text("n".into()), true),
        ("Bob2", Value::Text("2".into()), false),
    ] {
        let variable = variables.get(name).expect(name);
        assert_eq!((&variable.value, variable.is_secret), (&value, is_secret));
    }
    assert_eq!(variables.secrets().collect::<Vec<_>>(), ["n"]);
}

#[test]
fn json_path_without_coercion_is_a_list() {
    let text = "GET x\nHTTP *\n[Asserts]\njsonpath \"$.name\" count == 1\njsonpath \"$.missing\" isEmpty\n";
    let response = response(BODY.as_bytes(), HEADERS);
    let mut evaluation = Evaluation::new(&response);
    evaluation.coerces_json_path = false;
    evaluated(text, &evaluation).expect("lists");
}

#[test]
fn texts_are_decoded_by_their_charset() {
    let text =
        "GET x\nHTTP *\n[Asserts]\nbody == \"été\"\nbytes charsetDecode \"latin1\" == \"été\"\n";
    let headers = &[("content-type", "text/plain; charset=iso-8859-1")];
    let latin = response(b"\xe9t\xe9", headers);
    evaluated(text, &Evaluation::new(&latin)).expect("Latin 1");
    let utf8 = response(b"\xe9t\xe9", &[]);
    let failures = evaluated(text, &Evaluation::new(&utf8)).expect_err("no UTF-8");
    let expected = "could not decode response body with charset 'UTF-8'";
    assert_eq!(failures[0].reason, expected);
}

#[test]
fn requests_are_rendered() {
    let file = parsed(
        "POST http://{{name}}/{{newUuid}}?t={{newDate}}\n[Options]\nskip: {{flag}}\nrepeat: {{three}}\n```graphql\n{ a }\n\
         variables { \"b\": {{three}} }\n```\n",
    );
    let request = &file.entries[0].request;
    let mut variables = variables();
    variables.set("flag", Value::Bool(true));
    let mut environment = Fixed;
    let mut scope = Scope::new(&variables, &mut environment);
    let expected = "http://Bob/ffffffff-ffff-4fff-bfff-ffffffffffff?t=1971-01-01T00:00:00.000000Z";
    assert_eq!(scope.text(&request.url).as_deref(), Ok(expected));
    let body = scope.body(request.body.as_ref().expect("a body"));
    let expected = r#"{"query":"{ a }","variables":{"b":3}}"#;
    assert_eq!(body.expect("a query"), expected.as_bytes());
    use crate::ast::{Count, OptionValue};
    assert_eq!(request.options.len(), 2);
    for option in &request.options {
        match &option.value {
            OptionValue::Flag(_, skip) => assert_eq!(scope.flag(skip), Ok(true)),
            OptionValue::Count(_, repeat) => assert_eq!(scope.count(repeat), Ok(Count::Finite(3))),
            _ => panic!("a flag and a count"),
        }
    }
}

fn rendered(text: &str) -> Result<Rendered, Failure> {
    let file = parsed(text);
    let variables = variables();
    Scope::new(&variables, &mut Fixed).request(&file.entries[0].request)
}

#[test]
fn sections_become_header_fields_the_query_and_the_body() {
    for [lines, expected] in rows(
        r#"
        // A cookie field replaces the section.
        COOKIE: own=1\n[Cookies]\na: b | http://Bob/?a=b\nCOOKIE: own=1\n\n
        Accept: x\n[Query]\nq: a b/{{name}}\nr: é\n[BasicAuth]\nbob: secret\n[Cookies]\na: 1\nb: {{three}} | http://Bob/?a=b&q=a%20b%2FBob&r=%C3%A9\nAccept: x\nauthorization: Basic Ym9iOnNlY3JldA==\ncookie: a=1; b=3\n\n
        [Form]\na: b c\nd: {{name}} | http://Bob/?a=b\ncontent-type: application/x-www-form-urlencoded\n\na=b%20c&d=Bob
        // Bodies have a content type unless the file gives one.
        {} | http://Bob/?a=b\ncontent-type: application/json\n\n{}
        Content-Type: a/b\n{} | http://Bob/?a=b\nContent-Type: a/b\n\n{}
        <a/> | http://Bob/?a=b\ncontent-type: application/xml\n\n<a/>
        `a` | http://Bob/?a=b\n\na
        [Form]\na: b\n<a/> | http://Bob/?a=b\ncontent-type: application/x-www-form-urlencoded\n\n<a/>
    "#,
    ) {
        let request = rendered(&format!("POST http://{{{{name}}}}/?a=b\n{lines}\n"));
        let request = request.expect("a request");
        let fields = request.headers.iter();
        let fields: String = fields
            .map(|(name, value)| format!("{name}: {value}\n"))
            .collect();
        let body = String::from_utf8_lossy(&request.body);
        assert_eq!(
            format!("{}\n{fields}\n{body}", request.url),
            expected,
            "{lines}"
        );
    }
}

#[test]
fn parts_are_between_boundaries() {
    let request =
        rendered("POST http://host\n[Multipart]\na: {{name}}\nb: file,folder/data.bin;\n")
            .expect("a request");
    let boundary = "-".repeat(24) + &"f".repeat(32);
    assert_eq!(
        request.headers[0].1,
        format!("multipart/form-data; boundary={boundary}")
    );
    let expected = format!(
        "--{boundary}\r\ncontent-disposition: form-data; name=\"a\"\r\n\r\nBob\r\n--{boundary}\r\n\
         content-disposition: form-data; name=\"b\"; filename=\"data.bin\"\r\n\
         content-type: application/octet-stream\r\n\r\n\u{1}\u{2}\r\n--{boundary}--\r\n"
    );
    assert_eq!(String::from_utf8_lossy(&request.body), expected);
}

#[test]
fn values_that_do_not_fit_are_refused() {
    for [text, expected] in rows(
        r#"
        GET {{name}}/a\n | 1: Invalid URL: invalid URL <Bob/a> (Missing scheme <http://> or <https://>)
        // A text is no value of JSON.
        POST http://host\n{"a": {{name}}}\n | 2: Invalid JSON: actual value is <Bob>
    "#,
    ) {
        let failure = rendered(text).expect_err(text);
        assert_eq!(failure.to_string(), expected);
    }
}

proptest! {
    #[test]
    fn any_body_is_evaluated(body in any::<Vec<u8>>(), header in any::<String>()) {
        let headers = [("set-cookie", header.as_str()), ("content-type", header.as_str())];
        let response = response(&body, &headers);
        let text = "GET x\nHTTP *\n[Asserts]\nbody isIsoDate\ncookie \"a[Expires]\" exists\njsonpath \"$..a\" isEmpty\n\
             bytes utf8Decode split \",\" nth 1 toInt > 1\nheader \"set-cookie\" toDate \"%Y\" exists\n\
             header \"set-cookie\" urlQueryParam \"a\" exists\nheader \"set-cookie\" base64Decode exists\n`x`";
        let _ = evaluated(text, &Evaluation::new(&response));
    }

    #[test]
    fn any_date_format_is_a_text_or_an_error(format in any::<String>()) {
        let date = chrono::DateTime::<chrono::Utc>::UNIX_EPOCH;
        if let Some(text) = date::formatted(date, &format) {
            date::parsed(&text, &format);
        }
    }
}
