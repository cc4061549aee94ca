//! `prony import`, as its users run it.

use std::process::Command;

use crate::common::project::Project;
use crate::common::{prony, run};
use prony_testkit::table::rows;
use prony_testkit::{contains, lacks};

const HAR: &str = r#"{"log": {"entries": [
    {"startedDateTime": "2026-01-01T00:00:00Z", "time": 10, "_resourceType": "document",
     "request": {"method": "GET", "url": "http://shop.example/", "headers": []},
     "response": {"status": 200, "content": {"mimeType": "text/html"}}},
    {"startedDateTime": "2026-01-01T00:00:01Z", "time": 10, "_resourceType": "image",
     "request": {"method": "GET", "url": "http://shop.example/a.png", "headers": []},
     "response": {"status": 200, "content": {"mimeType": "image/png"}}},
    {"startedDateTime": "2026-01-01T00:00:01Z", "time": 10,
     "request": {"method": "GET", "url": "http://other.example/", "headers": []},
     "response": {"status": 200, "content": {"mimeType": "text/html"}}},
    {"startedDateTime": "2026-01-01T00:00:01Z", "time": 10,
     "request": {"method": "GET", "url": "data:text/plain,a", "headers": []},
     "response": {"status": 200, "content": {"mimeType": "text/plain"}}}
]}}"#;

const API: &str = "
openapi: 3.0.3
paths:
  /orders/{id}:
    get:
      summary: One order
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {'200': {description: An order}}
";

#[test]
fn a_har_file_becomes_a_hurl_file() {
    let folder = Project::empty();
    folder.write("shop.har", HAR);
    folder
        .run("import har shop.har -o shop.hurl --think-time")
        .with(0)
        .says("note: left out 2 of 4 requests: 1 to other hosts (other.example; --all-hosts keeps")
        .says("1 not over HTTP")
        .says("wrote    shop.hurl (2 requests)");
    let expected = "\
# From shop.har, by `prony import har`.
# Run it: prony load shop.hurl --users 10

GET http://shop.example/
HTTP 200

GET http://shop.example/a.png
[Options]
delay: 990ms
HTTP 200
";
    assert_eq!(folder.read("shop.hurl"), expected);

    // Only --force replaces it.
    let again = "import har shop.har -o shop.hurl --all-hosts --no-assets";
    folder
        .run(again)
        .with(2)
        .says("`shop.hurl` exists; name another file with -o, or replace it with --force");
    assert_eq!(folder.read("shop.hurl"), expected);
    folder.run(&format!("{again} --force")).with(0);
    let written = folder.read("shop.hurl");
    contains(&written, "GET http://other.example/\n");
    lacks(&written, "a.png");
    lacks(&written, "delay");
}

#[test]
fn an_openapi_document_becomes_a_hurl_file() {
    let folder = Project::empty();
    folder.write("api.yaml", API);
    let ended = folder.run("import openapi api.yaml").with(0);
    let expected = "\
# From api.yaml, by `prony import openapi`.
# Variables:
#   host  the server's URL, such as http://localhost:8080
# Run it: prony load api.hurl --users 10 --variable host=…

# One order
GET {{host}}/orders/1
HTTP 200
";
    assert_eq!(ended.stdout, expected);
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_command_on_standard_input_becomes_a_hurl_file() {
    let folder = Project::empty();
    let command = "curl 'http://localhost/a' \\\n  -H 'x: {{y}}' \\\n  --data-binary @body.bin";
    folder.write("command", command);
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$0\" import curl - < command"]);
    shell.arg(prony([""; 0]).get_program());
    shell.current_dir(folder.path());
    let ended = run(shell).with(0);
    let ended = ended.says("note: the request reads the file body.bin");
    let expected = "\
# From standard input, by `prony import curl`.
# Run it: prony load scenario.hurl --users 10

POST http://localhost/a
x: {\\u{7b}y}}
Content-Type: application/x-www-form-urlencoded
file,body.bin;
";
    assert_eq!(ended.stdout, expected);
}

#[test]
fn wrong_input_is_named_with_its_place() {
    let folder = Project::empty();
    for [name, text] in [
        ["empty", ""],
        ["broken.json", "{\"log\":\n  nothing}"],
        ["broken.yaml", "openapi: 3.0.0\npaths: [\n"],
        ["swagger.yaml", "swagger: '2.0'\n"],
        ["wget.txt", "wget http://a"],
    ] {
        folder.write(name, text);
    }
    folder.write("bytes", b"a\xff");
    for [code, words, message] in rows(
        "
        2 | har empty | `empty`: the file is empty
        2 | openapi empty | `empty`: the file is empty
        2 | curl empty | `empty`: the command is empty
        2 | har broken.json | at line 2 column
        2 | openapi broken.yaml | `broken.yaml`: this is not YAML
        2 | openapi swagger.yaml | this is Swagger 2.0; convert it
        2 | har bytes | `bytes`: it is not UTF-8 at byte 1
        2 | curl wget.txt | must begin with `curl`, not with `wget`
        2 | postman a | 'postman'
        1 | har missing | cannot read `missing`: No such file
        1 | har /dev/zero | cannot read `/dev/zero`: it is too long: at most 64 MiB
        1 | har empty -o no/folder | cannot write `no/folder`
        ",
    ) {
        let ended = folder.run(&format!("import {words}"));
        let ended = ended.with(code.parse().unwrap()).says(message);
        assert_eq!(ended.stdout, "", "{words}");
    }
}
