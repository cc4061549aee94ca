//! `prony import`, as its users run it.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{Ended, prony, run};

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

fn import(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = prony(["import"]);
    command.args(arguments).current_dir(folder);
    command
}

/// With a text on standard input.
fn fed(folder: &Path, arguments: &[&str], text: &str) -> Ended {
    let mut child = import(folder, arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended {
        command: arguments.join(" "),
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    }
}

#[test]
fn a_har_file_becomes_a_hurl_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("shop.har"), HAR).unwrap();
    let flags = ["har", "shop.har", "-o", "shop.hurl", "--think-time"];
    run(import(folder.path(), &flags))
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
    let written = || fs::read_to_string(folder.path().join("shop.hurl")).unwrap();
    assert_eq!(written(), expected);

    // Only --force replaces it.
    let flags = [
        "har",
        "shop.har",
        "-o",
        "shop.hurl",
        "--all-hosts",
        "--no-assets",
    ];
    run(import(folder.path(), &flags))
        .with(2)
        .says("`shop.hurl` exists; name another file with -o, or replace it with --force");
    assert_eq!(written(), expected);
    let forced = [&flags[..], &["--force"]].concat();
    run(import(folder.path(), &forced)).with(0);
    assert!(written().contains("GET http://other.example/\n"));
    assert!(!written().contains("a.png") && !written().contains("delay"));
}

#[test]
fn an_openapi_document_becomes_a_hurl_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("api.yaml"), API).unwrap();
    let ended = run(import(folder.path(), &["openapi", "api.yaml"])).with(0);
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
    let folder = tempfile::tempdir().unwrap();
    let command = "curl 'http://localhost/a' \\\n  -H 'x: {{y}}' \\\n  --data-binary @body.bin";
    let ended = fed(folder.path(), &["curl", "-"], command).with(0);
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
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("empty", b"");
    write("broken.json", b"{\"log\":\n  nothing}");
    write("broken.yaml", b"openapi: 3.0.0\npaths: [\n");
    write("swagger.yaml", b"swagger: '2.0'\n");
    write("bytes", b"a\xff");
    write("wget.txt", b"wget http://a");
    for (arguments, message) in [
        (["har", "empty"], "`empty`: the file is empty"),
        (["openapi", "empty"], "`empty`: the file is empty"),
        (["curl", "empty"], "`empty`: the command is empty"),
        (["har", "broken.json"], "at line 2 column"),
        (
            ["openapi", "broken.yaml"],
            "`broken.yaml`: this is not YAML",
        ),
        (
            ["openapi", "swagger.yaml"],
            "this is Swagger 2.0; convert it",
        ),
        (["har", "bytes"], "`bytes`: it is not UTF-8 at byte 1"),
        (
            ["curl", "wget.txt"],
            "must begin with `curl`, not with `wget`",
        ),
    ] {
        let ended = run(import(folder.path(), &arguments)).with(2).says(message);
        assert_eq!(ended.stdout, "", "{message}");
    }
    run(import(folder.path(), &["har", "missing"]))
        .with(1)
        .says("cannot read `missing`: No such file");
    run(import(folder.path(), &["har", "/dev/zero"]))
        .with(1)
        .says("cannot read `/dev/zero`: it is too long: at most 64 MiB");
    run(import(folder.path(), &["har", "empty", "-o", "no/folder"]))
        .with(1)
        .says("cannot write `no/folder`");
    run(import(folder.path(), &["postman", "a"])).with(2);
}
