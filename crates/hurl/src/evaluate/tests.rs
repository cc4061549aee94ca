//! What files mean for responses, as Hurl sees them.

use prony_testkit::table::rows;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;

use super::*;
use crate::ast::HurlFile;

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
            "data.bin" => Ok(vec![1, 2]),
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

/// What is wrong with the response to the only request of a file.
fn failures(text: &str, body: &str) -> Result<Variables, Vec<Failure>> {
    let file = parsed(text);
    let expected = file.entries[0].response.as_ref().expect("a response");
    let mut variables = variables();
    let response = response(body.as_bytes(), HEADERS);
    Evaluation::new(&response)
        .entry(expected, &mut variables, &mut Fixed)
        .map(|()| variables)
}

fn assert_result(assert: &str) -> Result<Variables, Vec<Failure>> {
    failures(
        &format!("GET http://host\nHTTP 200\n[Asserts]\n{assert}\n"),
        BODY,
    )
}

/// The last lines of the message of a failed assert.
fn message(assert: &str) -> String {
    let failures = assert_result(assert).expect_err("the assert fails");
    failures[0].kind.reason()
}

#[test]
fn asserts_pass() {
    let asserts = [
        "status == 200",
        "version == \"1.1\"",
        "url endsWith \"q=1\"",
        "url urlQueryParam \"q\" == \"1\"",
        "header \"content-type\" contains \"json\"",
        "header \"X-Many\" count == 2",
        "header \"X-Many\" nth -1 == \"b\"",
        "header \"Nothing\" not exists",
        "cookie \"id\" == \"42\"",
        "cookie \"id[Path]\" == \"/shop\"",
        "cookie \"id[Max-Age]\" == 60",
        "cookie \"id[Secure]\" exists",
        "cookie \"id[HttpOnly]\" not exists",
        "cookie \"id[Expires]\" dateFormat \"%Y\" == \"2021\"",
        "cookie \"id[Expires]\" daysAfterNow == 18275",
        "body contains \"{{name}}\"",
        "bytes count > 100",
        "rawbytes startsWith hex,7b;",
        "sha256 != hex,00;",
        "jsonpath \"$.name\" == \"Bob\"",
        "jsonpath \"$.name\" matches /^B.b$/",
        "jsonpath \"$.count\" == {{three}}",
        "jsonpath \"$.count\" == 3.0",
        "jsonpath \"$.big\" > 9223372036854775807",
        "jsonpath \"$.big\" isInteger",
        "jsonpath \"$.ratio\" isFloat",
        "jsonpath \"$.none\" == null",
        "jsonpath \"$.ok\" == true",
        "jsonpath \"$.tags\" includes \"b\"",
        "jsonpath \"$.tags\" contains \"c\"",
        "jsonpath \"$.tags\" count == 3",
        "jsonpath \"$.empty\" isEmpty",
        "jsonpath \"$.missing\" not exists",
        "jsonpath \"$.items[?(@.price > 10)].id\" == 2",
        "jsonpath \"$..id\" count == 2",
        "jsonpath \"$.items[0]\" isObject",
        "jsonpath \"$.inner\" jsonpath \"$.x\" == 1",
        "regex /\"name\": \"(\\w+)\"/ == \"Bob\"",
        "variable \"name\" == \"Bob\"",
        "duration == 12",
        "ip isIpv4",
        "redirects count == 0",
        "redirects isEmpty",
        "jsonpath \"$.name\" utf8Encode base64Encode base64Decode toHex == \"426f62\"",
        "jsonpath \"$.name\" utf8Encode base64Encode == \"Qm9i\"",
        "jsonpath \"$.name\" replaceRegex /(o)/ \"<$1>\" htmlEscape == \"B&lt;o&gt;b\"",
        "jsonpath \"$.name\" replace \"o\" \"&eacute;\" htmlUnescape == \"Béb\"",
        "jsonpath \"$.name\" split \"o\" last == \"b\"",
        "jsonpath \"$.name\" urlEncode == \"Bob\"",
        "jsonpath \"$.count\" toString toInt toFloat == 3.0",
        "jsonpath \"$.name\" startsWith \"B\"",
    ];
    for assert in asserts {
        let result = assert_result(assert);
        assert!(result.is_ok(), "{assert}: {:?}", result.err());
    }
}

#[test]
fn failures_say_what_was_expected() {
    let cases = rows(
        r#"
        jsonpath "$.count" == 5 | \u{20}  actual:   integer <3>\n   expected: integer <5>
        jsonpath "$.count" not == 3 | \u{20}  actual:   integer <3>\n   expected: not integer <3>
        jsonpath "$.count" != 3 | \u{20}  actual:   integer <3>\n   expected: not integer <3>
        jsonpath "$.missing" > 3 | \u{20}  actual:   none\n   expected: greater than <integer <3>>
        jsonpath "$.name" > 3 | \u{20}  actual:   string <Bob>\n   expected: greater than integer <3>\n   >>> types between actual and expected are not consistent
        jsonpath "$.tags" == "a" | \u{20}  actual:   list <[a,b,c]>\n   expected: string <a>
        jsonpath "$.tags" isEmpty | \u{20}  actual:   count equals to 3\n   expected: count equals to 0
        jsonpath "$.name" isUuid | \u{20}  actual:   Bob\n   expected: string in UUID format
        jsonpath "$.name" matches "x" | \u{20}  actual:   string <Bob>\n   expected: matches regex <x>
        jsonpath "$.name" matches "(" | regex expression is not valid
        jsonpath "$[" exists | JSONPath expression '$[' is not valid
        jsonpath "$.tags" nth 7 exists | invalid filter input: out of bound - size is 3
        jsonpath "$.empty" first exists | invalid filter input: list is empty
        jsonpath "$.missing" count == 0 | missing value to apply filter
        jsonpath "$.count" split "," exists | invalid filter input type\n   actual:   integer\n   expected: string
        body contains "{{unknown}}" | you must set the variable unknown
        body contains "{{list}}" | expression with value [1] can not be rendered
        bytes == file,missing; | file missing can not be read: not found
        bytes == file,../secret; | unauthorized access to file ../secret
        variable "unknown" not == {{unknown}} | you must set the variable unknown
        certificate "Issuer" exists | the query certificate is not supported
        body location exists | invalid filter input type\n   actual:   string\n   expected: http response
        redirects nth 0 location exists | invalid filter input: out of bound - size is 0
    "#,
    );
    for [assert, expected] in cases {
        assert_eq!(message(assert), expected, "{assert}");
    }
}

#[test]
fn redirects_before_the_response_have_a_location_and_a_status() {
    let text = "GET http://host\nHTTP 200\n[Captures]\nall: redirects\nlast: redirects last location\none: redirects last\n[Asserts]\n\
                redirects count == 2\nredirects nth 0 location == \"http://host/a\"\n\
                variable \"last\" == \"http://host/b\"\nredirects nth 0 == {{last}}\nredirects first toString exists\nredirects first == {{one}}\n\
                variable \"all\" nth 1 location endsWith \"/b\"\nredirects location exists\n";
    let file = parsed(text);
    let expected = file.entries[0].response.as_ref().expect("a response");
    let redirect = |location: &str, status| Redirect {
        location: location.into(),
        status,
    };
    let redirects = [
        redirect("http://host/a", 302),
        redirect("http://host/b", 307),
    ];
    let response = response(b"", HEADERS);
    let failures = Evaluation::new(&response)
        .after_redirects(&redirects)
        .entry(expected, &mut variables(), &mut Fixed)
        .expect_err("some asserts fail");
    let lines: Vec<String> = failures.iter().map(Failure::to_string).collect();
    let first = "http response <Response(location=http://host/a, status=302)>";
    assert_eq!(
        lines,
        [
            format!("11: Assert failure: actual:   {first}\n   expected: string <http://host/b>"),
            format!("12: Filter error: invalid filter input: {first} can not be converted to a string"),
            format!("13: Assert failure: actual:   {first}\n   expected: http response <Response(location=http://host/b, status=307)>"),
            "15: Filter error: invalid filter input type\n   actual:   list\n   expected: http response".into(),
        ]
    );
}

#[test]
fn a_failed_assert_is_shown_with_its_entry() {
    let text = "# comment\nGET http://host\nHTTP 200\n[Asserts]\njsonpath \"$.count\" >= 5\n";
    let failures = failures(text, BODY).expect_err("the assert fails");
    let entry = parsed(text).entries[0].request.position;
    let expected = "\
Assert failure
  --> test.hurl:5:0
   |
   | GET http://host
   | ...
 5 | jsonpath \"$.count\" >= 5
   |   actual:   integer <3>
   |   expected: greater or equal than integer <5>
   |";
    assert_eq!(failures[0].render("test.hurl", text, entry), expected);
}

#[test]
fn a_wrong_status_hides_all_else() {
    let text = "GET http://host\nHTTP/2 201\n[Asserts]\nstatus == 7\n";
    let failures = failures(text, BODY).expect_err("the status is wrong");
    let reasons: Vec<String> = failures
        .iter()
        .map(|failure| failure.kind.reason())
        .collect();
    assert_eq!(
        reasons,
        ["actual value is <HTTP/1.1>", "actual value is <200>"]
    );
    let expected = "\
Assert status code
  --> test.hurl:2:8
   |
   | GET http://host
 2 | HTTP/2 201
   |        ^^^ actual value is <200>
   |";
    assert_eq!(
        failures[1].render("test.hurl", text, parsed(text).entries[0].request.position),
        expected
    );
}

#[test]
fn header_fields_are_compared_with_one_of_their_values() {
    assert!(
        failures(
            "GET x\nHTTP *\nX-Many: b\nCONTENT-TYPE: application/json; charset=utf-8",
            ""
        )
        .is_ok()
    );
    let failures =
        failures("GET x\nHTTP *\nX-Many: c\nNone: x", "").expect_err("two fields are wrong");
    assert_eq!(
        failures[0].kind,
        FailureKind::HeaderValue {
            actual: "[\"a\", \"b\"]".into()
        }
    );
    assert_eq!(failures[1].kind, FailureKind::HeaderMissing);
}

#[test]
fn bodies_are_compared() {
    let body = |expected: &str, actual: &str| {
        failures(&format!("GET x\nHTTP *\n{expected}\n"), actual).map(|_| ())
    };
    assert_eq!(body("`{{name}}`", "Bob"), Ok(()));
    assert_eq!(
        body(
            "{\"a\": \"{{quote}}\", \"b\": {{three}}}",
            "{\"a\": \"say \\\"hi\\\"\\n\", \"b\": 3}"
        ),
        Ok(())
    );
    assert_eq!(body("base64,Qm9i;", "Bob"), Ok(()));
    assert_eq!(body("file,data.bin;", "\u{1}\u{2}"), Ok(()));
    let failures = body("`Bob`", "Eve").expect_err("another name");
    assert_eq!(
        failures[0].kind,
        FailureKind::Body {
            actual: "Eve".into()
        }
    );
}

#[test]
fn bodies_of_lines_are_compared_by_line() {
    let text = "GET http://host\nHTTP 200\n```\na\nb\nc\n```\n";
    let failures = failures(text, "a\nx\nc\n").expect_err("a line differs");
    let expected = "\
Assert body value
  --> test.hurl:5:1
   |
   | GET http://host
   | ...
 5 | b
   |   -b
   |   +x
   |";
    assert_eq!(
        failures[0].render("test.hurl", text, parsed(text).entries[0].request.position),
        expected
    );
}

#[test]
fn captures_set_variables() {
    let text = "GET x\nHTTP *\n[Captures]\nid: jsonpath \"$.items[1].id\"\nboth: body regex \"(n)ame\" redact\n\
                {{name}}2: variable \"id\" toString\n";
    let variables = failures(text, BODY).expect("captures");
    let value = |name: &str| {
        variables
            .get(name)
            .map(|variable| (variable.value.clone(), variable.is_secret))
    };
    assert_eq!(value("id"), Some((Value::integer(2), false)));
    assert_eq!(value("both"), Some((Value::Text("n".into()), true)));
    assert_eq!(value("Bob2"), Some((Value::Text("2".into()), false)));
    assert_eq!(variables.secrets().collect::<Vec<_>>(), ["n"]);
}

#[test]
fn a_capture_that_finds_nothing_fails() {
    let cases = [
        ("a: jsonpath \"$.missing\"", FailureKind::QueryWithoutResult),
        ("a: body regex \"z(z)z\"", FailureKind::FilterWithoutResult),
        (
            "a: jsonpath \"$.count\" redact",
            FailureKind::SecretNotText { actual: "integer" },
        ),
    ];
    for (capture, expected) in cases {
        let failures = failures(&format!("GET x\nHTTP *\n[Captures]\n{capture}\n"), BODY)
            .expect_err("no value");
        assert_eq!(
            failures
                .iter()
                .map(|failure| &failure.kind)
                .collect::<Vec<_>>(),
            [&expected]
        );
    }
    let failures = failures("GET x\nHTTP *\n[Captures]\na: jsonpath \"$.a\"\n", "<html>")
        .expect_err("no JSON");
    assert_eq!(failures[0].kind, FailureKind::ResponseNotJson);
}

#[test]
fn json_path_without_coercion_is_a_list() {
    let text = "GET x\nHTTP *\n[Asserts]\njsonpath \"$.name\" count == 1\njsonpath \"$.missing\" isEmpty\n";
    let file = parsed(text);
    let response = response(BODY.as_bytes(), HEADERS);
    let expected = file.entries[0].response.as_ref().expect("a response");
    let evaluation = Evaluation::new(&response).without_json_path_coercion();
    assert!(
        evaluation
            .entry(expected, &mut Variables::default(), &mut Fixed)
            .is_ok()
    );
}

#[test]
fn texts_are_decoded_by_their_charset() {
    let headers = &[("content-type", "text/plain; charset=iso-8859-1")];
    let latin = response(b"\xe9t\xe9", headers);
    let file = parsed(
        "GET x\nHTTP *\n[Asserts]\nbody == \"été\"\nbytes charsetDecode \"latin1\" == \"été\"\n",
    );
    let expected = file.entries[0].response.as_ref().expect("a response");
    assert!(
        Evaluation::new(&latin)
            .entry(expected, &mut Variables::default(), &mut Fixed)
            .is_ok()
    );
    let utf8 = response(b"\xe9t\xe9", &[]);
    let failures = Evaluation::new(&utf8)
        .entry(expected, &mut Variables::default(), &mut Fixed)
        .expect_err("no UTF-8");
    assert_eq!(
        failures[0].kind,
        FailureKind::Decoding {
            charset: "UTF-8".into()
        }
    );
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
    let body = scope
        .body(request.body.as_ref().expect("a body"))
        .expect("a query");
    assert_eq!(
        String::from_utf8_lossy(&body),
        r#"{"query":"{ a }","variables":{"b":3}}"#
    );
    use crate::ast::{Count, OptionValue};
    let [skip, repeat] = request.options.as_slice() else {
        panic!("two options")
    };
    assert!(
        matches!(&skip.value, OptionValue::Flag(_, setting) if scope.flag(setting) == Ok(true))
    );
    assert!(
        matches!(&repeat.value, OptionValue::Count(_, setting) if scope.count(setting) == Ok(Count::Finite(3)))
    );
}

fn rendered(text: &str) -> Result<Rendered, Failure> {
    let file = parsed(text);
    let variables = variables();
    Scope::new(&variables, &mut Fixed).request(&file.entries[0].request)
}

#[test]
fn a_cookie_field_replaces_the_section() {
    let request = rendered("GET http://h/\nCOOKIE: own=1\n[Cookies]\na: b\n").expect("a request");
    assert_eq!(request.headers, [("COOKIE".to_owned(), "own=1".to_owned())]);
}

#[test]
fn sections_become_header_fields_and_the_query() {
    let request = rendered(
        "GET http://{{name}}/?a=b\nAccept: x\n[Query]\nq: a b/{{name}}\nr: é\n[BasicAuth]\nbob: secret\n[Cookies]\na: 1\nb: {{three}}\n",
    )
    .expect("a request");
    assert_eq!(request.url, "http://Bob/?a=b&q=a%20b%2FBob&r=%C3%A9");
    let expected = [
        ("Accept", "x"),
        ("authorization", "Basic Ym9iOnNlY3JldA=="),
        ("cookie", "a=1; b=3"),
    ];
    assert_eq!(
        request.headers,
        expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    assert!(request.body.is_empty());
}

#[test]
fn bodies_have_a_content_type_unless_the_file_gives_one() {
    let content_type = |text: &str| {
        let mut headers = rendered(&format!("POST http://host\n{text}\n"))
            .expect("a request")
            .headers;
        headers.pop().map(|(_, value)| value)
    };
    assert_eq!(content_type("{}").as_deref(), Some("application/json"));
    assert_eq!(
        content_type("Content-Type: a/b\n{}").as_deref(),
        Some("a/b")
    );
    assert_eq!(content_type("<a/>").as_deref(), Some("application/xml"));
    assert_eq!(content_type("`a`"), None);
    assert_eq!(
        content_type("[Form]\na: b\n<a/>").as_deref(),
        Some("application/x-www-form-urlencoded")
    );
    let form = rendered("POST http://host\n[Form]\na: b c\nd: {{name}}\n").expect("a request");
    assert_eq!(String::from_utf8_lossy(&form.body), "a=b%20c&d=Bob");
    assert_eq!(form.headers[0].1, "application/x-www-form-urlencoded");
}

#[test]
fn parts_are_between_boundaries() {
    let request = rendered("POST http://host\n[Multipart]\na: {{name}}\nb: file,data.bin;\n")
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
fn a_url_needs_a_scheme_of_http() {
    let failure = rendered("GET {{name}}/a\n").expect_err("no scheme");
    let message = "Missing scheme <http://> or <https://>";
    assert_eq!(
        failure.kind,
        FailureKind::InvalidUrl {
            url: "Bob/a".into(),
            message
        }
    );
}

#[test]
fn a_text_is_no_value_of_json() {
    let file = parsed("POST http://host\n{\"a\": {{name}}}\n");
    let variables = variables();
    let mut environment = Fixed;
    let body = file.entries[0].request.body.as_ref().expect("a body");
    let failure = Scope::new(&variables, &mut environment)
        .body(body)
        .expect_err("no value of JSON");
    assert_eq!(
        failure.kind,
        FailureKind::InvalidJson {
            value: "Bob".into()
        }
    );
}

#[test]
fn long_numbers_compare_by_size() {
    let big = |digits: &str| Number::BigInteger(digits.into());
    assert!(
        big("100000000000000000000")
            .compare(&big("99999999999999999999"))
            .is_gt()
    );
    assert!(
        big("-100000000000000000000")
            .compare(&big("-99999999999999999999"))
            .is_lt()
    );
    assert!(
        Number::Integer(1)
            .compare(&big("99999999999999999999"))
            .is_lt()
    );
}

proptest! {
    #[test]
    fn any_body_is_evaluated(body in any::<Vec<u8>>(), header in any::<String>()) {
        let headers = [("set-cookie", header.as_str()), ("content-type", header.as_str())];
        let response = response(&body, &headers);
        let file = parsed(
            "GET x\nHTTP *\n[Asserts]\nbody isIsoDate\ncookie \"a[Expires]\" exists\njsonpath \"$..a\" isEmpty\n\
             bytes utf8Decode split \",\" nth 1 toInt > 1\nheader \"set-cookie\" toDate \"%Y\" exists\n\
             header \"set-cookie\" urlQueryParam \"a\" exists\nheader \"set-cookie\" base64Decode exists\n`x`",
        );
        let expected = file.entries[0].response.as_ref().expect("a response");
        let result = Evaluation::new(&response).entry(expected, &mut Variables::default(), &mut Fixed);
        for failure in result.err().into_iter().flatten() {
            failure.render("test.hurl", "", crate::Position::START);
        }
    }

    #[test]
    fn any_date_format_is_a_text_or_an_error(format in any::<String>()) {
        let date = chrono::DateTime::<chrono::Utc>::UNIX_EPOCH;
        if let Some(text) = date::formatted(date, &format) {
            date::parsed(&text, &format);
        }
    }
}
