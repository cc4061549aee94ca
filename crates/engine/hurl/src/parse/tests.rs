//! What the parser accepts and refuses, as Hurl does.

use prony_testkit::table::rows;
use proptest::prelude::*;

use super::parse;
use crate::ast::*;

fn parsed(text: &str) -> HurlFile {
    parse(text).unwrap_or_else(|error| panic!("{}", error.render("test.hurl", text)))
}

/// The place and the reason for which a text is refused.
fn refusal(text: &str) -> String {
    parse(text).expect_err("the text is refused").to_string()
}

fn literal(template: &Template) -> &str {
    template.literal().expect("no placeholder")
}

#[test]
fn an_empty_file_has_no_entries() {
    assert!(parsed("").entries.is_empty());
    assert!(parsed("\u{feff}# only a comment\n \t\n").entries.is_empty());
}

#[test]
fn a_request_has_all_its_sections() {
    let file = parsed(
        "# comment\nPOST http://host/a?b={{c}} # comment\nAccept: */*\nX-A\\:b: 1 \\# 2\n[Query]\nq: 1\n[Form]\nf: {{v}}\n\
         [Multipart]\nm: file,a\\ b.txt; text/plain\nn: value\n[Cookies]\nc: d\n[BasicAuth]\nbob: secret\n[Options]\n\
         retry: -1\ndelay: 3s\nskip: {{skip}}\nvariable: n=11aa\n`body {{x}}`\n",
    );
    let request = &file.entries[0].request;
    let field = &request.headers[1];
    let user = request.basic_auth.as_ref().expect("a user");
    let [MultipartParam::File(part), MultipartParam::Value(_)] = request.multipart.as_slice()
    else {
        panic!("a file and a value")
    };
    let content_type = part.content_type.as_ref().map(literal);
    assert_eq!(
        (
            request.method.as_str(),
            literal(&field.key),
            literal(&field.value),
            literal(&user.key)
        ),
        ("POST", "X-A:b", "1 # 2", "bob")
    );
    assert_eq!(
        (literal(&part.file), content_type),
        ("a b.txt", Some("text/plain"))
    );
    let placeholders = request.url.placeholders().count();
    let counts = [
        placeholders,
        request.query.len(),
        request.form.len(),
        request.cookies.len(),
    ];
    assert_eq!((counts, request.headers.len()), ([1; 4], 2));
    let options: Vec<_> = request.options.iter().map(|option| &option.value).collect();
    assert!(matches!(
        options[..],
        [
            OptionValue::Count(CountOption::Retry, Setting::Literal(Count::Infinite)),
            _,
            OptionValue::Flag(FlagOption::Skip, Setting::Placeholder(_)),
            OptionValue::Variable(VariableDefinition { value: VariableValue::Text(text), .. }),
        ] if literal(text) == "11aa"
    ));
    let body = request.body.as_ref().map(|body| &body.value);
    assert!(matches!(body, Some(BodyValue::Oneline(_))));
}

#[test]
fn a_response_has_captures_asserts_and_a_body() {
    let file = parsed(
        "GET http://host\nHTTP/2 200\nA: b\n[Captures]\nid: jsonpath \"$.id\" toInt redact\n[Asserts]\n\
         header \"Location\" not contains \"x\"\ncookie \"a[Max-Age]\" >= 3.5\nbody matches /a\\/b/\n{\"a\": {{b}}}",
    );
    let response = file.entries[0].response.as_ref().expect("a response");
    assert_eq!(response.version, Some(HttpVersion::Http2));
    assert_eq!(response.status.value, StatusValue::Exactly(200));
    let capture = &response.captures[0];
    assert!(
        capture.is_redacted
            && matches!(
                capture.filters[0].value,
                FilterValue::Plain(PlainFilter::ToInt)
            )
    );
    let [location, cookie, matches] = &response.asserts[..] else {
        panic!("three asserts")
    };
    assert!(location.predicate.is_negated);
    assert!(matches!(&cookie.query.value, QueryValue::Cookie(path)
        if path.attribute == CookieAttribute::MaxAge));
    assert!(
        matches!(&matches.predicate.test, Test::Matches(RegexValue::Literal(regex))
        if regex.as_str() == "a/b")
    );
    let body = response.body.as_ref().map(|body| &body.value);
    assert!(matches!(body, Some(BodyValue::Json(_))));
}

#[test]
fn multiline_texts_have_hints() {
    let body = |text: &str| match parsed(&format!("POST x\n{text}\n"))
        .entries
        .remove(0)
        .request
        .body
        .map(|body| body.value)
    {
        Some(BodyValue::Multiline(multiline)) => multiline,
        _ => panic!("a multiline text"),
    };
    assert!(matches!(body("```\na\\n\n```"), Multiline::Text(text) if literal(&text) == "a\\n\n"));
    assert!(matches!(body("```raw\n{{a}}```"), Multiline::Raw(text) if text == "{{a}}"));
    assert!(matches!(body("```json\n{}\n```"), Multiline::Json(_)));
    assert!(matches!(body("```xml\n<a>\n```"), Multiline::Xml(_)));
    let graphql = body("```graphql\n{ a }\nvariables {\"b\": 1}\n```");
    assert!(
        matches!(graphql, Multiline::GraphQl { query, variables: Some(_) } if literal(&query) == "{ a }\n")
    );
}

#[test]
fn placeholders_are_variables_and_functions() {
    let file = parsed("GET http://{{host}}/{{ newUuid }}/{x}/\\u{7b}{{newDate}}\n");
    let url = &file.entries[0].request.url;
    let expressions: Vec<_> = url.placeholders().map(|it| &it.expression).collect();
    let host = Expression::Variable("host".into());
    assert_eq!(
        expressions,
        [&host, &Expression::NewUuid, &Expression::NewDate]
    );
    assert!(matches!(&url.elements[4], TemplateElement::Text(text) if text == "/{x}/{"));
}

#[test]
fn errors_are_where_those_of_hurl_are() {
    let cases = rows(
        r#"
        get http://x | 1:1: the HTTP method <get> is not valid. Did you mean GET?
        GET | 1:4: expecting a space
        GET x\n[Bad]\n | 2:2: the section is not valid. Valid values are Query, Form, Multipart, Cookies, Options
        GET x\n[Form]\n[Form]\n | 3:1: the section is already defined
        GET x\nHTTP/1.2 200 | 2:1: HTTP version must be HTTP, HTTP/1.0, HTTP/1.1, HTTP/2 or HTTP/3
        GET x\nHTTP abc | 2:6: HTTP status code is not valid
        GET {{a | 1:8: expecting '}}'
        GET {{}} | 1:7: expecting a variable
        POST x\n```yaml\n``` | 2:4: invalid language hint yaml
        GET x\n{"a": 1,} | 2:8: trailing comma is not allowed
        GET x\n[Options]\nretry: x | 3:8: expecting 'integer >= -1'
        GET x\n[Options]\ndelay: 3d | 3:9: expecting 'ms', 's', 'm' or 'h'
        GET x\n[Options]\nretrys: 3 | 3:1: the option name is not valid. Did you mean retry?
        GET x\n[Options]\nvariable: newUuid=1 | 3:11: conflicts with the newUuid function, use a different name
        GET x\nHTTP 200\n[Asserts]\nstatus ==\u{20} | 4:11: invalid predicate value
        GET x\nHTTP 200\n[Asserts]\nbody matches /x{a}/ | 4:15: invalid regex: repetition quantifier expects a valid decimal
        GET x\nhex,0; | 2:6: expecting an even number of hex digits
        GET a\\x | 1:7: the escaping sequence is not valid
        GET \\u{110000} | 1:14: invalid unicode literal
        GET \\u{fffffffffffffffff} | 1:25: invalid unicode literal
    "#,
    );
    for [text, expected] in cases {
        assert_eq!(refusal(text), expected, "{text}");
    }
}

#[test]
fn a_file_that_is_too_long_is_refused() {
    let most = crate::MAX_FILE_BYTES;
    let expected = format!("1:1: the file is longer than {most} bytes");
    assert_eq!(refusal(&"#".repeat(most + 1)), expected);
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in any::<String>()) {
        if let Err(error) = parse(&text) {
            error.render("test.hurl", &text);
        }
    }

    #[test]
    fn a_broken_file_is_parsed_or_refused(
        text in "(GET http://x\n|HTTP 200\n|\\[(Asserts|Captures|Options|Form)\\]\n|[a-z]{1,3}: |status|jsonpath \"\\$\"|\
                 \\{\\{|\\}\\}|==|\"|`|```|\n| |\\\\|<a>|</a>|\\[|\\{|hex,|file,|/|;|1){0,40}",
    ) {
        if let Err(error) = parse(&text) {
            error.render("test.hurl", &text);
        }
    }
}
