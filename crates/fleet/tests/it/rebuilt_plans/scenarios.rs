//! Scenarios, and the checks of workloads.

use std::fs;
use std::path::Path;

use prony_run::{Files, PreparedRequest, Workload};
use prony_testkit::table::rows;
use prony_traffic::{Scenario, Secrets, Sources};

use super::*;

const FLOW: &str = r#"
POST http://{{host}}/login/{{item}}?n={{n}}&r={{r}}
Authorization: Bearer {{token}}
x-fixed: {{fixed}}
file,{{name}};
HTTP 200
[Captures]
id: jsonpath "$.id"
[Asserts]
jsonpath "$.name" == "ann"

PUT http://{{host}}/items/{{id}}
{"item": "{{item}}", "count": {{count}}}
HTTP 200
[Asserts]
bytes contains file,part.txt;

GET http://{{host}}/gone
HTTP 200
"#;

fn sources(host: &str, folder: &Path) -> Sources {
    let mut sources = Sources::default();
    sources.set("host", host).unwrap();
    sources.set("fixed", "1.5").unwrap();
    sources.set("name", "body.bin").unwrap();
    sources.set_secret("token", "swordfish").unwrap();
    let rows = "item,count\npen,1\nink,0.1\ncap,true\n";
    sources.add_csv(rows.as_bytes()).unwrap();
    sources.add_counter("n", 100).unwrap();
    let range = "1..1000000".parse().unwrap();
    sources.add_random("r", range).unwrap();
    sources.set_folder(folder.to_owned());
    sources
}

pub(super) fn hurl(server: &Recorder, folder: &Path) -> Scenario {
    fs::write(folder.join("body.bin"), [0, 159, 146, 150]).unwrap();
    fs::write(folder.join("part.txt"), "ann").unwrap();
    let sources = sources(&server.address.to_string(), folder);
    let mut secrets = Secrets::default();
    secrets.add("ann");
    Scenario::hiding(secrets, "flow.hurl", FLOW, sources).unwrap()
}

#[test]
fn a_hurl_file_travels_with_its_files_and_values() {
    for protocol in [Protocol::Http11, Protocol::H2c] {
        let server = Recorder::start(protocol);
        let folder = tempfile::tempdir().unwrap();
        let scenario = hurl(&server, folder.path());
        let request = Traffic::flows_of(scenario, protocol.into());
        let plan = plan(&server, "http://a", request).with(|plan| plan.load.requests = Some(7));
        // A load goes on with the next row, so the texts are those before it.
        let texts = EVENT_LOOPS.map(|event_loop| {
            let plan = plan.clone().with(|plan| plan.here.event_loop = event_loop);
            rebuilt(&plan).1
        });
        let here = load(&plan, &server);
        folder.close().unwrap();
        for text in texts {
            let there = load(&serde_json::from_str(&text).unwrap(), &server);
            assert_eq!(there, here, "{protocol:?}");
        }
        assert_eq!(here.requests.len(), 21);
        contains(&here.requests[0].line, "/login/pen?n=100&r=");
        contains(&here.requests[4 * 3].line, "/login/ink?n=104&r=");
        assert_eq!(here.requests[0].body, [0, 159, 146, 150]);
        let wrong = here.wrong.expect("a wrong response");
        assert!(wrong.contains("404") && !wrong.contains("ann"), "{wrong}");
    }
}

#[test]
fn a_scenario_goes_on_with_its_next_row_on_other_hosts() {
    let server = Recorder::start(Protocol::Http11);
    let folder = tempfile::tempdir().unwrap();
    let scenario = hurl(&server, folder.path());
    let request = Traffic::flows_of(scenario, HttpVersion::Http1);
    let plan = plan(&server, "http://a", request).with(|plan| plan.load.requests = Some(5));
    load(&plan, &server);
    let (rebuilt, _) = rebuilt(&plan);
    let seen = load(&rebuilt, &server);
    contains(&seen.requests[0].line, "/login/cap?n=105&");
    assert_eq!(load(&plan, &server).requests, seen.requests);
}

#[test]
fn no_debug_form_of_a_plan_shows_a_secret() {
    let server = Recorder::start(Protocol::Http11);
    let folder = tempfile::tempdir().unwrap();
    let scenario = hurl(&server, folder.path());
    let request = Traffic::flows_of(scenario, HttpVersion::Http1);
    let plan = plan(&server, "http://a", request);
    let text = serde_json::to_string(&plan).unwrap();
    assert!(text.contains("swordfish"));
    for shown in [format!("{plan:?}"), format!("{:?}", plan.request)] {
        assert!(!shown.contains("swordfish"), "{shown}");
    }
}

#[test]
fn files_that_cannot_be_known_before_are_refused() {
    let server = Recorder::start(Protocol::Http11);
    let folder = tempfile::tempdir().unwrap();
    let text = "POST http://{{host}}/\nfile,{{item}};\nHTTP 200\n";
    let sources = sources(&server.address.to_string(), folder.path());
    let scenario = Scenario::new("flow.hurl", text, sources).unwrap();
    let expected = "a Hurl file that names a file by a value that differs from flow to flow cannot be sent to other hosts";
    let refused = serde_json::to_string(&scenario).unwrap_err();
    assert_eq!(refused.to_string(), expected);
}

fn workload(text: &str) -> Workload {
    let workload: Workload = toml::from_str(text).unwrap();
    workload.named("orders".into(), Path::new(""))
}

/// The plan of a workload that expects this response.
pub(super) fn workload_plan(server: &Recorder, response: &str) -> LoadPlan {
    let text = format!("{REQUEST}[response]\nstatus = [200, 201]\n{response}\n");
    let workload = workload(&text);
    let files = Files::new(".", ".");
    let exchange = workload.exchange().unwrap();
    let request = PreparedRequest::new(exchange, &files).unwrap();
    let check = exchange.expected_of(&request, &files).unwrap();
    let (url, wire) = request.encode(&server.address.to_string()).unwrap();
    plan(server, &url, wire).with(|plan| plan.sampling = sampling(check))
}

/// With values that differ: in a path, a query, a form, a cookie and the user of basic authentication.
const REQUEST: &str = r#"
[values]
variables = { fixed = "a b" }
counters = { n = 5 }
random = { r = "1..1000" }

[request]
method = "POST"
path = "/orders/{{n}}/{{fixed}}"
query = { q = "{{r}} é" }
headers = { X-Team = "{{fixed}}" }
cookies = { a = "{{r}}" }
basic_auth = { user = "ann{{n}}", password = "swordfish" }
body = { json = "{\"n\": {{n}}, \"text\": \"{{r}}\"}" }
keep_cookies = true
compressed = true
"#;

/// Expected responses, and the difference from the recorder's, if there is one.
pub(super) fn responses() -> Vec<[&'static str; 2]> {
    rows(
        r#"
        body = { json = { id = 7, price = 0.1, name = "ann" } } | ""
        body = { json_path = { "$.id" = 8 } } | expected $.id = 8, got $.id = 7
        body = { schema = { required = ["x"] } } | required property
        body = { matches = "^x", size = { max = 99 } } | a body that matches `^x`
        headers = { X-B = "c" } | expected x-b: c, got no x-b
        content_type = "text/html" | expected content-type text/html
        "#,
    )
}

#[test]
fn a_request_with_values_and_its_check_travel() {
    for [response, difference] in responses() {
        let server = Recorder::start(Protocol::Http11);
        let plan = || workload_plan(&server, response);
        let (rebuilt, document) = rebuilt(&plan());
        contains(&document, "\"request\"");
        let here = load(&plan(), &server);
        assert_eq!(load(&rebuilt, &server), here, "{response}");
        let line = &here.requests[3].line;
        assert!(line.starts_with("POST /orders/8/a%20b?q="), "{line}");
        assert_eq!(here.wrong.is_none(), difference.is_empty(), "{here:?}");
        contains(&here.wrong.unwrap_or_default(), difference);
    }
}
