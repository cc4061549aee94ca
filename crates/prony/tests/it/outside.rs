//! Servers of `prony.toml` that already run: Prony measures them, and neither starts nor stops them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::common::{Running, here, prony, until};
use nix::sys::signal::Signal;
use prony_testkit::certificate::Certificate;
use prony_testkit::server::{self, Change, Response, Server};
use prony_testkit::tls_server::{
    self, close_plain, refuse, respond, respond_to_plain, serve, server_of,
};
use serde_json::Value;
use tempfile::TempDir;

/// Only a request to the host of the URL is right.
pub const CHANGES: [(&str, Change); 1] = [("host", |request, response| {
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

/// A folder with this `prony.toml`.
fn project(text: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("prony.toml"), text).unwrap();
    folder
}

const HELLO: &str = "\
[workload.hello]
request = { method = \"GET\", path = \"/hello\" }
response = { status = 200, body = { text = \"localhost\" } }
";

const SHORT: [&str; 7] = [
    "run",
    "--rounds",
    "2",
    "--duration",
    "50ms",
    "--warmup",
    "10ms",
];

#[test]
fn a_server_that_already_runs_is_described_verified_and_measured_and_goes_on() {
    let mut shop = shop();
    let folder = tempfile::tempdir().unwrap();
    let init = ["init", "--url", &shop.url(), "--path", "/hello"];
    here(&folder, &init)
        .with(0)
        .prints("GET /hello with status 200");
    let file = folder.path().join("prony.toml");
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains(&format!("url = \"{}\"", shop.url())),
        "{text}"
    );
    assert!(text.contains("body = { text = \"localhost\" }"), "{text}");
    assert!(!text.contains("run ="), "{text}");
    let named = text.lines().find(|line| line.starts_with("[server."));
    let id = &named.unwrap()["[server.".len()..].trim_end_matches(']');
    here(&folder, &["verify"])
        .with(0)
        .prints(&format!("verified {id} × hello"));
    here(&folder, &["list", "servers"])
        .with(0)
        .prints("already runs");
    here(&folder, &SHORT)
        .with(0)
        .prints("already ran: neither started nor pinned by Prony");
    let exported = here(&folder, &["export"]).with(0);
    let exported: Value = serde_json::from_str(&exported.stdout).unwrap();
    let servers = exported["run"]["servers"].as_array().unwrap();
    let record = servers.iter().find(|server| server["id"] == *id).unwrap();
    assert_eq!(record["outside"]["url"], shop.url());
    assert_eq!(record["outside"]["unmeasured"], Value::Null);
    assert_eq!(
        (&record["source_hash"], &record["version"]),
        (&"".into(), &Value::Null)
    );
    let trials = exported["trials"].as_array().unwrap();
    let own = trials
        .iter()
        .filter(|trial| trial["trial"]["server"] == *id);
    for result in own.map(|trial| &trial["result"]) {
        assert!(result["server"]["cpu_user_s"].is_number(), "{result}");
        assert!(result["server"]["peak_memory_bytes"].as_u64().unwrap() > 0);
        assert_eq!(result["startup_ns"], Value::Null);
        assert_eq!(result["warm_up"]["process"], "outside");
    }
    let loaded = here(&folder, &["load", id, "-c2", "-n20", "--json", "-"]).with(0);
    let loaded = loaded.says("neither started nor pinned by Prony");
    let result: Value = serde_json::from_str(&loaded.stdout).unwrap();
    assert_eq!(result["outcomes"]["ok"], 20);
    assert!(shop.is_alive());

    shop.stop();
    let dead = format!("nothing listens on localhost:{}", shop.port);
    here(&folder, &["verify"]).with(1).prints(&dead);
    here(&folder, &SHORT)
        .with(1)
        .prints(&format!("{id}: unreachable: {dead}"));
    here(&folder, &["load", id, "-n1"]).with(1).says(&dead);
    here(&folder, &["init", "--force", "--url", &shop.url()])
        .with(1)
        .says(&dead);
}

#[test]
fn the_row_of_a_server_that_prony_started_is_beside_it() {
    let shop = shop();
    let started = format!("run = {:?}\n[workload", server::command("host", "server"));
    let both = format!(
        "[server.mine]\nurl = \"{}\"\n[server.started]\n",
        shop.url()
    );
    let text = both + &HELLO.replacen("[workload", &started, 1);
    // The right response of each is the name of its host.
    let folder =
        project(&text.replace("text = \"localhost\"", "matches = \"^(localhost|127.*)$\""));
    let measured = here(&folder, &SHORT).with(0);
    let notes = measured
        .stdout
        .matches("Prony did not build, start or pin it");
    assert_eq!(notes.count(), 1, "{}", measured.stdout);
    let flags = measured.stdout.matches("already ran: neither");
    assert_eq!(flags.count(), 1, "{}", measured.stdout);
    let alone = here(&folder, &[&SHORT[..], &["--only", "started"]].concat()).with(0);
    assert!(!alone.stdout.contains("already ran"), "{}", alone.stdout);
}

#[test]
fn a_server_over_tls_is_trusted_as_the_file_says() {
    let certificate = Certificate::new();
    let shop = shop_over_tls(&certificate);
    let url = shop.url().replace("http:", "https:");
    let server = |line: &str| format!("[server.shop]\nurl = \"{url}\"\n{line}\n");
    let hello = HELLO.replace("\"/hello\"", "\"/hello\", tls = true");
    let folder = project(&(server("") + &hello));
    here(&folder, &["verify"])
        .with(1)
        .prints("add `cacert = \"FILE\"` beside its `url`");
    let file = folder.path().join("prony.toml");
    let trusted = server(&format!("cacert = \"{}\"", certificate.file("cert.pem"))) + &hello;
    for text in [trusted, server("insecure = true") + &hello] {
        fs::write(&file, text).unwrap();
        here(&folder, &["verify"])
            .with(0)
            .prints("verified shop × hello");
        let load = here(&folder, &["load", "shop", "-c1", "-n5", "--json", "-"]).with(0);
        let result: Value = serde_json::from_str(&load.stdout).unwrap();
        assert_eq!(result["target"]["protocol"], "https/1.1");
        assert_eq!(result["outcomes"]["ok"], 5);
    }
    here(&folder, &[&SHORT[..], &["--no-ceiling"]].concat())
        .with(0)
        .prints("shop already ran at https://localhost:");
    // Without TLS in the workload, nothing fits the URL.
    fs::write(&file, server("insecure = true") + HELLO).unwrap();
    here(&folder, &["verify"])
        .with(1)
        .says("add `tls = true` to its request");
}

#[test]
fn a_server_that_requires_a_client_certificate_gets_that_of_the_file() {
    let (certificate, client) = (Certificate::new(), Certificate::new());
    let address = serve(tls_server::config(&certificate, Some(&client)), respond);
    let workload = HELLO
        .replace("\"/hello\"", "\"/hello\", tls = true")
        .replace("text = \"localhost\"", "text = \"ok\"");
    let file = |name: &str| client.file(name);
    // The certificate is for localhost.
    let server = format!(
        "[server.shop]\nurl = \"https://{address}\"\ncacert = \"{}\"\n",
        certificate.file("cert.pem")
    );
    let sni = "sni = \"localhost\"\n";
    let cert = format!("cert = \"{}\"\n", file("cert.pem"));
    let key = format!("key = \"{}\"\n", file("key.pem"));
    let both = format!("cert = \"{}\"\n", file("both.pem"));
    let verify = |lines: &[&str], code| {
        let text = [&[&server[..]], lines, &[&workload]].concat().concat();
        let folder = project(&text);
        let ended = here(&folder, &["verify"]).with(code);
        (ended, folder)
    };
    verify(&[&cert, &key], 1).0.prints("add `sni = \"NAME\"`");
    verify(&[sni], 1)
        .0
        .prints("it requires a client certificate; add `cert = \"FILE\"` beside its `url`");
    verify(&[sni, &cert], 1)
        .0
        .prints("there is no private key in ")
        .prints("; give its file with `key`");
    for identity in [cert + &key, both] {
        let (verified, folder) = verify(&[sni, &identity], 0);
        verified.prints("verified shop × hello");
        let load = here(&folder, &["load", "shop", "-c1", "-n5", "--json", "-"]).with(0);
        let result: Value = serde_json::from_str(&load.stdout).unwrap();
        assert_eq!(result["outcomes"]["ok"], 5);
        here(&folder, &[&SHORT[..], &["--no-ceiling"]].concat()).with(0);
    }
}

/// Another generator must load a server over TLS that already runs, whatever its certificate, unless it is not installed.
fn is_loaded_by(driver: &str, bounds: &[&str]) {
    let certificate = Certificate::new();
    let port = server_of(&certificate, respond).port();
    let folder = project(&format!(
        "[server.shop]\nurl = \"https://localhost:{port}\"\ncacert = \"{}\"\n\
         [workload.ok]\nrequest = {{ method = \"GET\", path = \"/\", tls = true }}\n\
         response = {{ status = 200, body = {{ text = \"ok\" }} }}\n\
         [[measure]]\nload = {{ shape = \"closed\", connections = 2, duration = \"1s\", warmup = \"1s\", warmup_limit = \"0s\" }}\n",
        certificate.file("cert.pem")
    ));
    let run = ["run", "--rounds=1", "--no-ceiling", "--driver", driver];
    let ended = here(&folder, &[&run[..], bounds].concat());
    if driver != "prony" && ended.stderr.contains(" is not installed; to install it: ") {
        return;
    }
    ended
        .with(0)
        .prints("shop already ran at https://localhost:");
    let record = here(&folder, &["export"]).with(0).stdout;
    let record: Value = serde_json::from_str(&record).unwrap();
    let load = &record["trials"][0]["result"]["load"];
    let generator = load["generator"]["loop"].as_str().unwrap();
    let named = generator.to_lowercase().starts_with(driver);
    assert!(named, "{generator}");
    assert_eq!(load["target"]["protocol"], "https/1.1");
    assert!(load["outcomes"]["ok"].as_u64().unwrap() > 0, "{load}");
}

/// The driver `prony` is always installed.
#[test]
fn a_server_over_tls_that_already_runs_is_loaded_by_another_generator() {
    is_loaded_by("prony", &["--duration=500ms", "--warmup=10ms"]);
}

#[test]
#[ignore = "full check: other generators take whole seconds"]
fn a_server_over_tls_that_already_runs_is_loaded_by_every_installed_generator() {
    for driver in ["prony", "wrk", "h2load", "oha"] {
        is_loaded_by(driver, &[]);
    }
}

#[test]
fn the_capacity_of_a_server_that_already_runs_is_searched() {
    let certificate = Certificate::new();
    for (mut shop, scheme, protocol) in [
        (shop(), "http", "http/1.1"),
        (shop_over_tls(&certificate), "https", "https/1.1"),
    ] {
        let url = shop.url().replace("http:", &format!("{scheme}:"));
        let tls = scheme == "https";
        let server = format!("[server.shop]\nurl = \"{url}\"\n");
        let trust = if tls { "insecure = true\n" } else { "" };
        let hello = HELLO.replace("\"/hello\"", &format!("\"/hello\", tls = {tls}"));
        let folder = project(&(server + trust + &hello));
        // Only the first rate fits into the budget.
        let short = ["-t1", "--warmup=50ms", "-d200ms", "--budget=300ms"];
        let search = ["capacity", "shop", "--slo=p50<10s", "--json=found.json"];
        here(&folder, &[&search[..], &short].concat())
            .with(1)
            .prints(&format!("GET {url}/hello (127.0.0.1:{})", shop.port))
            .prints("Capacity: not found");
        let found = fs::read_to_string(folder.path().join("found.json")).unwrap();
        let found: Value = serde_json::from_str(&found).unwrap();
        assert_eq!(found["target"]["protocol"], protocol);
        let attempt = &found["attempts"][0];
        assert!(attempt["ok"].as_u64().unwrap() > 0, "{attempt}");
        // Its processes are not those of other programs.
        assert_eq!(attempt["noise"]["server"], "seen");
        assert!(shop.is_alive());
    }
}

/// Every command must say the same of a server whose URL has the wrong scheme.
fn blamed_for_its_scheme(folder: &TempDir, advice: &str) {
    here(folder, &["verify"]).with(1).prints(advice);
    here(folder, &SHORT).with(1).says(advice);
    for command in ["load", "capacity"] {
        here(folder, &[command, "shop"]).with(1).says(advice);
    }
}

/// And nothing is written.
fn refused_by_init(url: &str, advice: &str) {
    let folder = tempfile::tempdir().unwrap();
    for paths in [&[][..], &["--path", "/hello"]] {
        let init = ["init", "--url", url];
        let ended = here(&folder, &[&init, paths].concat()).with(2);
        ended.says(advice);
        assert!(!folder.path().join("prony.toml").exists());
    }
}

#[test]
fn a_plain_url_of_a_server_over_tls_is_corrected() {
    let certificate = Certificate::new();
    let shop = shop_over_tls(&certificate);
    let of_respond = |respond| server_of(&certificate, respond).port();
    let others = [respond as fn(_, _), respond_to_plain, close_plain].map(of_respond);
    for port in others.into_iter().chain([shop.port]) {
        let authority = format!("localhost:{port}");
        let url = format!("http://{authority}");
        let folder = project(&format!("[server.shop]\nurl = \"{url}\"\n{HELLO}"));
        blamed_for_its_scheme(
            &folder,
            &format!(
                "the server at {url} speaks TLS; write `url = \"https://{authority}\"` in prony.toml, \
                 and `tls = true` in the requests of its workloads (for a Hurl file: https:// in its URLs, \
                 and scenario = {{ file = \"…\", tls = true }})\n"
            ),
        );
        refused_by_init(
            &url,
            &format!("the server at {url} speaks TLS; use --url https://{authority}\n"),
        );
    }
}

#[test]
fn an_https_url_of_a_plain_server_is_corrected() {
    let shop = shop();
    let authority = format!("localhost:{}", shop.port);
    let url = format!("https://{authority}");
    let hello = HELLO.replace("\"/hello\"", "\"/hello\", tls = true");
    let folder = project(&format!(
        "[server.shop]\nurl = \"{url}\"\ninsecure = true\n{hello}"
    ));
    blamed_for_its_scheme(
        &folder,
        &format!(
            "the server at {url} does not speak TLS; write `url = \"http://{authority}\"` in prony.toml, \
             and remove `tls = true` from the requests of its workloads (for a Hurl file: from `scenario`, \
             and write http:// in its URLs)\n"
        ),
    );
    refused_by_init(
        &url,
        &format!("the server at {url} does not speak TLS; use --url http://{authority}\n"),
    );
}

/// A server that responds with 404 or 400 still has a right URL.
#[test]
fn an_unexpected_status_is_not_blamed_on_the_scheme() {
    let shop = shop();
    let wrong = HELLO.replace("/hello", "/nothing");
    let folder = project(&format!("[server.shop]\nurl = \"{}\"\n{wrong}", shop.url()));
    let verified = here(&folder, &["verify"]).with(1).prints("404");
    assert!(!verified.all().contains("TLS"), "{}", verified.all());
    let empty = tempfile::tempdir().unwrap();
    let refuses = server_of(&Certificate::new(), refuse);
    let init = ["init", "--url", &format!("http://{refuses}"), "--path", "/"];
    here(&empty, &init).with(0).prints("GET / with status 400");
}

/// A server that tells users how long to pause, and counts the requests: from the `last` one on, they pause long.
fn pausing(last: usize) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counted = Arc::clone(&counted);
            std::thread::spawn(move || {
                let heads = BufReader::new(stream.try_clone().unwrap()).lines();
                for _ in heads.map_while(Result::ok).filter(String::is_empty) {
                    let number = counted.fetch_add(1, SeqCst) + 1;
                    let body = if number >= last { "50000" } else { "00000" };
                    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{body}");
                    let _ = (&stream).write_all(response.as_bytes());
                }
            });
        }
    });
    (port, requests)
}

#[test]
fn an_interrupt_during_a_flow_is_not_blamed_on_the_server() {
    // The verification takes two flows of two requests each.
    for (arguments, last) in [(&["verify"][..], 1), (&["run", "--no-ceiling"], 5)] {
        let (port, requests) = pausing(last);
        let folder = project(&format!(
            "[server.shop]\nurl = \"http://127.0.0.1:{port}\"\n[workload.flow]\nscenario = \"flow.hurl\"\n"
        ));
        let flow = "GET http://{{host}}/\nHTTP 200\n[Captures]\npause: body toInt\n\
                    GET http://{{host}}/\n[Options]\ndelay: {{pause}}\n";
        fs::write(folder.path().join("flow.hurl"), flow).unwrap();
        let mut command = prony(arguments);
        command.current_dir(&folder);
        let running = Running::start(command);
        until("the first request with a long pause", || {
            (requests.load(SeqCst) >= last).then_some(())
        });
        running.signal(Signal::SIGINT);
        let ended = running.end().with(130);
        assert!(!ended.all().contains("WRONG"), "{}", ended.all());
        if arguments[0] == "run" {
            let exported = here(&folder, &["export"]).with(0);
            let exported: Value = serde_json::from_str(&exported.stdout).unwrap();
            let trials = exported["trials"].as_array().unwrap();
            assert!(trials.is_empty(), "{exported}");
        }
    }
}

#[test]
fn what_needs_a_start_is_refused() {
    let shop = shop();
    let text = format!("[server.shop]\nurl = \"{}\"\n{HELLO}", shop.url());
    let folder = project(&text);
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(&folder).args(arguments);
        assert!(command.output().unwrap().status.success(), "{arguments:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    let who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    git(&[&who[..], &["commit", "--quiet", "-m", "A shop"]].concat());
    for arguments in [&["ab", "HEAD"][..], &["ab", "HEAD", "--server", "shop"]] {
        here(&folder, arguments)
            .with(2)
            .says("`shop` already runs at http://localhost:")
            .says("give it `run` instead of `url`");
    }
    // The lines that a server logs are those of its own standard output.
    let logged = text.replace("status = 200", "status = 200, log_lines = 1");
    fs::write(folder.path().join("prony.toml"), logged).unwrap();
    here(&folder, &["verify"])
        .with(1)
        .prints("Prony did not start the server, so it cannot count the lines");
}

#[test]
fn bad_urls_are_refused_with_what_to_write() {
    let empty = tempfile::tempdir().unwrap();
    for (url, expected) in [
        ("localhost:8080", "does not begin with http://"),
        ("http://localhost:8080/api", "has the path `/api`"),
        ("http://me:secret@localhost", "`basic_auth`"),
        ("ws://localhost", "`ws://` is not supported"),
        ("unix:/run/shop.sock", "--unix-socket"),
        ("http://localhost:0", "is not 1 to 65535"),
    ] {
        let field = format!("[server.shop]\nurl = \"{url}\"\n{HELLO}");
        here(&project(&field), &["verify"])
            .with(1)
            .says("prony.toml:2: ")
            .says(expected);
        here(&empty, &["init", "--url", url]).with(2).says(expected);
    }
    here(&empty, &["init", "--url", "http://a", "--run", "b"])
        .with(2)
        .says("cannot be used with");
    here(&empty, &["init"])
        .with(2)
        .says("prony init --url http://localhost:8080");
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
}
