//! Workloads of `prony.toml` that are Hurl files.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::common::{Ended, prony, run, schema};
use prony_testkit::server::{self, Change, Request, Response};
use serde_json::{Value, json};
use tempfile::TempDir;

pub const CHANGES: [(&str, Change); 1] = [("shop", shop)];

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

[workload.checkout]
scenario = \"checkout.hurl\"

[workload.checkout.values]
variables = { password = { env = \"SHOP_PASSWORD\", secret = true } }
rows = \"users.csv\"
counters = { number = 1000 }

[[measure]]
load = { shape = \"closed\", connections = 2, requests = 40, warmup = \"20ms\", warmup_limit = \"0s\" }
";

/// A project with the shop, some of whose files are changed.
struct Shop(TempDir);

impl Shop {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let command = server::command("shop", "server");
        for (name, text) in [
            ("checkout.hurl", CHECKOUT),
            (
                "prony.toml",
                &PROJECT.replace("SERVER", &format!("{command:?}")),
            ),
            ("users.csv", "user,item\nann,1\nbob,2\n"),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// The same with another text in a file.
    fn with(self, file: &str, from: &str, to: &str) -> Self {
        let file = self.path().join(file);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{text} lacks {from}");
        fs::write(&file, text.replace(from, to)).unwrap();
        self
    }

    /// The same whose server has this variable.
    fn with_variable(self, name: &str, value: &str) -> Self {
        let variable = format!("[server.shop]\nenv = {{ {name} = \"{value}\" }}\n");
        self.with("prony.toml", "[server.shop]\n", &variable)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = prony(arguments);
        command.current_dir(self.path());
        command.env("SHOP_PASSWORD", "swordfish");
        command
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        run(self.command(arguments))
    }

    /// The last run as `prony export` has it.
    fn export(&self) -> Value {
        let exported = self.run(&["export"]).with(0);
        schema::run(&exported.stdout)
    }
}

/// The measured loads of an exported run.
fn loads(record: &Value) -> Vec<&Value> {
    let trials = record["trials"].as_array().unwrap();
    let loads = trials.iter().map(|trial| &trial["result"]["load"]);
    loads.filter(|load| !load.is_null()).collect()
}

#[test]
fn flows_are_verified_measured_and_reported() {
    let shop = Shop::new();
    shop.run(&["list", "workloads"])
        .with(0)
        .prints("checkout  flows of checkout.hurl over http/1.1");
    shop.run(&["verify"])
        .with(0)
        .prints("verified shop × checkout");
    let report = ["run", "--no-ceiling", "--markdown", "report.md"];
    let measured = shop.run(&report).with(0);
    let measured = measured.prints("2 users, closed loop of flows, ");
    let measured = measured.prints("shop    whole flows");
    let record = shop.export();
    let loads = loads(&record);
    // A noisy trial is run again.
    assert!(loads.len() >= 2, "{record}");
    for load in loads {
        let flows = &load["flows"];
        assert_eq!(load["load"]["flows"], true);
        // Each load begins with the first number, so none of its orders is refused.
        assert_eq!(flows["failed"], 0, "{flows}");
        assert_eq!(flows["ok"], 40, "{flows}");
        let entries = flows["entries"].as_array().unwrap().iter();
        let names: Vec<&str> = entries
            .map(|entry| entry["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            names,
            ["POST /login", "GET /items/{{item}}", "POST /orders"]
        );
    }
    let report = fs::read_to_string(shop.path().join("report.md")).unwrap();
    assert!(report.contains("### Flows and their requests"), "{report}");
    let rows = report.lines().filter(|line| line.starts_with("| shop | "));
    let requests: Vec<&str> = rows
        .filter_map(|row| row.split(" | ").nth(1))
        .filter(|cell| cell.contains(' '))
        .collect();
    assert!(requests.contains(&"GET /items/{{item}}"), "{report}");
    for all in [&measured.all(), &report, &record.to_string()] {
        assert!(!all.contains("swordfish"), "{all}");
    }
}

#[test]
fn a_wrong_response_is_shown_with_its_place() {
    let shop = Shop::new().with("checkout.hurl", "\"$.id\" == {{item}}", "\"$.id\" == 7");
    let why = "checkout.hurl:12:0: Assert failure: actual: integer <1> expected: integer <7>";
    shop.run(&["verify"])
        .with(1)
        .prints("WRONG    shop × checkout")
        .prints("expected a response to GET /items/{{item}} as in checkout.hurl")
        .prints(&format!("received {why}"));
    shop.run(&["run", "--no-ceiling"])
        .with(1)
        .prints("Not measured");
    shop.run(&["load", "shop", "-n1", "--ready-timeout", "3s"])
        .with(1)
        .says(why);
}

#[test]
fn secrets_are_not_shown() {
    let shop = Shop::new().with(
        "checkout.hurl",
        "jsonpath \"$.token\"\n",
        "jsonpath \"$.token\"\n[Asserts]\njsonpath \"$.token\" == \"{{password}}\"\n",
    );
    let ended = shop.run(&["verify"]).with(1).prints("***");
    assert!(!ended.all().contains("swordfish"), "{}", ended.all());
}

#[test]
fn a_secret_in_a_variable_or_in_credentials_is_neither_shown_nor_recorded() {
    let asserts = "HTTP 200\n[Asserts]\njsonpath \"$.seen\" == \"\"\n";
    for (authorization, shown) in [
        ("Authorization: {{token}}", "actual: string <***>"),
        (
            "[BasicAuth]\nann: {{password}}",
            "actual: string <Basic ***>",
        ),
    ] {
        for (leaks_after, command) in [("0", &["verify"][..]), ("8", &["run", "--no-ceiling"])] {
            let secrets = "token = { env = \"SHOP_PASSWORD\", prefix = \"Bearer \", secret = true }, password = ";
            let shop = Shop::new()
                .with("prony.toml", "password = ", secrets)
                .with_variable("LEAKS_AFTER", leaks_after);
            let flow = format!("GET http://{{{{host}}}}/items/1\n{authorization}\n{asserts}");
            fs::write(shop.path().join("checkout.hurl"), flow).unwrap();
            let told = shop.run(command).with(1).all();
            let told = match command[0] {
                "run" => told + &shop.export().to_string(),
                _ => told,
            };
            assert!(told.contains(shown), "{told} lacks {shown}");
            for secret in ["swordfish", "YW5uOnN3b3JkZmlzaA"] {
                assert!(!told.contains(secret), "{told}");
            }
        }
    }
}

#[test]
fn what_a_server_wrote_before_a_load_is_shown_without_secrets() {
    let shop = Shop::new()
        .with("checkout.hurl", "\"$.id\" == {{item}}", "\"$.id\" == 7")
        .with_variable("TELLS", "all");
    let load = shop.run(&["load", "shop", "-n1", "--ready-timeout", "3s"]);
    let told = load.with(1).says("password=***").all();
    assert!(!told.contains("swordfish"), "{told}");
}

#[test]
fn what_a_server_wrote_is_recorded_unless_users_capture_secrets() {
    for (capture, is_recorded) in [("\"$.token\"", true), ("\"$.token\" redact", false)] {
        let shop = Shop::new()
            .with("checkout.hurl", "\"$.token\"", capture)
            .with_variable("TELLS", "all");
        shop.run(&["run", "--no-ceiling"]).with(0);
        let record = shop.export();
        for trial in record["trials"].as_array().unwrap() {
            let tail = trial["result"]["log_tail"].to_string();
            assert_eq!(tail.contains("password=***"), is_recorded, "{tail}");
            assert_eq!(tail == "null", !is_recorded, "{tail}");
        }
        assert!(!record.to_string().contains("swordfish"));
    }
}

#[test]
fn a_server_that_fails_only_under_load_is_not_ranked() {
    let shop = Shop::new().with_variable("BREAKS_AFTER", "8");
    shop.run(&["verify"]).with(0);
    let measured = shop.run(&["run", "--no-ceiling", "--warmup", "0s"]).with(1);
    let all = measured.all();
    assert!(all.contains("checkout.hurl:19:0: Assert failure"), "{all}");
    let verdict = "shop sent wrong responses and is not ranked";
    assert!(all.contains(verdict), "{all}");
}

#[test]
fn a_server_whose_flows_cannot_go_on_in_the_warm_up_is_not_ranked() {
    let shop = Shop::new().with_variable("EARLY_LISTS", "1");
    shop.run(&["verify"]).with(0);
    let measured = shop.run(&["run", "--no-ceiling", "--warmup", "500ms"]);
    let all = measured.with(1).all();
    let verdict = "shop sent wrong responses and is not ranked";
    assert!(all.contains(verdict), "{all}");
    let record = shop.export();
    let stuck = |load: &Value| load["warmup"]["failed_without_request"].as_u64().unwrap();
    assert!(loads(&record).into_iter().any(|load| stuck(load) > 0));
}

#[test]
fn ab_loads_flows_without_a_measure_of_them() {
    let other = "[workload.item]\nrequest = { method = \"GET\", path = \"/items/1\" }\nresponse = { status = 200 }\n\n[[measure]]\nworkloads = [\"item\"]";
    let shop = Shop::new().with("prony.toml", "[[measure]]", other);
    fs::write(shop.path().join(".gitignore"), ".prony\n").unwrap();
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "."],
        &["commit", "--quiet", "--message", "a shop"],
    ] {
        let mut git = Command::new("git");
        git.current_dir(shop.path());
        git.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]);
        run({
            git.args(arguments);
            git
        })
        .with(0);
    }
    let short = [
        "--duration",
        "100ms",
        "--warmup",
        "20ms",
        "--rounds",
        "1",
        "--connections",
        "2",
    ];
    let arguments = [
        &["ab", "HEAD", "--workloads", "checkout", "--no-ceiling"][..],
        &short,
    ]
    .concat();
    let compared = shop.run(&arguments);
    assert!(
        compared.all().contains("checkout, flows of 2 users"),
        "{}",
        compared.all()
    );
    let record = shop.export();
    let trials = record["trials"].as_array().unwrap();
    let is_of_flows = |one: &Value| one["trial"]["load"]["flows"] == true;
    assert!(trials.len() >= 2 && trials.iter().all(is_of_flows));
}

#[test]
fn faults_are_reported_before_anything_starts() {
    for (file, from, to, expected) in [
        (
            "prony.toml",
            "checkout.hurl",
            "check-out.hurl",
            &["check-out.hurl, which workload `checkout` needs: No such file"][..],
        ),
        (
            "checkout.hurl",
            "HTTP 201",
            "HTTP x",
            &["checkout.hurl:17:6", "17 | HTTP x\n   |      ^ "],
        ),
        (
            "checkout.hurl",
            "[Form]",
            "[Options]\noutput: x\n[Form]",
            &["checkout.hurl:3:1", "3 | output: x\n   | ^ "],
        ),
        (
            "checkout.hurl",
            "items/{{item}}",
            "items/{{itm}}",
            &[
                "checkout.hurl:9:",
                "`itm`",
                "values = { variables = { itm = ",
            ],
        ),
        (
            "checkout.hurl",
            "http://{{host}}/orders",
            "http://other:80/orders",
            &["checkout.hurl:14:6", "http://{{host}}"],
        ),
        (
            "checkout.hurl",
            "http:",
            "https:",
            &["write scenario = { file = \"checkout.hurl\", tls = true }"],
        ),
        (
            "prony.toml",
            "scenario = \"checkout.hurl\"",
            "scenario = { file = \"checkout.hurl\", tls = true }",
            &["begin with http://", "`tls = true`"],
        ),
        (
            "prony.toml",
            "connections = 2",
            "connections = 2, pipeline = 4",
            &["prony.toml:15: field `load`", "`pipeline`", "`checkout`"],
        ),
        (
            "prony.toml",
            "rows = \"users.csv\"",
            "rows = \"user.csv\"",
            &["user.csv, which workload `checkout` needs: No such file"],
        ),
    ] {
        let shop = Shop::new().with(
            "prony.toml",
            "\nrun = [",
            "\nrun = [\"echo\", \"started\", ",
        );
        let shop = shop.with(file, from, to);
        for command in [&["verify"][..], &["run", "--no-ceiling"]] {
            let ended = shop.run(command).with(1);
            for text in expected {
                assert!(ended.stderr.contains(text), "{}\nlacks {text}", ended.all());
            }
            assert!(!ended.all().contains("started"), "{}", ended.all());
        }
    }
}

#[test]
fn other_generators_refuse_flows() {
    let shop = Shop::new();
    shop.run(&["run", "--no-ceiling", "--driver", "prony"])
        .with(2)
        .says("does not support Hurl files");
}

#[test]
fn a_server_of_the_project_is_loaded_with_its_flows() {
    let shop = Shop::new();
    for event_loop in ["io_uring", "epoll"] {
        for more in [
            &["-c2"][..],
            &["--users", "2", "--think-time", "1ms"],
            &["--rate", "200/s"],
        ] {
            let load = ["load", "shop", "-n20", "-t1", "--loop", event_loop];
            let json = ["--json", "result.json"];
            shop.run(&[&load, more, &json].concat())
                .with(0)
                .prints("  3 requests of checkout.hurl in each flow\n")
                .prints("  20 ok flows, ");
            let result = fs::read_to_string(shop.path().join("result.json")).unwrap();
            let result: Value = serde_json::from_str(&result).unwrap();
            assert_eq!(result["flows"]["failed"], 0, "{event_loop} {more:?}");
        }
    }
    shop.run(&["load", "shop", "-n1", "--expect-status", "200"])
        .with(2)
        .says("--expect-status does not go with a Hurl file");
}

#[test]
fn connections_go_to_the_server_whatever_host_the_file_names() {
    let shop = Shop::new().with("checkout.hurl", "{{host}}", "shop.example:81");
    shop.run(&["verify"]).with(0);
    shop.run(&["load", "shop", "-n3"])
        .with(0)
        .prints("http://shop.example:81/ (127.0.0.1:");
}

/// Flows of the reference server over the protocols of HTTP.
#[test]
fn flows_go_over_every_protocol() {
    let shop = Shop(tempfile::tempdir().unwrap());
    let program = env!("CARGO_BIN_EXE_prony");
    let mut text = format!("rounds = 1\n[server.it]\nrun = [{program:?}, \"reference\"]\n");
    let workloads = [
        ("plain", "http", "\"plain.hurl\""),
        ("tls", "https", "{ file = \"tls.hurl\", tls = true }"),
        ("h2c", "http", "{ file = \"h2c.hurl\", protocol = \"h2\" }"),
        (
            "h2",
            "https",
            "{ file = \"h2.hurl\", tls = true, protocol = \"h2\" }",
        ),
    ];
    for (id, scheme, scenario) in workloads {
        let get = format!("GET {scheme}://{{{{host}}}}/hello\nHTTP 200\n");
        let flow = format!("{get}[Captures]\nx: body\n\n{get}[Asserts]\nbody == {{{{x}}}}\n");
        fs::write(shop.path().join(format!("{id}.hurl")), flow).unwrap();
        text += &format!("[workload.{id}]\nscenario = {scenario}\n");
    }
    text += "[[measure]]\nload = { shape = \"closed\", connections = 2, requests = 50, warmup = \"0s\" }\n";
    fs::write(shop.path().join("prony.toml"), text).unwrap();
    let mut verified = shop.run(&["verify"]).with(0);
    shop.run(&["run", "--no-ceiling"]).with(0);
    let record = shop.export();
    for (id, ..) in workloads {
        verified = verified.prints(&format!("verified it × {id}\n"));
        let trials = record["trials"].as_array().unwrap().iter();
        let own = trials.filter(|one| one["trial"]["workload"] == id);
        let flows: Vec<&Value> = own
            .map(|one| &one["result"]["load"]["flows"]["ok"])
            .collect();
        assert!(
            !flows.is_empty() && flows.iter().all(|ok| **ok == 50),
            "{id}: {flows:?}"
        );
    }
}
