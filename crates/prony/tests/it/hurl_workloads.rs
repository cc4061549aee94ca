//! Workloads of `prony.toml` that are Hurl files.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::common::project::Project;
use crate::common::schema;
use prony_testkit::server::{self, Change, Request, Response};
use prony_testkit::table::rows;
use prony_testkit::{contains, lacks};
use serde_json::{Value, json};

pub(crate) const CHANGES: [(&str, Change); 1] = [("shop", shop)];

/// A shop: users log in, look at an item and order it. The numbers of orders must begin at 1000 in each process. After
/// `BREAKS_AFTER` orders every further one is lost. After `LEAKS_AFTER` looks at items it shows what authorizes them. If
/// `EARLY_LISTS` is set, the tokens of some early logins are lists, which no header can have. If `TELLS` is set, it writes
/// what logs in.
fn shop(request: &Request, response: &mut Response) {
    static LOOKS: AtomicU64 = AtomicU64::new(0);
    static LOGINS: AtomicU64 = AtomicU64::new(0);
    static ORDERS: AtomicU64 = AtomicU64::new(0);
    let next = |count: &AtomicU64| count.fetch_add(1, Relaxed) + 1;
    let limit = |name: &str| {
        let value = std::env::var(name).ok();
        value.map_or(u64::MAX, |value| value.parse().unwrap())
    };
    let sent = request.header("authorization").unwrap_or_default();
    let (status, content) = match (request.method.as_str(), request.path.as_str()) {
        ("POST", "/login") => {
            let field = |name: &str| {
                let mut fields = request.text().split('&');
                fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
            };
            if std::env::var_os("TELLS").is_some() {
                response.output = format!("{}\n", request.text());
            }
            let token = format!("of {}", field("user").unwrap());
            let is_list =
                std::env::var_os("EARLY_LISTS").is_some() && (5..10).contains(&next(&LOGINS));
            let token = if is_list {
                json!([token])
            } else {
                json!(token)
            };
            let is_known = field("password") == Some("swordfish");
            (if is_known { 200 } else { 403 }, json!({"token": token}))
        }
        ("POST", _) => {
            let order: Value = serde_json::from_slice(&request.body).unwrap();
            let orders = next(&ORDERS);
            let is_known = sent == format!("Bearer of {}", order["user"].as_str().unwrap());
            // Orders of flows that run at the same time come in any sequence.
            let is_numbered =
                (1000..1000 + orders + 20).contains(&order["number"].as_u64().unwrap());
            let lost = orders > limit("BREAKS_AFTER");
            let status = if lost { "lost" } else { "created" };
            let code = if is_known && is_numbered { 201 } else { 409 };
            (code, json!({"status": status}))
        }
        (_, path) => {
            let is_shown = next(&LOOKS) > limit("LEAKS_AFTER");
            let seen = sent.strip_prefix("Bearer ").unwrap_or(sent);
            let id: u64 = path.rsplit('/').next().unwrap().parse().unwrap_or(0);
            (
                200,
                json!({"id": id, "seen": if is_shown { seen } else { "" }}),
            )
        }
    };
    let output = std::mem::take(&mut response.output);
    *response = Response::json(status, content.to_string());
    response.output = output;
}

const CHECKOUT: &str = "\
POST http://{{host}}/login
[Form]
user: {{user}}
password: {{password}}
HTTP 200
[Captures]
token: jsonpath \"$.token\"

GET http://{{host}}/items/{{item}}
HTTP 200
[Asserts]
jsonpath \"$.id\" == {{item}}

POST http://{{host}}/orders
Authorization: Bearer {{token}}
{ \"item\": {{item}}, \"user\": \"{{user}}\", \"number\": {{number}} }
HTTP 201
[Asserts]
jsonpath \"$.status\" == \"created\"
";

const PROJECT: &str = "\
rounds = 2

[server.shop]
run = SERVER
env = { ENV }

[workload.checkout]
scenario = \"checkout.hurl\"

[workload.checkout.values]
variables = { password = { env = \"SHOP_PASSWORD\", secret = true } }
rows = \"users.csv\"
counters = { number = 1000 }

[[measure]]
load = { shape = \"closed\", connections = 2, requests = 40, warmup = \"20ms\", warmup_limit = \"0s\" }
";

/// A project with the shop, whose server has these variables and some of whose files are changed.
fn shop_with(variables: &str, changes: &[[&str; 3]]) -> Project {
    let command = format!("{:?}", server::command("shop", "server"));
    let text = PROJECT.replace("SERVER", &command);
    let mut project = Project::of(&text.replace("ENV", variables));
    project.write("checkout.hurl", CHECKOUT);
    project.write("users.csv", "user,item:number\nann,1\nbob,2\n");
    project.variable = Some(["SHOP_PASSWORD", "swordfish"]);
    for [file, from, to] in changes {
        project.edit(file, from, to);
    }
    project
}

/// The measured loads of an exported run.
fn loads(record: &Value) -> Vec<&Value> {
    let trials = record["trials"].as_array().unwrap();
    let loads = trials.iter().map(|trial| &trial["result"]["load"]);
    loads.filter(|load| !load.is_null()).collect()
}

#[test]
fn flows_are_verified_measured_and_reported() {
    let shop = shop_with("", &[]);
    shop.check(
        "
        0 | list workloads | >checkout  flows of checkout.hurl over http/1.1
        0 | verify | >verified shop × checkout
        ",
    );
    let measured = shop.run("run --no-ceiling --markdown report.md");
    measured
        .with(0)
        .prints("2 users, closed loop of flows, ")
        .prints("shop    whole flows")
        .lacks("swordfish");
    let record = shop.export();
    lacks(&record.to_string(), "swordfish");
    let loads = loads(&record);
    // A noisy trial is run again.
    assert!(loads.len() >= 2, "{record}");
    for load in loads {
        let flows = &load["flows"];
        assert_eq!(load["load"]["flows"], true);
        // Each load begins with the first number, so none of its orders is refused.
        assert_eq!((&flows["failed"], &flows["ok"]), (&json!(0), &json!(40)));
        let entries = flows["entries"].as_array().unwrap().iter();
        let names: Vec<&Value> = entries.map(|entry| &entry["name"]).collect();
        let right = ["POST /login", "GET /items/{{item}}", "POST /orders"];
        assert_eq!(names, right);
    }
    let report = shop.read("report.md");
    lacks(&report, "swordfish");
    contains(&report, "### Flows and their requests");
    let rows = report.lines().filter(|line| line.starts_with("| shop | "));
    let mut requests = rows.filter_map(|row| row.split(" | ").nth(1));
    let has_item = requests.any(|cell| cell == "GET /items/{{item}}");
    assert!(has_item, "{report}");
}

#[test]
fn a_wrong_response_is_shown_with_its_place_and_without_what_the_server_wrote_of_secrets() {
    let changes = [["checkout.hurl", "\"$.id\" == {{item}}", "\"$.id\" == 7"]];
    let shop = shop_with("TELLS = \"all\"", &changes);
    let why = "checkout.hurl:12:0: Assert failure: actual: integer <1> expected: integer <7>";
    shop.check(&format!(
        "
        1 | verify | >WRONG    shop × checkout & >expected a response to GET /items/{{{{item}}}} as in checkout.hurl & >received {why}
        1 | run --no-ceiling | >Not measured
        "
    ));
    shop.run("load shop -n1 --ready-timeout 30s")
        .with(1)
        .says(why)
        .says("password=***")
        .lacks("swordfish");
}

#[test]
fn a_secret_that_a_response_should_be_is_not_shown() {
    let token = "jsonpath \"$.token\"\n";
    let asserted = format!("{token}[Asserts]\njsonpath \"$.token\" == \"{{{{password}}}}\"\n");
    let shop = shop_with("", &[["checkout.hurl", token, &asserted]]);
    shop.run("verify").with(1).prints("***").lacks("swordfish");
}

#[test]
fn a_secret_in_a_variable_or_in_credentials_is_neither_shown_nor_recorded() {
    let secrets =
        "token = { env = \"SHOP_PASSWORD\", prefix = \"Bearer \", secret = true }, password = ";
    for [authorization, shown] in rows(
        "Authorization: {{token}} | actual: string <***>
         [BasicAuth]\\nann: {{password}} | actual: string <Basic ***>",
    ) {
        for [leaks_after, command] in [["0", "verify"], ["8", "run --no-ceiling"]] {
            let leaks = format!("LEAKS_AFTER = \"{leaks_after}\"");
            let shop = shop_with(&leaks, &[["prony.toml", "password = ", secrets]]);
            let asserts = "HTTP 200\n[Asserts]\njsonpath \"$.seen\" == \"\"\n";
            let flow = format!("GET http://{{{{host}}}}/items/1\n{authorization}\n{asserts}");
            shop.write("checkout.hurl", flow);
            let mut all = shop.run(command).with(1).all();
            if command != "verify" {
                all += &shop.export().to_string();
            }
            contains(&all, shown);
            lacks(&all, "swordfish");
            lacks(&all, "YW5uOnN3b3JkZmlzaA");
        }
    }
}

#[test]
fn what_a_server_wrote_is_recorded_unless_users_capture_secrets() {
    for (capture, is_recorded) in [("\"$.token\"", true), ("\"$.token\" redact", false)] {
        let changes = [["checkout.hurl", "\"$.token\"", capture]];
        let shop = shop_with("TELLS = \"all\"", &changes);
        shop.run("run --no-ceiling").with(0);
        let record = shop.export();
        for trial in record["trials"].as_array().unwrap() {
            let tail = trial["result"]["log_tail"].to_string();
            assert_eq!(tail.contains("password=***"), is_recorded, "{tail}");
            assert_eq!(tail == "null", !is_recorded, "{tail}");
        }
        lacks(&record.to_string(), "swordfish");
    }
}

#[test]
fn a_server_that_fails_only_under_load_is_not_ranked() {
    let verdict = "shop sent wrong responses and is not ranked";
    let breaks = shop_with("BREAKS_AFTER = \"8\"", &[]);
    breaks.run("verify").with(0);
    let measured = breaks.run("run --no-ceiling --warmup 0s").with(1).all();
    contains(&measured, "checkout.hurl:19:0: Assert failure");
    contains(&measured, verdict);

    // Flows that cannot go on in the warm-up, which is long enough for them even on a busy machine.
    let stuck = shop_with("EARLY_LISTS = \"1\"", &[]);
    stuck.run("verify").with(0);
    let measured = stuck.run("run --no-ceiling --warmup 2s").with(1).all();
    contains(&measured, verdict);
    let record = stuck.export();
    let failed = |load: &Value| load["warmup"]["failed_without_request"].as_u64().unwrap();
    assert!(loads(&record).into_iter().any(|load| failed(load) > 0));
}

#[test]
fn ab_loads_flows_without_a_measure_of_them() {
    let other = "[workload.item]\nrequest = { method = \"GET\", path = \"/items/1\" }\nresponse = { status = 200 }\n\n[[measure]]\nworkloads = [\"item\"]";
    let shop = shop_with("", &[["prony.toml", "[[measure]]", other]]);
    shop.commit("a shop");
    let short = "--duration 500ms --warmup 20ms --rounds 1 --connections 2";
    let words = format!("ab HEAD --workloads checkout --no-ceiling {short}");
    contains(&shop.run(&words).all(), "checkout, flows of 2 users");
    let record = shop.export();
    let trials = record["trials"].as_array().unwrap();
    let is_of_flows = |one: &Value| one["trial"]["load"]["flows"] == true;
    assert!(trials.len() >= 2 && trials.iter().all(is_of_flows));
}

#[test]
fn faults_are_reported_before_anything_starts() {
    // Both commands read the files alike.
    for [command, file, from, to, expected] in rows(
        r#"
        verify | prony.toml | checkout.hurl | check-out.hurl | check-out.hurl, which workload `checkout` needs: No such file
        run --no-ceiling | checkout.hurl | HTTP 201 | HTTP x | checkout.hurl:17:6 & 17 \x7c HTTP x\n   \x7c      ^
        verify | checkout.hurl | [Form] | [Options]\noutput: x\n[Form] | checkout.hurl:3:1 & 3 \x7c output: x\n   \x7c ^
        run --no-ceiling | checkout.hurl | items/{{item}} | items/{{itm}} | checkout.hurl:9: & `itm` & values = { variables = { itm =
        verify | checkout.hurl | http://{{host}}/orders | http://other:80/orders | checkout.hurl:14:6 & http://{{host}}
        run --no-ceiling | checkout.hurl | http: | https: | write scenario = { file = "checkout.hurl", tls = true }
        verify | prony.toml | scenario = "checkout.hurl" | scenario = { file = "checkout.hurl", tls = true } | begin with http:// & `tls = true`
        run --no-ceiling | prony.toml | connections = 2 | connections = 2, pipeline = 4 | prony.toml:16: field `load` & `pipeline` & `checkout`
        verify | prony.toml | rows = "users.csv" | rows = "user.csv" | user.csv, which workload `checkout` needs: No such file
        "#,
    ) {
        let started = "\nrun = [\"echo\", \"started\", ";
        let changes = [["prony.toml", "\nrun = [", started], [file, from, to]];
        let shop = shop_with("", &changes);
        let ended = shop.run(command).with(1).lacks("started");
        for text in expected.split(" & ") {
            contains(&ended.stderr, text);
        }
    }
}

#[test]
fn what_does_not_go_with_flows_is_refused() {
    shop_with("", &[]).check(
        "
        2 | run --no-ceiling --driver prony | does not support Hurl files
        2 | load shop -n1 --expect-status 200 | --expect-status does not go with a Hurl file
        ",
    );
}

#[test]
fn a_server_of_the_project_is_loaded_with_its_flows() {
    let shop = shop_with("", &[]);
    for event_loop in ["io_uring", "epoll"] {
        for users in ["-c2", "--users 2 --think-time 1ms", "--rate 200/s"] {
            let load = "load shop -n20 -t1 --json result.json --loop";
            shop.run(&format!("{load} {event_loop} {users}"))
                .with(0)
                .prints("  3 requests of checkout.hurl in each flow\n")
                .prints("  20 ok flows, ");
            let result = schema::valid("load", &shop.read("result.json"));
            assert_eq!(result["flows"]["failed"], 0, "{event_loop} {users}");
        }
    }
}

#[test]
fn connections_go_to_the_server_whatever_host_the_file_names() {
    let shop = shop_with("", &[["checkout.hurl", "{{host}}", "shop.example:81"]]);
    shop.check(
        "
        0 | verify | >verified shop × checkout
        0 | load shop -n3 | >http://shop.example:81/ (127.0.0.1:
        ",
    );
}

/// Flows of the reference server over the protocols of HTTP.
#[test]
fn flows_go_over_every_protocol() {
    let program = env!("CARGO_BIN_EXE_prony");
    let mut text = format!("rounds = 1\n[server.it]\nrun = [{program:?}, \"reference\"]\n");
    let workloads = rows(
        r#"
        plain | http | "plain.hurl"
        tls | https | { file = "tls.hurl", tls = true }
        h2c | http | { file = "h2c.hurl", protocol = "h2" }
        h2 | https | { file = "h2.hurl", tls = true, protocol = "h2" }
        "#,
    );
    let project = Project::empty();
    for [id, scheme, scenario] in &workloads {
        let get = format!("GET {scheme}://{{{{host}}}}/hello\nHTTP 200\n");
        let flow = format!("{get}[Captures]\nx: body\n\n{get}[Asserts]\nbody == {{{{x}}}}\n");
        project.write(&format!("{id}.hurl"), flow);
        text += &format!("[workload.{id}]\nscenario = {scenario}\n");
    }
    text += "[[measure]]\nload = { shape = \"closed\", connections = 2, requests = 50, warmup = \"0s\" }\n";
    project.write("prony.toml", text);
    let mut verified = project.run("verify").with(0);
    project.run("run --no-ceiling").with(0);
    let record = project.export();
    for [id, ..] in workloads {
        verified = verified.prints(&format!("verified it × {id}\n"));
        let trials = record["trials"].as_array().unwrap().iter();
        let own = trials.filter(|one| one["trial"]["workload"] == id);
        let flows: Vec<&Value> = own
            .map(|one| &one["result"]["load"]["flows"]["ok"])
            .collect();
        assert!(!flows.is_empty(), "{id}: {record}");
        assert!(flows.iter().all(|ok| **ok == 50), "{id}: {flows:?}");
    }
}
