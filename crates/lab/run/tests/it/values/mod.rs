//! Requests with values that differ against a real server, over each version of HTTP and each event loop.

mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use prony_load::{EventLoopChoice, LoadPlan, SampleChoice};
use prony_model::{LoadResult, Outcome};
use prony_run::{PreparedRequest, Workload};
use prony_testkit::table::rows;
use prony_testkit::{contains, lacks, starts_with};
use prony_traffic::{Accepted, Expected};
use tempfile::TempDir;

use crate::sending::{converse, every_way, prepared};
use server::{Received, Server};

const REQUESTS: u64 = 60;
const ITEMS: [&str; 6] = ["pen", "cup \"big\"", "Öl/1", "a&b", "x y", "nail"];
const ROWS: &str = "rows = \"items.csv\"";

/// What a workload needs.
struct Case {
    folder: TempDir,
    workload: Workload,
}

impl Case {
    /// A workload with these lines, and values if there are any, beside a file of items.
    fn new(request: &str, values: Option<&str>, response: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let mut rows = "item,price\n".to_owned();
        for (number, item) in ITEMS.iter().enumerate() {
            rows.push_str(&format!("\"{}\",{number}\n", item.replace('"', "\"\"")));
        }
        std::fs::write(folder.path().join("items.csv"), rows).unwrap();
        let workload: Workload = toml::from_str(&text(request, values, response)).unwrap();
        let workload = workload.named("order".into(), Path::new(""));
        Self { folder, workload }
    }

    fn prepared(&self) -> Result<(PreparedRequest, Expected), String> {
        prepared(&self.workload, self.folder.path())
    }

    /// Loads a server over two connections.
    fn load(&self, server: &Server, event_loop: EventLoopChoice) -> LoadResult {
        self.load_with(server, |plan| {
            plan.with(|plan| {
                plan.load.connections = 2;
                plan.load.threads = 2;
                plan.load.requests = Some(REQUESTS);
                plan.here.event_loop = event_loop;
            })
        })
    }

    /// Loads it over one connection, unless `change` says otherwise.
    fn load_with(&self, server: &Server, change: impl FnOnce(LoadPlan) -> LoadPlan) -> LoadResult {
        let workload = (&self.workload, self.folder.path());
        crate::sending::load(workload, server.address, SampleChoice::AtRandom, change)
    }
}

/// The file of a workload.
fn text(request: &str, values: Option<&str>, response: &str) -> String {
    let values = values.map_or(String::new(), |lines| format!("[values]\n{lines}\n"));
    format!("[request]\n{request}\n{values}[response]\nstatus = 200\n{response}\n")
}

/// A GET request of this path over a version of HTTP.
fn get(path: &str, protocol: &str) -> String {
    format!("method = \"GET\"\npath = \"{path}\"\nprotocol = \"{protocol}\"")
}

/// How often each of them occurs.
fn counts(received: &[Received], of: impl Fn(&Received) -> String) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for one in received {
        *counts.entry(of(one)).or_default() += 1;
    }
    counts
}

#[test]
fn each_row_is_sent_once_before_any_is_sent_again() {
    every_way(|protocol, event_loop| {
        let request = format!(
            r#"
            method = "POST"
            path = "/items/{{{{price}}}}"
            query = {{ q = "{{{{item}}}}" }}
            headers = {{ X-Note = "{{{{price}}}} of {{{{shop}}}}" }}
            body = {{ json = '{{"item": "{{{{item}}}}", "price": {{{{price}}}}}}' }}
            protocol = "{protocol}"
            "#
        );
        let values = format!("{ROWS}\nvariables = {{ shop = \"north\" }}");
        let response = r#"body = { json_path = { "$.note" = { matches = "^[0-5] of north$" } } }"#;
        let case = Case::new(&request, Some(&values), response);
        let server = Server::start();
        let result = case.load(&server, event_loop);
        let wrong = &result.first_wrong;
        assert_eq!(result.outcomes[Outcome::Ok], REQUESTS, "{wrong:?}");
        // As for every request, and nothing about flows.
        assert!(result.flows.is_none() && !result.load.flows);
        assert!(result.checked.unwrap().compared > 0);
        let url = &result.target.url;
        assert!(url.ends_with("/items/{{price}}?q={{item}}"), "{url}");
        let received = server.received();
        assert_eq!(received.len() as u64, result.requests, "{protocol}");
        // Requests over two connections may overtake each other, but not by a whole round.
        let sent = counts(&received, |one| one.body.clone());
        assert_eq!(sent.len(), ITEMS.len());
        let are_equal = sent.values().all(|&count| count as u64 == REQUESTS / 6);
        assert!(are_equal, "{sent:?}");
        for one in &received {
            let body: serde_json::Value = serde_json::from_str(&one.body).unwrap();
            let price = body["price"].as_u64().unwrap();
            assert_eq!(body["item"], ITEMS[price as usize]);
            assert_eq!(one.note, format!("{price} of north"));
            starts_with(&one.target, &format!("/items/{price}?q="));
        }
        let is_encoded = |one: &Received| one.target.ends_with("?q=%C3%96l%2F1");
        assert!(received.iter().any(is_encoded));
    });
}

#[test]
fn random_numbers_are_in_their_range_and_come_from_the_seed() {
    let values = "random = { n = \"1..5\" }\ncounters = { id = 10 }";
    let case = Case::new(&get("/{{n}}/{{id}}", "http/1.1"), Some(values), "");
    let targets = |seed| -> Vec<String> {
        let server = Server::start();
        let result = case.load_with(&server, |plan| {
            plan.with(|plan| {
                plan.load.requests = Some(REQUESTS);
                plan.here.event_loop = EventLoopChoice::Epoll;
                plan.load.seed = seed;
            })
        });
        assert_eq!(result.outcomes[Outcome::Ok], REQUESTS);
        let received = server.received().into_iter();
        received.map(|one| one.target).collect()
    };
    let drawn = targets(3);
    for (target, id) in drawn.iter().zip(10..) {
        let (n, counted) = target[1..].split_once('/').unwrap();
        assert!((1..=5).contains(&n.parse::<u32>().unwrap()), "{target}");
        assert_eq!(counted, id.to_string());
    }
    assert_eq!(drawn, targets(3));
    assert_ne!(drawn, targets(4));
}

#[test]
fn uuids_differ_also_from_load_to_load() {
    every_way(|protocol, event_loop| {
        let case = Case::new(&get("/{{newUuid}}", protocol), Some(""), "");
        let server = Server::start();
        case.load(&server, event_loop);
        case.load(&server, event_loop);
        let received = server.received().into_iter();
        let targets: BTreeSet<String> = received.map(|one| one.target).collect();
        assert_eq!(targets.len() as u64, 2 * REQUESTS);
        assert!(targets.iter().all(|it| it.len() == 37), "{targets:?}");
    });
}

#[test]
fn each_user_keeps_its_cookies_for_the_whole_load() {
    every_way(|protocol, event_loop| {
        let request = format!("{}\nkeep_cookies = true", get("/", protocol));
        let response = "body = { json_path = { \"$.target\" = \"/\" } }";
        let server = Server::start();
        let result = Case::new(&request, None, response).load(&server, event_loop);
        let wrong = &result.first_wrong;
        assert_eq!(result.outcomes[Outcome::Ok], REQUESTS, "{wrong:?}");
        let sent = counts(&server.received(), |one| one.cookie.clone());
        // The first request of each user has none, and then each has its own.
        assert_eq!(sent[""], 2, "{sent:?}");
        let cookies: Vec<&str> = sent.keys().map(String::as_str).collect();
        assert_eq!(cookies, ["", "user=c1", "user=c2"], "{sent:?}");
    });
}

#[test]
fn verification_sends_the_next_values_over_the_same_connection() {
    for protocol in ["http/1.1", "h2"] {
        let request = format!("{}\nkeep_cookies = true", get("/{{price}}", protocol));
        let case = Case::new(&request, Some(ROWS), "");
        let server = Server::start();
        let (request, expected) = case.prepared().unwrap();
        let (responses, connections) = converse(&request, server.address, 2);
        for response in &responses {
            assert_eq!(expected.check(response), Ok(()));
        }
        assert_eq!(connections, 1);
        let received = server.received();
        let sent = received.iter().map(|one| (&*one.target, &*one.cookie));
        let expected = [("/0", ""), ("/1", "user=c1")];
        assert_eq!(sent.collect::<Vec<_>>(), expected, "{protocol}");
    }
}

#[test]
fn a_load_that_pipelines_requests_that_differ_is_refused() {
    let case = Case::new(&get("/{{newUuid}}", "http/1.1"), Some(""), "");
    let (request, _) = case.prepared().unwrap();
    let (url, request) = request.encode("127.0.0.1:1").unwrap();
    let address: std::net::SocketAddr = ([127, 0, 0, 1], 1).into();
    let plan = LoadPlan::new(address.into(), url, request).with(|plan| {
        plan.load.pipeline = 2;
        plan.load.requests = Some(1);
    });
    let error = plan.validate().unwrap_err().to_string();
    let expected = "pipelining cannot be combined with requests that differ";
    assert_eq!(error, expected);
}

#[test]
fn a_wrong_response_shows_the_difference_and_no_secret() {
    // Cargo sets the variable. The user differs, so the password is in the middle of what is encoded in base64.
    let auth = "basic_auth = { user = \"{{price}}\", password = \"swordfish-and-more\" }";
    let request = format!("{}\n{auth}", get("/{{price}}/{{token}}", "http/1.1"));
    let token = "token = { env = \"CARGO_PKG_NAME\", secret = true }";
    let values = format!("{ROWS}\nvariables = {{ {token} }}");
    let response = r#"body = { json_path = { "$.target" = "/none", "$.authorization" = "none" } }"#;
    let case = Case::new(&request, Some(&values), response);
    let server = Server::start();
    let (request, expected) = case.prepared().unwrap();
    let (url, _) = request.encode("h:1").unwrap();
    assert_eq!(url, "http://h:1/{{price}}/***");
    let mut response = converse(&request, server.address, 1).0.remove(0);
    let sent = &server.received()[0];
    assert_eq!(sent.target, "/0/prony-run");
    assert_eq!(sent.authorization, "Basic MDpzd29yZGZpc2gtYW5kLW1vcmU=");
    let shown = expected.check(&response).unwrap_err().to_string();
    let authorization = "expected $.authorization = \"none\", got $.authorization = \"Basic M";
    starts_with(&shown, authorization);
    contains(&shown, "***");
    lacks(&shown, "d29yZGZpc2");
    // Only the other one is wrong now.
    let body = String::from_utf8(response.body).unwrap();
    response.body = body.replace(&sent.authorization, "none").into();
    let shown = expected.check(&response).unwrap_err().to_string();
    let target = "expected $.target = \"/none\", got $.target = \"/0/***\"";
    assert_eq!(shown, target);
}

#[test]
fn wrong_responses_under_load_are_counted() {
    every_way(|protocol, event_loop| {
        let response = r#"body = { json_path = { "$.target" = "/0" } }"#;
        let case = Case::new(&get("/{{price}}", protocol), Some(ROWS), response);
        let result = case.load(&Server::start(), event_loop);
        let checked = result.checked.unwrap();
        assert_eq!(result.requests, REQUESTS);
        assert_eq!(result.outcomes[Outcome::WrongBody], checked.wrong);
        let is_mixed = (1..checked.compared).contains(&checked.wrong);
        assert!(is_mixed, "{checked:?}");
        let detail = result.first_wrong.unwrap().detail;
        starts_with(&detail, "expected $.target = \"/0\", got $.target = \"/");
    });
}

#[test]
fn what_cannot_be_sent_is_refused_before_the_load() {
    let refused = |request: &str, values: Option<&str>| {
        let case = Case::new(&format!("method = \"POST\"\n{request}"), values, "");
        let write = |name: &str, content: &str| {
            std::fs::write(case.folder.path().join(name), content).unwrap();
        };
        write("empty.csv", "");
        write("lists.jsonl", "{\"x\": 1}\n{\"x\": [1]}\n");
        for (name, length) in [("long", 62_000), ("longer", 70_000), ("longest", 1_100_000)] {
            write(
                &format!("{name}.csv"),
                &format!("x\na\n{}\n", "b".repeat(length)),
            );
        }
        let error = case.prepared().err().unwrap_or_default();
        error.replace(&format!("{}/", case.folder.path().display()), "")
    };
    const INVALID: &str = "workload `order` has a request that cannot be sent: ";
    for [request, values, expected] in rows(
        r#"
        path = "/{{itm}}" | rows = "items.csv" | its path: the value `itm` is not defined; did you mean `item`?
        path = "/"\nheaders = { A = "{{other}}" } | "" | its header `A`: the value `other` is not defined; add it to the table `values`
        path = "/{{a" | "" | its path: `{{` is not followed by `}}`
        path = "/"\nbody = { json = '{"a": {{item}}}' } | rows = "items.csv" | the value `item` is not JSON by itself; write the placeholder between quotes
        path = "/{{x}}" | rows = "lists.jsonl" | in row 2, the value `x` is a list or an object; only text, numbers, booleans and null can be sent
        path = "/{{x}}" | rows = "long.csv" | in row 2, the path and its query take 62001 bytes; at most 60000 are allowed
        path = "/{{x}}" | rows = "longer.csv" | in row 2, `/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…` is not the path of a URL: uri too long
        path = "/"\nheaders = { A = "{{x}}" } | rows = "longest.csv" | in row 2, the headers take 1100003 bytes; at most 1048576 are allowed
        path = "/"\ncookies = { a = "{{item}}" } | rows = "items.csv" | in row 2, the value `item` has a byte that cookies cannot have
        "#,
    ) {
        let error = refused(request, Some(values));
        assert_eq!(error, format!("{INVALID}{expected}"), "{request}");
    }
    let empty = refused("path = \"/\"", Some("rows = \"empty.csv\""));
    assert_eq!(empty, "workload `order`: empty.csv has no rows");
    let json = "path = \"/\"\nbody = { json = '{\"a\": {{item}}}' }";
    let place = "; placeholders like {{name}} need the table `values`";
    assert!(refused(json, None).ends_with(place));
}

#[test]
fn blanks_may_be_in_the_placeholders_of_a_path_and_nowhere_else() {
    let path = |path: &str| get(path, "http/1.1");
    let case = Case::new(&path("/a/{{ item }}?b={{ price }}"), Some(ROWS), "");
    let (prepared, _) = case.prepared().unwrap();
    let (url, _) = prepared.encode("127.0.0.1:80").unwrap();
    assert_eq!(url, "http://127.0.0.1:80/a/{{item}}?b={{price}}");
    let error = Case::new(&path("/{{ item }}"), None, "").prepared();
    assert_eq!(
        error.err().unwrap(),
        "workload `order` has a request that cannot be sent: its path `/{{ item }}` contains a blank; \
         a placeholder needs the table `values`"
    );
    for blank in ["/a b/{{ item }}", "/{{ item }} ", "/{{ a b }}"] {
        let error = toml::from_str::<Workload>(&text(&path(blank), Some(ROWS), "")).unwrap_err();
        contains(
            &error.to_string(),
            "is not a path; it must begin with `/`, and contain no blanks outside of placeholders",
        );
    }
}

#[test]
fn a_request_whose_accepted_codings_differ_accepts_all() {
    let accepted = |value: &str| {
        let header = format!("headers = {{ Accept-Encoding = \"{value}\" }}");
        let request = format!("{}\n{header}", get("/", "http/1.1"));
        let values = "rows = \"codings.csv\"\nvariables = { one = \"gzip\" }";
        let case = Case::new(&request, Some(values), "");
        let codings = case.folder.path().join("codings.csv");
        std::fs::write(codings, "e\nidentity\ngzip\n").unwrap();
        case.prepared().unwrap().0.accepted().cloned().unwrap()
    };
    assert_eq!(accepted("{{e}}"), Accepted::all());
    assert_eq!(accepted("{{one}}"), Accepted::of("gzip"));
    assert!(accepted("identity").is_none());
}

#[test]
fn braces_are_text_in_a_variable_and_without_values() {
    let values = format!("{ROWS}\nvariables = {{ open = \"{{{{\" }}");
    for (text, values, body) in [
        ("{{open}} {{item}} }}", Some(&*values), "{{ pen }}"),
        ("a {{item}} b", None, "a {{item}} b"),
    ] {
        let request = format!("method = \"POST\"\npath = \"/\"\nbody = {{ text = \"{text}\" }}");
        let server = Server::start();
        let (request, _) = Case::new(&request, values, "").prepared().unwrap();
        converse(&request, server.address, 1);
        assert_eq!(server.received()[0].body, body);
    }
}
