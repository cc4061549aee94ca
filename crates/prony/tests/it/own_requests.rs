//! `prony verify` and `prony run` of a project's own workloads, against a server that checks its requests.

use std::cell::Cell;
use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use prony_testkit::server::{self, Change, Request, Response};
use prony_testkit::table::rows;
use prony_testkit::{contains, lacks};
use serde_json::{Value, json};

use crate::common::project::{Project, trials};

pub(crate) const CHANGES: [(&str, Change); 4] = [
    ("orders", orders),
    ("orders-until-one", |request, response| {
        orders(request, response);
        println!("got {}", request.header("authorization").unwrap());
        std::process::exit(3);
    }),
    ("orders-with-words", |request, response| {
        orders(request, response);
        let authorization = request.header("authorization").unwrap();
        response.output = format!("\x1b[1mgot\x1b[0m {authorization}\n");
    }),
    ("shop-of-values", shop_of_values),
];

/// Responds to a right `POST /orders` with JSON that differs each time, compressed if the client accepts that.
fn orders(request: &Request, response: &mut Response) {
    let mut wrong = Vec::new();
    for (name, value) in [
        ("authorization", "Bearer s3cr3t-t0ken"),
        ("cookie", "session=abc"),
        ("x-team", "prony"),
    ] {
        if request.header(name) != Some(value) {
            wrong.push(name);
        }
    }
    let parts = ["name=\"file\"; filename=\"order.csv\"", "1,2,3"];
    let is_whole = parts.iter().all(|part| request.text().contains(part));
    if request.path != "/orders?q=a%20b" || !is_whole {
        wrong.push(&request.path);
    }
    let echo = request.header("authorization");
    let order = json!({"id": request.number, "items": [1, 2], "echo": echo, "wrong": wrong});
    let status = if wrong.is_empty() { 201 } else { 400 };
    *response = Response::json(status, order.to_string());
    let accepted = request.header("accept-encoding").unwrap_or_default();
    if accepted.contains("gzip") {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&response.body).unwrap();
        response.body = encoder.finish().unwrap();
        response
            .headers
            .push(("content-encoding", "gzip".to_owned()));
    }
}

/// The server of the project.
fn serve(project: &Project, change: &str, workloads: &[&str]) {
    let run = server::command(change, "server");
    let manifest = format!(
        "title = \"Orders\"\nlanguage = \"Rust\"\nframework = \"none\"\nclass = \"stdlib\"\n\
         workloads = {workloads:?}\nrun = {run:?}\n"
    );
    project.manifest("orders", &manifest);
}

/// The workloads of the project.
const OWN: [&str; 3] = ["orders", "orders-tls", "wrong"];

const REQUEST: &str = r#"
[request]
method = "POST"
path = "/orders"
query = { q = "a b" }
headers = { X-Team = "prony", Authorization = { env = "ORDERS_TOKEN", prefix = "Bearer ", secret = true } }
cookies = { session = "abc" }
body = { multipart = [{ name = "note", text = "hi" }, { name = "file", file = "order.csv" }] }
compressed = true
"#;

const RESPONSE: &str = r#"
[response]
status = [200, 201]
content_type = "application/json"
body = { json_path = { "$.items" = { count = 2 }, "$.id" = { matches = "^[0-9]+$" } }, schema = "order.json" }
"#;

const SUITE: &str = r#"title = "Orders"
about = "Orders of the project."
rounds = 2
servers = ["orders"]

[[measure]]
workloads = ["orders", "orders-tls"]
load = { shape = "closed", connections = 2, requests = 100, warmup = "10ms", warmup_limit = "0s", timeout = "5s" }
"#;

/// A project whose workloads are its own.
fn project() -> Project {
    let mut project = Project::empty();
    project.variable = Some(["ORDERS_TOKEN", "s3cr3t-t0ken"]);
    project.suite("mine", SUITE);
    serve(&project, "orders", &OWN);
    let wrong = "[response]\nstatus = 201\nbody = { json_path = { \"$.echo\" = \"nobody\" } }\n";
    workload(&project, "orders.toml", &format!("{REQUEST}{RESPONSE}"));
    let over_tls = format!("{REQUEST}tls = true\n{RESPONSE}");
    workload(&project, "orders-tls.toml", &over_tls);
    workload(&project, "wrong.toml", &format!("{REQUEST}{wrong}"));
    workload(&project, "order.csv", "1,2,3\n");
    workload(&project, "order.json", r#"{"required": ["id", "items"]}"#);
    project
}

fn workload(project: &Project, name: &str, text: &str) {
    project.write(&format!("workloads/{name}"), text);
}

/// The measured trials of a run, which shows no secret.
fn measured(project: &Project) -> Vec<Value> {
    project.run("run mine --no-ceiling").with(0).lacks("s3cr3t");
    let record = project.export();
    lacks(&record.to_string(), "s3cr3t");
    let measured = trials(&record, "orders", "measured").into_iter();
    measured.map(|trial| trial["result"].clone()).collect()
}

#[test]
fn own_requests_reach_verification_and_load() {
    let project = project();
    project.check(
        "
        0 | verify orders --workloads orders,orders-tls | >verified orders × orders & >verified orders × orders-tls
        0 | list workloads | >POST /orders
        ",
    );
    // Its server writes lines with the token.
    serve(&project, "orders-with-words", &OWN);
    let measured = measured(&project);
    assert_eq!(measured.len(), 4);
    for result in measured {
        let load = &result["load"];
        let wrong = load["outcomes"]["wrong_body"].as_u64().unwrap_or(0);
        assert_eq!(wrong, 0, "{load}");
        assert!(load["statuses"]["201"].as_u64().unwrap() > 0, "{load}");
        let lines = result["log_tail"]["output"].to_string();
        contains(&lines, "Bearer ***");
        lacks(&lines, "[1m");
        lacks(&lines, "u001b");
    }
}

#[test]
fn responses_and_logs_are_shown_without_a_secret() {
    let verify = |project: &Project, workload: &str| {
        let ended = project.run(&format!("verify orders --workloads {workload}"));
        ended.with(1).lacks("s3cr3t")
    };
    let project = project();
    verify(&project, "wrong")
        .prints("$.echo = \"nobody\"")
        .prints("$.echo = \"Bearer ***\"");
    serve(&project, "orders-until-one", &OWN);
    verify(&project, "orders").prints("got Bearer ***");
    let values = shop("status = 201\nbody = { json_path = { \"$.token\" = \"none\" } }");
    verify(&values, "order")
        .prints("$.token = \"none\"")
        .prints("$.token = \"***\"");
}

#[test]
fn faults_of_a_workload_are_reported_before_anything_runs() {
    let mut project = project();
    let token = project.variable.take();
    let verify = "verify orders --workloads orders";
    project
        .run(verify)
        .with(1)
        .says("its header `Authorization` is the environment variable ORDERS_TOKEN, which is not set; set it: export ORDERS_TOKEN=…");
    project.variable = token;
    fs::remove_file(project.path().join("workloads/order.csv")).unwrap();
    project.check(&format!(
        "1 | {verify} | workloads/order.csv, which workload `orders` needs: No such file"
    ));
    for [empty, message] in rows(
        "
        order.csv | workloads/order.csv is empty, and workload `orders` sends it
        order.json | workloads/order.json is not a JSON Schema, and workload `orders` needs one
        ",
    ) {
        workload(&project, "order.csv", "1,2,3\n");
        workload(&project, empty, "");
        project.run(verify).with(1).says(message);
    }
    for [from, to, message] in rows(
        "
        compressed | comprssed | orders.toml:9: unknown field `comprssed`
        compressed | comprssed | did you mean `compressed`?
        ^[0-9]+$ | ([0-9] | is not a regular expression: unclosed group
        $.items | $.items[ | orders.toml:14: field `body`: `$.items[` is not a JSONPath
        ",
    ) {
        let text = format!("{REQUEST}{RESPONSE}").replacen(from, to, 1);
        workload(&project, "orders.toml", &text);
        project.run(verify).with(1).says(message);
    }
}

/// Says no to an item that the client's file does not have, and to a second order of a user without its cookie. Logs a line
/// for each request.
fn shop_of_values(request: &Request, response: &mut Response) {
    thread_local! {
        static HAS_ORDERED: Cell<bool> = const { Cell::new(false) };
    }
    let order: Value = serde_json::from_slice(&request.body).unwrap();
    // A user has a connection, and that has a thread.
    let is_first = !HAS_ORDERED.replace(true);
    let is_right = ["pen", "big \"cup\""].contains(&order["item"].as_str().unwrap())
        && (1..=5).contains(&order["count"].as_u64().unwrap())
        && request.path == "/shops/north%20side/orders"
        && is_first == request.header("cookie").is_none();
    let content = json!({"token": request.header("x-token"), "item": order["item"]});
    let status = if is_right { 201 } else { 400 };
    *response = Response::json(status, content.to_string());
    response.output = format!("{order}\n");
    if is_first {
        response.headers.push(("set-cookie", "cart=1".to_owned()));
    }
}

const ORDER: &str = r#"
[request]
method = "POST"
path = "/shops/{{shop}}/orders"
headers = { X-Token = "{{token}}" }
body = { json = '{"item": "{{item}}", "count": {{count}}, "id": "{{newUuid}}"}' }
keep_cookies = true
[values]
rows = "items.csv"
random = { count = "1..5" }
variables = { shop = "north side", token = { env = "ORDERS_TOKEN", secret = true } }
"#;

/// A project with the shop, whose response is as `response` says.
fn shop(response: &str) -> Project {
    let project = project();
    serve(&project, "shop-of-values", &["order"]);
    let suite = SUITE.replace("[\"orders\", \"orders-tls\"]", "[\"order\"]");
    project.suite("mine", &suite);
    workload(&project, "items.csv", "item\npen\n\"big \"\"cup\"\"\"\n");
    let order = format!("{ORDER}[response]\n{response}\n");
    workload(&project, "order.toml", &order);
    project
}

#[test]
fn values_and_kept_cookies_reach_verification_and_load() {
    let project = shop(
        "status = 201\nbody = { json_path = { \"$.item\" = { exists = true } } }\nlog_lines = 1",
    );
    project.check("0 | verify orders --workloads order | >verified orders × order");
    let measured = measured(&project);
    assert_eq!(measured.len(), 2);
    for load in measured.iter().map(|result| &result["load"]) {
        // The lines that the server logged agree with the requests, or the trial would have failed.
        let statuses = load["statuses"].as_object().unwrap();
        assert_eq!(statuses.keys().collect::<Vec<_>>(), ["201"], "{load}");
        assert!(load["flows"].is_null(), "{load}");
        let url = load["target"]["url"].as_str().unwrap();
        assert!(url.ends_with("/shops/north%20side/orders"), "{url}");
    }
}

#[test]
fn what_does_not_go_with_values_is_refused_before_anything_starts() {
    for [file, from, to, message] in rows(
        "
        suites/mine.toml | connections = 2 | connections = 2, pipeline = 4 | the load has `pipeline`, which does not go with the `values` of `order`
        workloads/order.toml | {{item}} | {{items}} | its body: the value `items` is not defined; did you mean `item`?
        ",
    ) {
        let project = shop("status = 201");
        project.edit(file, from, to);
        project.run("run mine --no-ceiling").with(1).says(message);
    }
    // Placeholders of a request without values.
    let project = shop("status = 201");
    let (request, _) = ORDER.split_once("[values]").unwrap();
    let request = request.replace("{{count}}", "1").replace("{{token}}", "x");
    let order = format!("{request}[response]\nstatus = 201\n");
    workload(&project, "order.toml", &order);
    let all = project.run("verify orders").with(1).all();
    let hint = "the request has {{shop}} as text: for a value, add the table `values`";
    contains(&all, hint);
}
