//! Servers of `prony.toml` that already run: Prony measures them, and neither starts nor stops them.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::common::project::Project;
use crate::common::{Running, schema, until};
use crate::load::OwnPort;
use nix::sys::signal::Signal;
use prony_testkit::certificate::Certificate;
use prony_testkit::connections;
use prony_testkit::server::{self, Change, Response, Server};
use prony_testkit::table::rows;
use prony_testkit::tls_server::{
    self, close_plain, refuse, respond, respond_to_plain, serve, server_of,
};
use prony_testkit::{contains, lacks};
use serde_json::Value;

/// Only a request to the host of the URL is right.
pub(crate) const CHANGES: [(&str, Change); 1] = [("host", |request, response| {
    let host = request.header("host").unwrap().split(':').next().unwrap();
    let status = if request.path == "/hello" { 200 } else { 404 };
    *response = Response::new(status, "text/plain", host);
})];

/// A server that the test runs itself.
fn shop() -> Server {
    Server::start("host", &[])
}

/// The same over TLS.
fn shop_over_tls(certificate: &Certificate) -> Server {
    let [chain, key] = ["cert.pem", "key.pem"].map(|name| certificate.file(name));
    Server::start("host", &[("TLS_CERT", &chain), ("TLS_KEY", &key)])
}

const HELLO: &str = "\
[workload.hello]
request = { method = \"GET\", path = \"/hello\" }
response = { status = 200, body = { text = \"localhost\" } }
";

/// The same over TLS.
fn hello_over_tls() -> String {
    HELLO.replace("\"/hello\"", "\"/hello\", tls = true")
}

const SHORT: &str = "run --rounds 2 --duration 50ms --warmup 10ms";

/// A few requests to the server `shop`, all of which must succeed.
fn loads(project: &Project, id: &str) -> Value {
    let load = project.run(&format!("load {id} -c2 -n20 --json -")).with(0);
    let result = schema::valid(
        "load",
        &load.says("neither started nor pinned by Prony").stdout,
    );
    assert_eq!(result["outcomes"]["ok"], 20);
    result
}

#[test]
fn a_server_that_already_runs_is_described_verified_and_measured_and_goes_on() {
    let mut shop = shop();
    let project = Project::empty();
    let init = format!("init --url {}", shop.url());
    project.check(&format!(
        "0 | {init} --path /hello | >GET /hello with status 200"
    ));
    let text = project.read("prony.toml");
    contains(&text, &format!("url = \"{}\"", shop.url()));
    contains(&text, "body = { text = \"localhost\" }");
    lacks(&text, "run =");
    let named = text.lines().find(|line| line.starts_with("[server."));
    let id = &named.unwrap()["[server.".len()..].trim_end_matches(']');
    project.check(&format!(
        "
        0 | verify | >verified {id} × hello
        0 | list servers | >already runs
        0 | {SHORT} | >already ran: neither started nor pinned by Prony
        "
    ));
    let exported = project.export();
    let servers = exported["run"]["servers"].as_array().unwrap();
    let record = servers.iter().find(|server| server["id"] == *id).unwrap();
    assert_eq!(record["outside"]["url"], shop.url());
    assert_eq!(record["outside"]["unmeasured"], Value::Null);
    assert_eq!(record["source_hash"], "");
    assert_eq!(record["version"], Value::Null);
    let trials = exported["trials"].as_array().unwrap().iter();
    let own = trials.filter(|trial| trial["trial"]["server"] == *id);
    for result in own.map(|trial| &trial["result"]) {
        assert!(result["server"]["cpu_user_s"].is_number(), "{result}");
        assert!(result["server"]["peak_memory_bytes"].as_u64().unwrap() > 0);
        assert_eq!(result["startup_ns"], Value::Null);
        assert_eq!(result["warm_up"]["process"], "outside");
    }
    loads(&project, id);
    assert!(shop.is_alive());

    shop.stop();
    // No server of another test listens there now.
    let own = OwnPort::of(shop.port);
    let dead = format!("nothing listens on localhost:{}", own.port);
    project.check(&format!(
        "
        1 | verify | >{dead}
        1 | {SHORT} | >{id}: unreachable: {dead}
        1 | load {id} -n1 | {dead}
        1 | {init} --force | {dead}
        "
    ));
}

#[test]
fn the_row_of_a_server_that_prony_started_is_beside_it() {
    let shop = shop();
    let started = format!("run = {:?}\n[workload", server::command("host", "server"));
    let both = format!(
        "[server.mine]\nurl = \"{}\"\n[server.started]\n",
        shop.url()
    );
    // The right response of each is the name of its host.
    let hello = HELLO.replace("text = \"localhost\"", "matches = \"^(localhost|127.*)$\"");
    let project = Project::of(&(both + &hello.replacen("[workload", &started, 1)));
    let measured = project.run(SHORT).with(0).stdout;
    for once in [
        "Prony did not build, start or pin it",
        "already ran: neither",
    ] {
        assert_eq!(measured.matches(once).count(), 1, "{once}: {measured}");
    }
    let alone = project.run(&format!("{SHORT} --only started")).with(0);
    lacks(&alone.stdout, "already ran");
}

#[test]
fn a_server_over_tls_is_trusted_as_the_file_says() {
    let certificate = Certificate::new();
    let shop = shop_over_tls(&certificate);
    let url = shop.url().replace("http:", "https:");
    let server = |line: &str| format!("[server.shop]\nurl = \"{url}\"\n{line}\n");
    let hello = hello_over_tls();
    let project = Project::of(&(server("") + &hello));
    project.check("1 | verify | >add `cacert = \"FILE\"` beside its `url`");
    let trusted = format!("cacert = \"{}\"", certificate.file("cert.pem"));
    for trust in [trusted.as_str(), "insecure = true"] {
        project.write("prony.toml", server(trust) + &hello);
        project.check("0 | verify | >verified shop × hello");
        assert_eq!(loads(&project, "shop")["target"]["protocol"], "https/1.1");
    }
    project.check(&format!(
        "0 | {SHORT} --no-ceiling | >shop already ran at https://localhost:"
    ));
    // Without TLS in the workload, nothing fits the URL.
    project.write("prony.toml", server("insecure = true") + HELLO);
    project.check("1 | verify | add `tls = true` to its request");
}

#[test]
fn a_server_that_requires_a_client_certificate_gets_that_of_the_file() {
    let (certificate, client) = (Certificate::new(), Certificate::new());
    let address = serve(tls_server::config(&certificate, Some(&client)), respond);
    let workload = hello_over_tls().replace("text = \"localhost\"", "text = \"ok\"");
    let field = |name: &str, file: &str| format!("{name} = \"{}\"\n", client.file(file));
    let trust = format!("cacert = \"{}\"\n", certificate.file("cert.pem"));
    let project = |lines: &str| {
        let server = format!("[server.shop]\nurl = \"https://{address}\"\n{trust}{lines}");
        Project::of(&(server + &workload))
    };
    // The certificate is for localhost.
    let sni = "sni = \"localhost\"\n";
    let cert = field("cert", "cert.pem");
    let pair = cert.clone() + &field("key", "key.pem");
    for (lines, row) in [
        (pair.clone(), "1 | verify | >add `sni = \"NAME\"`"),
        (
            sni.to_owned(),
            "1 | verify | >it requires a client certificate; add `cert = \"FILE\"` beside its `url`",
        ),
        (
            format!("{sni}{cert}"),
            "1 | verify | >there is no private key in  & >; give its file with `key`",
        ),
    ] {
        project(&lines).check(row);
    }
    for identity in [pair, field("cert", "both.pem")] {
        let project = project(&format!("{sni}{identity}"));
        project.check("0 | verify | >verified shop × hello");
        loads(&project, "shop");
        project.run(&format!("{SHORT} --no-ceiling")).with(0);
    }
}

/// Another generator must load a server over TLS that already runs, whatever its certificate, unless it is not installed.
fn is_loaded_by(driver: &str, bounds: &str) {
    let certificate = Certificate::new();
    let port = server_of(&certificate, respond).port();
    let project = Project::of(&format!(
        "[server.shop]\nurl = \"https://localhost:{port}\"\ncacert = \"{}\"\n\
         [workload.ok]\nrequest = {{ method = \"GET\", path = \"/\", tls = true }}\n\
         response = {{ status = 200, body = {{ text = \"ok\" }} }}\n\
         [[measure]]\nload = {{ shape = \"closed\", connections = 2, duration = \"1s\", warmup = \"1s\", warmup_limit = \"0s\" }}\n",
        certificate.file("cert.pem")
    ));
    let run = "run --rounds=1 --no-ceiling --driver";
    let ended = project.run(&format!("{run} {driver} {bounds}"));
    if driver != "prony" && ended.stderr.contains(" is not installed; to install it: ") {
        return;
    }
    ended
        .with(0)
        .prints("shop already ran at https://localhost:");
    let load = &project.export()["trials"][0]["result"]["load"];
    let generator = load["generator"]["loop"].as_str().unwrap();
    assert!(generator.to_lowercase().starts_with(driver), "{generator}");
    assert_eq!(load["target"]["protocol"], "https/1.1");
    assert!(load["outcomes"]["ok"].as_u64().unwrap() > 0, "{load}");
}

/// The driver `prony` is always installed.
#[test]
fn a_server_over_tls_that_already_runs_is_loaded_by_another_generator() {
    is_loaded_by("prony", "--duration=2s --warmup=10ms");
}

#[test]
#[ignore = "full check: other generators take whole seconds"]
fn a_server_over_tls_that_already_runs_is_loaded_by_every_installed_generator() {
    for driver in ["prony", "wrk", "h2load", "oha"] {
        is_loaded_by(driver, "");
    }
}

#[test]
fn the_capacity_of_a_server_that_already_runs_is_searched() {
    let certificate = Certificate::new();
    let trust = "insecure = true\n";
    for (mut shop, scheme, trust, hello) in [
        (shop(), "http", "", HELLO.to_owned()),
        (
            shop_over_tls(&certificate),
            "https",
            trust,
            hello_over_tls(),
        ),
    ] {
        let url = shop.url().replace("http:", &format!("{scheme}:"));
        let project = Project::of(&format!("[server.shop]\nurl = \"{url}\"\n{trust}{hello}"));
        // Only the first rate fits into the budget.
        let short = "-t1 --warmup=50ms -d200ms --budget=300ms --json=found.json";
        project
            .run(&format!("capacity shop --objective=p50<10s {short}"))
            .with(1)
            .prints(&format!("GET {url}/hello (127.0.0.1:{})", shop.port))
            .prints("and no more is known");
        let found = schema::valid("capacity", &project.read("found.json"));
        assert_eq!(found["target"]["protocol"], format!("{scheme}/1.1"));
        let attempt = &found["attempts"][0];
        assert!(attempt["ok"].as_u64().unwrap() > 0, "{attempt}");
        // Its processes are not those of other programs.
        assert_eq!(attempt["noise"]["server"], "seen");
        assert!(shop.is_alive());
    }
}

/// Every command says the same of a server whose URL has the wrong scheme, and `prony init` writes nothing.
fn is_corrected(url: &str, workload: &str, right: &str, fault: &str, advice: &str) {
    let project = Project::of(&format!("[server.shop]\nurl = \"{url}\"\n{workload}"));
    let message = format!("the server at {url} {fault}");
    let advised = format!("{message}; write `url = \"{right}\"` in prony.toml, {advice}\\n");
    project.check(&format!(
        "
        1 | verify | >{advised}
        1 | {SHORT} | {advised}
        1 | load shop | {advised}
        1 | capacity shop | {advised}
        "
    ));
    let empty = Project::empty();
    empty.check(&format!(
        "
        2 | init --url {url} | {message}; use --url {right}\\n
        2 | init --url {url} --path /hello | {message}; use --url {right}\\n
        "
    ));
    assert!(!empty.path().join("prony.toml").exists());
}

#[test]
fn a_url_with_the_wrong_scheme_is_corrected() {
    let certificate = Certificate::new();
    let over_tls = shop_over_tls(&certificate);
    let of_respond = |respond| server_of(&certificate, respond).port();
    let others = [respond as fn(_, _), respond_to_plain, close_plain].map(of_respond);
    for port in others.into_iter().chain([over_tls.port]) {
        let [url, right] = ["http", "https"].map(|scheme| format!("{scheme}://localhost:{port}"));
        let advice = "and `tls = true` in the requests of its workloads (for a Hurl file: https:// in its URLs, \
                      and scenario = { file = \"…\", tls = true })";
        is_corrected(&url, HELLO, &right, "speaks TLS", advice);
    }
    let plain = shop();
    let url = plain.url().replace("http:", "https:");
    let hello = format!("insecure = true\n{}", hello_over_tls());
    let advice = "and remove `tls = true` from the requests of its workloads (for a Hurl file: from `scenario`, \
                  and write http:// in its URLs)";
    is_corrected(&url, &hello, &plain.url(), "does not speak TLS", advice);
}

/// A server that responds with 404 or 400 still has a right URL.
#[test]
fn an_unexpected_status_is_not_blamed_on_the_scheme() {
    let shop = shop();
    let wrong = HELLO.replace("/hello", "/nothing");
    let project = Project::of(&format!("[server.shop]\nurl = \"{}\"\n{wrong}", shop.url()));
    project.run("verify").with(1).prints("404").lacks("TLS");
    let refuses = server_of(&Certificate::new(), refuse);
    let init = format!("init --url http://{refuses} --path /");
    let described = Project::empty().run(&init).with(0);
    described.prints("GET / with status 400");
}

/// A server that says how long users pause, and counts the requests: from the `last` one on, they pause long.
fn pausing(last: usize) -> (SocketAddr, Arc<AtomicUsize>) {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let address = connections::serve(move |stream| {
        let heads = BufReader::new(stream.try_clone().unwrap()).lines();
        for _ in heads.map_while(Result::ok).filter(String::is_empty) {
            let number = counted.fetch_add(1, SeqCst) + 1;
            let body = if number >= last { "50000" } else { "00000" };
            let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{body}");
            let _ = (&stream).write_all(response.as_bytes());
        }
    });
    (address, requests)
}

#[test]
fn an_interrupt_during_a_flow_is_not_blamed_on_the_server() {
    // The verification takes two flows of two requests each.
    for (words, last) in [("verify", 1), ("run --no-ceiling", 5)] {
        let (address, requests) = pausing(last);
        let project = Project::of(&format!(
            "[server.shop]\nurl = \"http://{address}\"\n[workload.flow]\nscenario = \"flow.hurl\"\n"
        ));
        let flow = "GET http://{{host}}/\nHTTP 200\n[Captures]\npause: body toInt\n\
                    GET http://{{host}}/\n[Options]\ndelay: {{pause}}\n";
        project.write("flow.hurl", flow);
        let running = Running::start(project.prony(words));
        until("the first request with a long pause", || {
            (requests.load(SeqCst) >= last).then_some(())
        });
        running.signal(Signal::SIGINT);
        running.end().with(130).lacks("WRONG");
        if words != "verify" {
            assert_eq!(project.export()["trials"], Value::Array(Vec::new()));
        }
    }
}

#[test]
fn what_needs_a_start_is_refused() {
    let shop = shop();
    let project = Project::of(&format!("[server.shop]\nurl = \"{}\"\n{HELLO}", shop.url()));
    project.commit("A shop");
    project.check(
        "
        2 | ab HEAD | `shop` already runs at http://localhost: & give it `run` instead of `url`
        2 | ab HEAD --server shop | `shop` already runs at http://localhost: & give it `run` instead of `url`
        ",
    );
    let counting = format!(
        "[server.shop]\nurl = \"{}\"\n{HELLO}[[measure]]\nby = \"instructions\"\n",
        shop.url()
    );
    let only = "counts the instructions only of servers that it starts, and `shop` already runs";
    Project::of(&counting).check(&format!("2 | run | {only} & leave it out with --only"));
    // The lines that a server logs are those of its own standard output.
    project.edit("prony.toml", "status = 200", "status = 200, log_lines = 1");
    let uncounted = "Prony did not start the server, so it cannot count the lines";
    project.check(&format!("1 | verify | >{uncounted}"));
}

#[test]
fn bad_urls_are_refused_with_what_to_write() {
    let empty = Project::empty();
    for [url, expected] in rows(
        "
        localhost:8080 | does not begin with http://
        http://localhost:8080/api | has the path `/api`
        http://me:secret@localhost | `basic_auth`
        ws://localhost | `ws://` is not supported
        unix:/run/shop.sock | --unix-socket
        http://localhost:0 | is not 1 to 65535
        ",
    ) {
        let project = Project::of(&format!("[server.shop]\nurl = \"{url}\"\n{HELLO}"));
        project.check(&format!("1 | verify | prony.toml:2:  & {expected}"));
        empty.check(&format!("2 | init --url {url} | {expected}"));
    }
    empty.check(
        "
        2 | init --url http://a --run b | cannot be used with
        2 | init | prony init --url http://localhost:8080
        ",
    );
    assert_eq!(empty.path().read_dir().unwrap().count(), 0);
}
