//! Files that are not run, and flows that cannot go on.

use prony_testkit::contains;
use prony_testkit::table::rows;
use prony_traffic::{MOST_ENTRIES, Sources};

use crate::users::{
    Client, Given, client, client_with, in_folder, refusal, scenario, scenario_of, scenario_with,
    sources,
};

fn refused(text: &str) -> String {
    refusal(text, Sources::default())
}

#[test]
fn faults_of_the_notation_and_what_is_not_supported_are_shown_at_once() {
    let reason = refused("GET http://a/\nHTTP 200\n[Asserts]\nbody equals \"x\"\n");
    for part in ["--> test.hurl:4:", "body equals \"x\"", "^"] {
        contains(&reason, part);
    }
    let reason = refused("GET http://a/\n[Options]\nipv6: true\nproxy: b:1\n");
    for part in ["ipv6", "proxy", "test.hurl:3:", "test.hurl:4:"] {
        contains(&reason, part);
    }
}

#[test]
fn a_file_is_refused_with_the_place_of_its_fault() {
    for [text, expected] in rows(
        r#"
        "" | test.hurl has no entries
        # only a comment\n | test.hurl has no entries
        GET http://a/\n[Options]\nskip: true\nGET http://a/\n[Options]\nrepeat: 0\n | test.hurl: every entry is skipped
        // A load needs one server, which is known before it.
        GET http://a/\nGET http://b/\n | test.hurl:2:5: http://b/ is on another server than http://a/; a load needs one server
        GET http://a/\nGET http://a:81/\n | test.hurl:2:5: http://a:81/ is on another server than http://a/; a load needs one server
        GET http://a/\nGET https://a/\n | test.hurl:2:5: https://a/ is on another server than http://a/; a load needs one server
        GET http://a/\nGET http://{{other}}/\n | test.hurl:2:5: http://b/ is on another server than http://a/; a load needs one server
        GET http://a{{n}}/x\n | test.hurl:1:5: the server must be known before the load, but `http://a{{n}}/x` takes it from a value that differs between flows
        GET {{base}}/\n[Options]\nvariable: base=http://a{{n}}\n | test.hurl:1:5: the server must be known before the load, but `{{base}}/` takes it from a value that differs between flows
        GET {{base}}/\n[Options]\nvariable: base=http://{{newUuid}}\n | test.hurl:1:5: the server must be known before the load, but `{{base}}/` takes it from a value that differs between flows
        GET {{base}}/\n[Options]\nvariable: base=http://a\nvariable: base={{n}}\n | test.hurl:1:5: the server must be known before the load, but `{{base}}/` takes it from a value that differs between flows
        GET nonsense\n | test.hurl:1:5: `nonsense` has no scheme; did you mean `http://nonsense`?
        GET //a/b\n | test.hurl:1:5: `//a/b` has no scheme; did you mean `http://a/b`?
        GET "http://a"\n | test.hurl:1:5: `"http` is not supported: Prony loads http:// and https:// URLs
        GET ftp://a/\n | test.hurl:1:5: `ftp` is not supported: Prony loads http:// and https:// URLs
        // The framing of a body is Prony's.
        POST http://a/\nContent-Length: 5\n`abc`\n | test.hurl:1:1: header `Content-Length` frames the body: Prony sets it itself, so leave it out
        POST http://a/\nTransfer-Encoding: chunked\n`abc`\n | test.hurl:1:1: header `Transfer-Encoding` frames the body: Prony sets it itself, so leave it out
        // Without a folder no file may be named.
        POST http://a/\nfile,none.bin;\n | test.hurl:2:6: Unauthorized file access: unauthorized access to file none.bin
        // A variable must be set before it is used.
        GET http://a/{{v}}\nHTTP 200\n[Captures]\nv: body\n | test.hurl:1:16: the variable `v` is not defined; give it with --variable v=VALUE
        GET http://a/\nHTTP 200\n[Captures]\nw: body split "{{v}}" nth 0\nv: body\n | test.hurl:4:18: the variable `v` is not defined; give it with --variable v=VALUE
        // A user has one connection.
        GET https://a/\n[Options]\ninsecure: {{n}}\n | test.hurl:3:1: `insecure` is about connections, so it must be true or false before the load
        GET http://a/\nGET http://a/\n[Options]\ninsecure: true\n | test.hurl: `insecure` must be the same in every entry, because a user has one connection
        GET http://a/\nGET http://a/\n[Options]\nhttp1.1: true\n | test.hurl: `http1.1` must be the same in every entry, because a user has one connection
        GET http://a/\nGET http://a/\n[Options]\nhttp2: true\n | test.hurl: `http2` must be the same in every entry, because a user has one connection
    "#,
    ) {
        let mut sources = sources(|it| it.add_counter("n", 1));
        sources.set("other", "b").unwrap();
        assert_eq!(refusal(text, sources), expected, "{text}");
    }
    scenario("GET http://a/\nGET http://a:80/x\nGET http://A\n");
}

#[test]
fn a_server_that_only_a_flow_knows_is_checked_there() {
    let text = "GET http://a/\nHTTP 200\n[Captures]\nnext: body\nGET {{next}}\n";
    client(text).talk(&[
        "GET / | 200 + body: http://a/x",
        "GET /x",
        "begin",
        "GET / | 200 + body: http://b/x",
        "fail: test.hurl:5:1: http://b/x is on another server than http://a; a load needs one server",
        "begin",
        "GET / | 200 + body: no url",
        "fail: test.hurl:5:5: Invalid URL: invalid URL <no url> (Missing scheme <http://> or <https://>)",
    ]);
}

#[test]
fn an_option_may_name_the_server() {
    for options in [
        "variable: base=http://a:81",
        "variable: host=a\nvariable: base=http://{{host}}:81",
        "variable: port=81\nvariable: base=http://{{name}}:{{port}}",
    ] {
        let text = format!("GET {{{{base}}}}/x\n[Options]\n{options}\n\nGET {{{{base}}}}/y\n");
        let scenario = scenario_with(&text, &[("name", "a")]);
        assert_eq!(scenario.server().as_str(), "http://a:81/", "{options}");
        Client::new(scenario).talk(&["GET /x | 200", "GET /y"]);
    }
}

#[test]
fn an_option_names_no_server_if_a_capture_may_change_it() {
    let other = "GET http://a\n[Options]\nvariable: base=http://b\nHTTP 200\n[Captures]\n";
    for capture in ["base", "{{name}}"] {
        let text = format!("{other}{capture}: body\n\nGET {{{{base}}}}/\n");
        client_with(&text, &[("name", "base")]).talk(&["GET / | 200 + body: http://a", "GET /"]);
    }
}

/// That a file is refused because it has no `v`, at this place.
#[track_caller]
fn assert_undefined(text: &str, place: &str) {
    let expected = "the variable `v` is not defined; give it with --variable v=VALUE";
    assert_eq!(
        refused(text),
        format!("test.hurl:{place}: {expected}"),
        "{text}"
    );
}

#[test]
fn a_variable_without_a_value_has_its_place() {
    for [lines, place] in rows(
        r#"
        X: {{v}} | 2:6
        {{v}}: 1 | 2:3
        [Query]\nx: {{v}} | 3:6
        [Form]\nx: {{v}} | 3:6
        [Multipart]\nx: {{v}} | 3:6
        [Multipart]\nx: file,{{v}}; | 3:11
        [Cookies]\nx: {{v}} | 3:6
        [BasicAuth]\nx: {{v}} | 3:6
        [Options]\nuser: {{v}} | 3:9
        [Options]\nuser: a:{{v}} | 3:11
        [Options]\nskip: {{v}} | 3:9
        [Options]\nrepeat: {{v}} | 3:11
        [Options]\ndelay: {{v}} | 3:10
        {"a": {{v}}} | 2:9
        {"a": "{{v}}"} | 2:10
        `x {{v}}` | 2:6
        ```\n{{v}}\n``` | 3:3
        ```graphql\n{{v}}\n``` | 3:3
        file,{{v}}; | 2:8
    "#,
    ) {
        assert_undefined(&format!("POST http://a/\n{lines}\n"), place);
    }
    assert_undefined("GET http://a/{{v}}\n", "1:16");
}

#[test]
fn a_variable_that_a_response_needs_has_its_place() {
    for [lines, place] in rows(
        r#"
        X: {{v}} | 3:6
        {{v}}: 1 | 3:3
        {"a": {{v}}} | 3:9
        `x {{v}}` | 3:6
        ```\n{{v}}\n``` | 4:3
        file,{{v}}; | 3:8
        [Captures]\nx: header "{{v}}" | 4:14
        [Captures]\nx: body split "{{v}}" | 4:18
        [Captures]\nx: variable "{{v}}" | 4:16
        [Captures]\nx: body\n[Asserts]\nbody == {{v}} | 6:11
        [Asserts]\ncookie "{{v}}" exists | 4:11
        [Asserts]\njsonpath "$.{{v}}" exists | 4:15
        [Asserts]\nregex "{{v}}" exists | 4:10
        [Asserts]\nbody contains "{{v}}" | 4:18
        [Asserts]\nbody matches "{{v}}" | 4:17
        [Asserts]\nbytes == file,{{v}}; | 4:17
        [Asserts]\nbody == ```\n{{v}}\n``` | 5:3
        [Asserts]\nbody split "," nth {{v}} exists | 4:22
        [Asserts]\nbody replace "a" "{{v}}" exists | 4:21
        [Asserts]\nbody replaceRegex "{{v}}" "" exists | 4:22
        [Asserts]\nbody regex "{{v}}" exists | 4:15
        [Asserts]\nbody toDate "{{v}}" exists | 4:16
    "#,
    ) {
        let text = format!("GET http://a/\nHTTP 200\n{lines}\n");
        assert_undefined(&text, place);
        scenario_with(&text, &[("v", "1")]);
        scenario(&format!(
            "GET http://a/\nHTTP 200\n[Captures]\nv: body\n{text}"
        ));
        scenario(&text.replace("HTTP 200", "[Options]\nvariable: v=1\nHTTP 200"));
    }
}

#[test]
fn a_variable_may_be_set_by_its_entry_or_an_earlier_one() {
    for [text] in rows(
        r#"
        GET http://a/\nHTTP 200\n[Captures]\nv: body\nw: body split "{{v}}" nth 0\n[Asserts]\nbody == {{v}}\n
        // A capture whose name only the flow knows may set any variable.
        GET http://a/\nHTTP 200\n[Captures]\nn: body\n{{n}}: status\n[Asserts]\nbody == {{v}}\n
        // The query `variable` finds nothing then, which may be what is expected.
        GET http://a/\nHTTP 200\n[Asserts]\nvariable "v" not exists\n
        GET http://a/{{v}}\n[Options]\nvariable: v=1\nGET http://a/{{v}}\n
    "#,
    ) {
        scenario(text);
    }
}

#[test]
fn an_entry_that_is_never_sent_needs_and_defines_no_variables() {
    for option in ["skip: true", "repeat: 0"] {
        scenario(&format!(
            "GET http://a/{{{{v}}}}\n[Options]\n{option}\nHTTP 200\n[Captures]\nx: header \"{{{{v}}}}\"\n\
             [Asserts]\nbody == {{{{v}}}}\nGET http://a/\n"
        ));
        for name in ["v", "{{n}}"] {
            let text = format!(
                "GET http://a/\n[Options]\n{option}\nHTTP 200\n[Captures]\n{name}: body\nGET http://a/{{{{v}}}}\n"
            );
            assert_undefined(&text, "7:16");
        }
    }
}

#[test]
fn a_capture_that_a_skipped_entry_would_set_is_missed_in_the_flow() {
    let text = "GET http://a/\n[Options]\nskip: {{skips}}\nHTTP 200\n[Captures]\nv: body\nPOST http://a/\n```\n{{v}}\n```\n";
    let reason = "fail: test.hurl:9:3: Undefined variable: you must set the variable v";
    client_with(text, &[("skips", "true")]).talk(&[reason]);
}

#[test]
fn files_outside_the_folder_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    std::fs::write(folder.path().join("secret.txt"), "secret").unwrap();
    let absolute = folder.path().join("secret.txt").display().to_string();
    for name in [
        "../secret.txt",
        "./../secret.txt",
        "x/../../secret.txt",
        &absolute,
    ] {
        let part = format!("[Multipart]\nx: file,{name};");
        let refused =
            |body: &str| refusal(&format!("POST http://a/\n{body}\n"), in_folder(&inside));
        let client = |text: &str| Client::new(scenario_of(text, in_folder(&inside)));
        // What only the flow knows, and what a response is compared with.
        let mut captured =
            client("GET http://a/\nHTTP 200\n[Captures]\nv: body\nPOST http://a/\nfile,{{v}};\n");
        captured.exchange(Given::ok(name));
        for reason in [
            refused(&format!("file,{name};")),
            refused(&part),
            captured.fails(),
            client(&format!("GET http://a/\nHTTP 200\nfile,{name};\n"))
                .rejects("200 + body: secret"),
        ] {
            contains(&reason, "unauthorized access to file");
        }
    }
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let reason = refusal("POST http://a/\nfile,none.bin;\n", in_folder(folder.path()));
    contains(
        &reason,
        "test.hurl:2:6: File read access: file none.bin can not be read",
    );
}

#[test]
fn a_file_has_not_too_many_entries() {
    let reason = refused(&"GET http://a/\n".repeat(MOST_ENTRIES + 1));
    assert_eq!(
        reason,
        "test.hurl has 501 entries: at most 500 are possible"
    );
    scenario(&"GET http://a/\n".repeat(MOST_ENTRIES));
}

#[test]
fn options_of_the_connection_are_the_same_in_every_entry() {
    for (option, expected) in [
        ("insecure: {{yes}}", (true, false, false)),
        ("http1.1: true", (false, true, false)),
        ("http2: true", (false, false, true)),
    ] {
        let entry = format!("GET http://a/\n[Options]\n{option}\n");
        let connection = scenario_with(&entry.repeat(2), &[("yes", "true")]).connection();
        let set = (connection.insecure, connection.http1, connection.http2);
        assert_eq!(set, expected, "{option}");
    }
}

#[test]
fn a_value_cannot_add_a_field_or_split_a_request_line() {
    let capture = "GET http://a/\nHTTP 200\n[Captures]\nv: body\n";
    let mut of_field = client(&format!("{capture}GET http://a/\nX: {{{{v}}}}\n"));
    of_field.exchange("200 + body: a\r\nInjected: 1");
    let reason = of_field.fails();
    assert!(reason.starts_with("test.hurl:5:1: "), "{reason}");
    of_field.talk(&["begin", "GET /"]);
    let mut of_line = client(&format!("{capture}GET http://a/{{{{v}}}}\n"));
    of_line.exchange("200 + body: x HTTP/1.1\r\nInjected: 1");
    of_line.talk(&["GET /x%20HTTP/1.1%0D%0AInjected:%201"]);
}

#[test]
fn a_constant_of_the_wrong_kind_has_its_place() {
    let text = "GET http://a/\n[Options]\nrepeat: {{n}}\n";
    let reason = client_with(text, &[("n", "many")]).fails();
    assert!(reason.starts_with("test.hurl:3:"), "{reason}");
}
