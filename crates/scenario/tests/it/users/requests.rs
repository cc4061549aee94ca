//! What is sent: templates in every part of a request, and what is prepared once.

use crate::users::{Client, Given, Sent, in_folder, scenario, scenario_of, scenario_with, sent};
use prony_load::Scenario;

/// A file whose first entry captures `v`, so that nothing that uses it is constant.
const CAPTURES: &str = "GET http://a/first\nHTTP 200\n[Captures]\nv: body\n";

/// The request of an entry with `{{v}}`, if that is a constant and if it was captured.
fn both_ways(entry: &str, value: &str) -> Sent {
    let constant = sent(entry, &[("v", value)]).remove(0);
    let mut client = Client::new(scenario(&format!("{CAPTURES}{entry}")));
    client.exchange(&Given::ok(value));
    let captured = Sent {
        entry: 0,
        ..client.sends()
    };
    assert_eq!(
        constant,
        Sent {
            keep: constant.keep,
            ..captured
        },
        "{entry}"
    );
    constant
}

#[test]
fn urls_and_queries_have_values() {
    let sent = both_ways("GET http://a/x/{{v}}?y={{v}}\n[Query]\nz: {{v}}\n", "b c");
    assert_eq!(sent.line(), "GET /x/b%20c?y=b%20c&z=b%20c");
    let sent = both_ways("GET http://a/x\n[Query]\nz: {{v}}&d\n", "ü=1");
    assert_eq!(sent.path, "/x?z=%C3%BC%3D1%26d");
}

#[test]
fn header_fields_have_values() {
    let sent = both_ways("GET http://a/\nX-{{v}}: 1 {{v}}\n", "n");
    assert_eq!(sent.fields, ["x-n: 1 n"]);
}

#[test]
fn forms_have_values() {
    let sent = both_ways("POST http://a/\n[Form]\nname: {{v}}\nother: 1\n", "b c&d");
    assert_eq!(sent.text(), "name=b%20c%26d&other=1");
    assert_eq!(
        sent.field("content-type"),
        Some("application/x-www-form-urlencoded")
    );
}

#[test]
fn cookies_and_users_have_values() {
    let sent = both_ways("GET http://a/\n[Cookies]\na: {{v}}\nb: 2\n", "1");
    assert_eq!(sent.field("cookie"), Some("a=1; b=2"));
    let sent = both_ways("GET http://a/\n[BasicAuth]\n{{v}}: secret\n", "u");
    assert_eq!(sent.field("authorization"), Some("Basic dTpzZWNyZXQ="));
}

#[test]
fn bodies_have_values() {
    for (body, expected, content_type) in [
        (
            "{\"a\": {{v}}, \"b\": \"{{v}}\"}",
            "{\"a\": 7, \"b\": \"7\"}",
            Some("application/json"),
        ),
        ("`text {{v}}`", "text 7", None),
        ("```\nlines\n{{v}}\n```", "lines\n7\n", None),
        (
            "```json\n{\"a\": {{v}}}\n```",
            "{\"a\": 7}\n",
            Some("application/json"),
        ),
        (
            "```xml\n<a>{{v}}</a>\n```",
            "<a>7</a>\n",
            Some("application/xml"),
        ),
    ] {
        let scenario = scenario_with(&format!("POST http://a/\n{body}\n"), &[("v", "7")]);
        let sent = Client::of(&scenario).sends();
        assert_eq!(sent.text(), expected, "{body}");
        assert_eq!(sent.field("content-type"), content_type, "{body}");
    }
    both_ways("POST http://a/\n`text {{v}} {{v}}`\n", "7");
    both_ways("POST http://a/\n{\"b\": \"{{v}}\"}\n", "7 \"quoted\"");
}

#[test]
fn multipart_bodies_have_values_and_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data.txt"), "content").unwrap();
    let text = "POST http://a/\n[Multipart]\nname: {{v}}\npart: file,{{f}};\ntyped: file,data.txt; text/csv\n";
    let mut sources = in_folder(folder.path());
    sources.set("v", "value").unwrap();
    sources.set("f", "data.txt").unwrap();
    let scenario = scenario_of(text, sources);
    let sent = Client::of(&scenario).sends();
    let boundary = sent.field("content-type").unwrap();
    let boundary = boundary
        .strip_prefix("multipart/form-data; boundary=")
        .unwrap();
    let parts: Vec<&str> = sent.text().split(boundary).collect();
    let [_, name, part, typed, end] = parts[..] else {
        panic!("{parts:?}");
    };
    assert!(name.ends_with("name=\"name\"\r\n\r\nvalue\r\n--"), "{name}");
    assert!(
        part.contains("filename=\"data.txt\"\r\ncontent-type: text/plain\r\n\r\ncontent\r\n"),
        "{part}"
    );
    assert!(
        typed.contains("content-type: text/csv\r\n\r\ncontent\r\n"),
        "{typed}"
    );
    assert_eq!(end, "--\r\n");
}

#[test]
fn a_body_may_be_a_file_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    std::fs::write(folder.path().join("in/data.bin"), b"\0\xff").unwrap();
    let text = "PUT http://a/\nfile,./in/data.bin;\n";
    let scenario = scenario_of(text, in_folder(folder.path()));
    let sent = Client::of(&scenario).sends();
    assert_eq!(
        (sent.method.as_str(), &sent.body[..]),
        ("PUT", &b"\0\xff"[..])
    );
}

#[test]
fn what_never_changes_is_prepared_once() {
    let text = "POST http://{{host}}/x/{{id}}\nA: {{id}}\n[Query]\nq: {{id}}\n{\"id\": {{id}}}\n\
                GET http://{{host}}/{{newUuid}}\n";
    let scenario = scenario_with(text, &[("host", "a"), ("id", "5")]);
    let (mut one, mut two) = (Client::of(&scenario), Client::seeded(&scenario, 2));
    assert_eq!(one.sends(), two.sends());
    assert_eq!(one.identity(), two.identity());
    one.takes(&Given::status(200));
    two.takes(&Given::status(200));
    assert_ne!(
        one.sends().path,
        two.sends().path,
        "a UUID is new each time"
    );
    assert_ne!(one.identity(), two.identity());
}

#[test]
fn a_captured_name_changes_in_every_flow_even_if_it_was_given() {
    let text = "GET http://a/{{v}}\nHTTP 200\n[Captures]\nv: body\nGET http://a/{{v}}\n";
    let mut client = Client::new(scenario_with(text, &[("v", "given")]));
    for _ in 0..3 {
        let paths = client.flow(&Given::ok("captured"));
        let paths: Vec<&str> = paths.iter().map(|sent| sent.path.as_str()).collect();
        assert_eq!(paths, ["/given", "/captured"]);
    }
}

#[test]
fn a_capture_whose_name_is_a_value_may_set_any_variable() {
    let text = "GET http://a/{{v}}\nHTTP 200\n[Captures]\n{{name}}: body\nGET http://a/{{v}}\n";
    let scenario = scenario_with(text, &[("v", "given"), ("name", "v")]);
    let sent = Client::of(&scenario).flow(&Given::ok("captured"));
    assert_eq!((&*sent[0].path, &*sent[1].path), ("/given", "/captured"));
}

#[test]
fn entries_are_named_by_method_and_path() {
    let text =
        "GET http://a/x?y=1\nPOST http://a/x/{{id}}\n[Captures]\nGET http://a\nGET http://a/x\n";
    let text = text.replace("[Captures]\n", "");
    let scenario = scenario_with(&text, &[("id", "5")]);
    let names: Vec<&str> = scenario
        .entries()
        .iter()
        .map(|entry| entry.name())
        .collect();
    assert_eq!(
        names,
        [
            "GET /x (line 1)",
            "POST /x/{{id}}",
            "GET /",
            "GET /x (line 4)"
        ]
    );
}
