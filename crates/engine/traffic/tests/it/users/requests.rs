//! What is sent: templates in every part of a request, and what is prepared once.

use prony_testkit::table::rows;

use crate::users::{Client, Given, Sent, client, in_folder, scenario_of, scenario_with, sent};

#[test]
fn every_part_of_a_request_has_values_given_or_captured() {
    for [value, entry, expected] in rows(
        r#"
        b c | GET http://a/x/{{v}}?y={{v}}\n[Query]\nz: {{v}}\n | GET /x/b%20c?y=b%20c&z=b%20c
        ü=1 | GET http://a/x\n[Query]\nz: {{v}}&d\n | GET /x?z=%C3%BC%3D1%26d
        n | GET http://a/\nX-{{v}}: 1 {{v}}\n | GET / + x-n: 1 n
        b c&d | POST http://a/\n[Form]\nname: {{v}}\nother: 1\n | POST / + content-type: application/x-www-form-urlencoded + body: name=b%20c%26d&other=1
        1 | GET http://a/\n[Cookies]\na: {{v}}\nb: 2\n | GET / + cookie: a=1; b=2
        u | GET http://a/\n[BasicAuth]\n{{v}}: secret\n | GET / + authorization: Basic dTpzZWNyZXQ=
        // The user of a URL is sent unless the entry has another.
        u | GET http://bob%40example.com:a:b@a/\n | GET / + authorization: Basic Ym9iQGV4YW1wbGUuY29tOmE6Yg==
        u | GET http://bob:b@a/\nAuthorization: Bearer x\n | GET / + authorization: Bearer x
        7 | POST http://a/\n{"a": {{v}}, "b": "{{v}}"}\n | POST / + content-type: application/json + body: {"a": 7, "b": "7"}
        7 "q" | POST http://a/\n{"b": "{{v}}"}\n | POST / + content-type: application/json + body: {"b": "7 \\"q\\""}
        7 | POST http://a/\n`text {{v}} {{v}}`\n | POST / + content-type: none + body: text 7 7
        7 | POST http://a/\n```\nlines\n{{v}}\n```\n | POST / + content-type: none + body: lines\n7\n
        7 | POST http://a/\n```json\n{"a": {{v}}}\n```\n | POST / + content-type: application/json + body: {"a": 7}\n
        7 | POST http://a/\n```xml\n<a>{{v}}</a>\n```\n | POST / + content-type: application/xml + body: <a>7</a>\n
    "#,
    ) {
        let constant = sent(entry, &[("v", value)]).remove(0);
        assert_eq!(constant.like(expected), expected, "{entry}");
        let first = "GET http://a/first\nHTTP 200\n[Captures]\nv: jsonpath \"$\"\n";
        let mut client = client(&format!("{first}{entry}"));
        let is_number = value.parse::<u64>().is_ok();
        client.exchange(Given::ok(if is_number {
            value.to_owned()
        } else {
            format!("{value:?}")
        }));
        let captured = Sent {
            entry: 0,
            keep: constant.keep,
            ..client.sends()
        };
        assert_eq!(captured, constant, "{entry}");
    }
}

#[test]
fn a_request_accepts_anything_and_names_its_client_unless_its_entry_says_otherwise() {
    let text = "GET http://a/\nGET http://a/\nACCEPT: text/html\n[Options]\nheader: User-Agent: me\n\
                GET http://a/\n[Options]\nno-header: Accept\nno-header: user-agent\n";
    let all = sent(text, &[]);
    let agent = concat!("user-agent: prony/", env!("CARGO_PKG_VERSION"));
    assert_eq!(all[0].fields, ["accept: */*", agent]);
    assert_eq!(all[1].fields, ["accept: text/html", "user-agent: me"]);
    assert_eq!(all[2].fields, [""; 0]);
}

#[test]
fn multipart_bodies_have_values_and_files() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data.txt"), "content").unwrap();
    let text = "POST http://a/\n[Multipart]\nname: {{v}}\npart: file,{{f}};\ntyped: file,data.txt; text/csv\n";
    let mut sources = in_folder(folder.path());
    sources.set("v", "value").unwrap();
    sources.set("f", "data.txt").unwrap();
    let sent = Client::new(scenario_of(text, sources)).sends();
    let content_type = sent.field("content-type").unwrap();
    let boundary = content_type.strip_prefix("multipart/form-data; boundary=");
    let disposition = "\r\ncontent-disposition: form-data; name=";
    let expected = format!(
        "--B{disposition}\"name\"\r\n\r\nvalue\r\n\
         --B{disposition}\"part\"; filename=\"data.txt\"\r\ncontent-type: text/plain\r\n\r\ncontent\r\n\
         --B{disposition}\"typed\"; filename=\"data.txt\"\r\ncontent-type: text/csv\r\n\r\ncontent\r\n--B--\r\n"
    );
    assert_eq!(sent.text().replace(boundary.unwrap(), "B"), expected);
}

#[test]
fn a_body_may_be_a_file_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("in")).unwrap();
    std::fs::write(folder.path().join("in/data.bin"), b"\0\xff").unwrap();
    let text = "PUT http://a/\nfile,./in/data.bin;\n";
    let sent = Client::new(scenario_of(text, in_folder(folder.path()))).sends();
    assert_eq!((&*sent.method, &sent.body[..]), ("PUT", &b"\0\xff"[..]));
}

#[test]
fn what_never_changes_is_prepared_once() {
    let text = "POST http://{{host}}/x/{{id}}\nA: {{id}}\n[Query]\nq: {{id}}\n{\"id\": {{id}}}\n\
                GET http://{{host}}/{{newUuid}}\n";
    let scenario = scenario_with(text, &[("host", "a"), ("id", "5")]);
    let (mut one, mut two) = (Client::of(&scenario), Client::seeded(&scenario, 2));
    assert_eq!(one.exchange("200"), two.exchange("200"));
    assert_eq!(one.identity(), two.identity());
    let (of_one, of_two) = (one.sends().path, two.sends().path);
    assert_ne!(of_one, of_two, "a UUID is new each time");
    assert_ne!(one.identity(), two.identity());
}

#[test]
fn entries_are_named_by_method_and_path() {
    let text = "GET http://a/x?y=1\nPOST http://a/x/{{id}}\nGET http://a\nGET http://a/x\n";
    let scenario = scenario_with(text, &[("id", "5")]);
    let entries = scenario.entries().iter();
    let names: Vec<&str> = entries.map(|it| it.name()).collect();
    let expected = [
        "GET /x (line 1)",
        "POST /x/{{id}}",
        "GET /",
        "GET /x (line 4)",
    ];
    assert_eq!(names, expected);
}
