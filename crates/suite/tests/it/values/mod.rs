//! Requests with values that differ against a real server, over each version of HTTP and each event loop.

mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use prony_load::{Conversation, EventLoopChoice, LoadPlan, ResponseCheck, SampleChoice, Sampling};
use prony_model::{LoadResult, Outcome};
use prony_suite::{ExpectedResponse, Files, PreparedRequest, Workload};
use prony_testkit::table::rows;
use server::{Received, Server};
use tempfile::TempDir;

const REQUESTS: u64 = 60;
const ITEMS: [&str; 6] = ["pen", "cup \"big\"", "Öl/1", "a&b", "x y", "nail"];

/// What a workload needs.
struct Case {
    folder: TempDir,
    workload: Workload,
}

impl Case {
    /// A workload of these lines, beside a file of items.
    fn new(lines: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let mut rows = "item,price\n".to_owned();
        for (number, item) in ITEMS.iter().enumerate() {
            rows.push_str(&format!("\"{}\",{number}\n", item.replace('"', "\"\"")));
        }
        std::fs::write(folder.path().join("items.csv"), rows).unwrap();
        let workload: Workload = toml::from_str(lines).unwrap();
        let workload = workload.named("order".into(), Path::new(""));
        Self { folder, workload }
    }

    fn prepared(&self) -> Result<(PreparedRequest, ExpectedResponse), String> {
        let files = Files::new(self.folder.path(), self.folder.path());
        let workload = self.workload.exchange().unwrap();
        let request = PreparedRequest::new(workload, &files);
        let request = request.map_err(|error| error.to_string())?;
        let expected = ExpectedResponse::new(workload, &files).unwrap();
        let expected = expected.to(&request);
        Ok((request, expected))
    }

    fn load(&self, server: &Server, how: &How) -> LoadResult {
        let (request, check) = self.prepared().unwrap();
        let (url, request) = request.encode(&server.address.to_string()).unwrap();
        let plan = LoadPlan {
            connections: how.connections,
            threads: how.connections.min(2),
            requests: Some(how.requests),
            timeout: Duration::from_secs(30),
            event_loop: how.event_loop,
            seed: how.seed,
            sampling: Some(Sampling {
                check: Arc::new(check),
                choice: SampleChoice::AtRandom,
            }),
            ..LoadPlan::new(server.address.into(), url, request)
        };
        prony_load::run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap()
    }
}

/// How a load runs.
struct How {
    is_http2: bool,
    event_loop: EventLoopChoice,
    connections: usize,
    requests: u64,
    seed: u64,
}

impl How {
    fn protocol(&self) -> &'static str {
        if self.is_http2 { "h2" } else { "http/1.1" }
    }
}

fn every_way(connections: usize, mut test: impl FnMut(How)) {
    for is_http2 in [false, true] {
        for event_loop in [EventLoopChoice::IoUring, EventLoopChoice::Epoll] {
            test(How {
                is_http2,
                event_loop,
                connections,
                requests: REQUESTS,
                seed: 1,
            });
        }
    }
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
    every_way(2, |how| {
        let protocol = how.protocol();
        let case = Case::new(&format!(
            r#"
            [request]
            method = "POST"
            path = "/items/{{{{price}}}}"
            query = {{ q = "{{{{item}}}}" }}
            headers = {{ X-Note = "{{{{price}}}} of {{{{shop}}}}" }}
            body = {{ json = '{{"item": "{{{{item}}}}", "price": {{{{price}}}}}}' }}
            protocol = "{protocol}"
            [values]
            rows = "items.csv"
            variables = {{ shop = "north" }}
            [response]
            status = 200
            body = {{ json_path = {{ "$.note" = {{ matches = "^[0-5] of north$" }} }} }}
            "#
        ));
        let server = Server::start(how.is_http2);
        let result = case.load(&server, &how);
        let wrong = &result.first_wrong;
        assert_eq!(result.outcomes[Outcome::Ok], REQUESTS, "{wrong:?}");
        // As for every request, and nothing about flows.
        assert!(result.flows.is_none() && !result.load.flows);
        assert!(result.checked.unwrap().compared > 0);
        assert!(
            result.target.url.ends_with("/items/{{price}}?q={{item}}"),
            "{}",
            result.target.url
        );
        let received = server.received();
        assert_eq!(received.len() as u64, result.requests, "{protocol}");
        // Requests over two connections may overtake each other, but not by a whole round.
        let sent = counts(&received, |one| one.body.clone());
        assert_eq!(sent.len(), ITEMS.len());
        assert!(
            sent.values().all(|&count| count as u64 == REQUESTS / 6),
            "{sent:?}"
        );
        for one in &received {
            let body: serde_json::Value = serde_json::from_str(&one.body).unwrap();
            let price = body["price"].as_u64().unwrap();
            assert_eq!(body["item"], ITEMS[price as usize]);
            assert_eq!(one.note, format!("{price} of north"));
            assert!(
                one.target.starts_with(&format!("/items/{price}?q=")),
                "{}",
                one.target
            );
        }
        assert!(
            received
                .iter()
                .any(|one| one.target.ends_with("?q=%C3%96l%2F1"))
        );
    });
}

#[test]
fn random_numbers_are_in_their_range_and_come_from_the_seed() {
    let case = Case::new(
        r#"
        [request]
        method = "GET"
        path = "/{{n}}/{{id}}"
        [values]
        random = { n = "1..5" }
        counters = { id = 10 }
        [response]
        status = 200
        "#,
    );
    let targets = |seed| {
        let server = Server::start(false);
        let how = How {
            is_http2: false,
            event_loop: EventLoopChoice::Epoll,
            connections: 1,
            requests: REQUESTS,
            seed,
        };
        let result = case.load(&server, &how);
        assert_eq!(result.outcomes[Outcome::Ok], REQUESTS);
        server
            .received()
            .into_iter()
            .map(|one| one.target)
            .collect::<Vec<_>>()
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
    every_way(2, |how| {
        let case = Case::new(&format!(
            "[request]\nmethod = \"GET\"\npath = \"/{{{{newUuid}}}}\"\nprotocol = \"{}\"\n[values]\n[response]\nstatus = 200\n",
            how.protocol()
        ));
        let server = Server::start(how.is_http2);
        case.load(&server, &how);
        case.load(&server, &how);
        let targets: BTreeSet<String> = { server.received().into_iter() }
            .map(|one| one.target)
            .collect();
        assert_eq!(targets.len() as u64, 2 * REQUESTS);
        assert!(
            targets.iter().all(|target| target.len() == 37),
            "{targets:?}"
        );
    });
}

#[test]
fn each_user_keeps_its_cookies_for_the_whole_load() {
    every_way(2, |how| {
        let case = Case::new(&format!(
            "[request]\nmethod = \"GET\"\npath = \"/\"\nkeep_cookies = true\nprotocol = \"{}\"\n[response]\nstatus = 200\nbody = {{ json_path = {{ \"$.target\" = \"/\" }} }}\n",
            how.protocol()
        ));
        let server = Server::start(how.is_http2);
        let result = case.load(&server, &how);
        let wrong = &result.first_wrong;
        assert_eq!(result.outcomes[Outcome::Ok], REQUESTS, "{wrong:?}");
        let sent = counts(&server.received(), |one| one.cookie.clone());
        // The first request of each user has none, and then each has its own.
        assert_eq!(sent[""], 2, "{sent:?}");
        assert_eq!(sent.len(), 3, "{sent:?}");
        assert!(
            sent.contains_key("user=c1") && sent.contains_key("user=c2"),
            "{sent:?}"
        );
    });
}

#[test]
fn verification_sends_the_next_values_over_the_same_connection() {
    for (is_http2, protocol) in [(false, "http/1.1"), (true, "h2")] {
        let case = Case::new(&format!(
            "[request]\nmethod = \"GET\"\npath = \"/{{{{price}}}}\"\nkeep_cookies = true\nprotocol = \"{protocol}\"\n[values]\nrows = \"items.csv\"\n[response]\nstatus = 200\n"
        ));
        let server = Server::start(is_http2);
        let (request, expected) = case.prepared().unwrap();
        let (_, request) = request.encode(&server.address.to_string()).unwrap();
        let endpoint = server.address.into();
        let mut conversation = Conversation::of(&endpoint, &request, None, Duration::from_secs(30));
        for _ in 0..2 {
            let response = conversation.request().unwrap();
            assert_eq!(expected.check(&response), Ok(()));
        }
        assert_eq!(conversation.connections(), 1);
        let received = server.received();
        let sent: Vec<_> = received
            .iter()
            .map(|one| (&*one.target, &*one.cookie))
            .collect();
        assert_eq!(sent, [("/0", ""), ("/1", "user=c1")], "{protocol}");
    }
}

#[test]
fn a_load_that_pipelines_requests_that_differ_is_refused() {
    let case = Case::new(
        "[request]\nmethod = \"GET\"\npath = \"/{{newUuid}}\"\n[values]\n[response]\nstatus = 200\n",
    );
    let (request, _) = case.prepared().unwrap();
    let (url, request) = request.encode("127.0.0.1:1").unwrap();
    let address: std::net::SocketAddr = ([127, 0, 0, 1], 1).into();
    let plan = LoadPlan {
        pipeline: 2,
        requests: Some(1),
        ..LoadPlan::new(address.into(), url, request)
    };
    assert_eq!(
        plan.validate().unwrap_err().to_string(),
        "pipelining cannot be combined with requests that differ"
    );
}

#[test]
fn a_wrong_response_shows_the_difference_and_no_secret() {
    // Cargo sets the variable. The user differs, so the password is in the middle of what is encoded in base64.
    let case = Case::new(
        r#"
        [request]
        method = "GET"
        path = "/{{price}}/{{token}}"
        basic_auth = { user = "{{price}}", password = "swordfish-and-more" }
        [values]
        rows = "items.csv"
        variables = { token = { env = "CARGO_PKG_NAME", secret = true } }
        [response]
        status = 200
        body = { json_path = { "$.target" = "/none", "$.authorization" = "none" } }
        "#,
    );
    let server = Server::start(false);
    let (request, expected) = case.prepared().unwrap();
    let (url, request) = request.encode(&server.address.to_string()).unwrap();
    assert!(url.ends_with("/{{price}}/***"), "{url}");
    let endpoint = server.address.into();
    let mut conversation = Conversation::of(&endpoint, &request, None, Duration::from_secs(30));
    let mut response = conversation.request().unwrap();
    let sent = &server.received()[0];
    assert_eq!(sent.target, "/0/prony-suite");
    assert_eq!(sent.authorization, "Basic MDpzd29yZGZpc2gtYW5kLW1vcmU=");
    let mismatch = expected.check(&response).unwrap_err();
    let expected_text = "expected $.authorization = \"none\", got $.authorization = \"Basic M";
    let shown = mismatch.to_string();
    assert!(shown.starts_with(expected_text), "{shown}");
    assert!(
        shown.contains("***") && !shown.contains("d29yZGZpc2"),
        "{shown}"
    );
    // Only the other one is wrong now.
    let body = String::from_utf8(response.body).unwrap();
    response.body = body.replace(&sent.authorization, "none").into();
    let mismatch = expected.check(&response).unwrap_err();
    assert_eq!(
        mismatch.to_string(),
        "expected $.target = \"/none\", got $.target = \"/0/***\""
    );
}

#[test]
fn wrong_responses_under_load_are_counted() {
    every_way(2, |how| {
        let case = Case::new(&format!(
            r#"
            [request]
            method = "GET"
            path = "/{{{{price}}}}"
            protocol = "{}"
            [values]
            rows = "items.csv"
            [response]
            status = 200
            body = {{ json_path = {{ "$.target" = "/0" }} }}
            "#,
            how.protocol()
        ));
        let server = Server::start(how.is_http2);
        let result = case.load(&server, &how);
        let checked = result.checked.unwrap();
        assert_eq!(result.requests, REQUESTS);
        assert_eq!(result.outcomes[Outcome::WrongBody], checked.wrong);
        assert!(
            checked.wrong > 0 && checked.wrong < checked.compared,
            "{checked:?}"
        );
        let detail = result.first_wrong.unwrap().detail;
        assert!(
            detail.starts_with("expected $.target = \"/0\", got $.target = \"/"),
            "{detail}"
        );
    });
}

#[test]
fn what_cannot_be_sent_is_refused_before_the_load() {
    let refused = |request: &str, values: &str| {
        let case = Case::new(&format!(
            "[request]\nmethod = \"POST\"\n{request}\n[values]\n{values}\n[response]\nstatus = 200\n"
        ));
        std::fs::write(case.folder.path().join("empty.csv"), "").unwrap();
        std::fs::write(
            case.folder.path().join("lists.jsonl"),
            "{\"x\": 1}\n{\"x\": [1]}\n",
        )
        .unwrap();
        for (name, length) in [("long", 62_000), ("longer", 70_000), ("longest", 1_100_000)] {
            let rows = format!("x\na\n{}\n", "b".repeat(length));
            std::fs::write(case.folder.path().join(format!("{name}.csv")), rows).unwrap();
        }
        let error = case.prepared().err().unwrap_or_default();
        error.replace(&format!("{}/", case.folder.path().display()), "")
    };
    for [request, values, expected] in rows(
        r#"
            path = "/" | rows = "empty.csv" | : empty.csv has no rows
            path = "/{{itm}}" | rows = "items.csv" | INVALID: its path: the value `itm` is not defined; did you mean `item`?
            path = "/"\nheaders = { A = "{{other}}" } | "" | INVALID: its header `A`: the value `other` is not defined; add it to the table `values`
            path = "/{{a" | "" | INVALID: its path: `{{` is not followed by `}}`
            path = "/"\nbody = { json = '{"a": {{item}}}' } | rows = "items.csv" | INVALID: the value `item` is not JSON by itself; write the placeholder between quotes
            path = "/{{x}}" | rows = "lists.jsonl" | INVALID: in row 2, the value `x` is a list or an object; only text, numbers, booleans and null can be sent
            path = "/{{x}}" | rows = "long.csv" | INVALID: in row 2, the path and its query take 62001 bytes; at most 60000 are allowed
            path = "/{{x}}" | rows = "longer.csv" | INVALID: in row 2, `/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…` is not the path of a URL: uri too long
            path = "/"\nheaders = { A = "{{x}}" } | rows = "longest.csv" | INVALID: in row 2, the headers take 1100003 bytes; at most 1048576 are allowed
            path = "/"\ncookies = { a = "{{item}}" } | rows = "items.csv" | INVALID: in row 2, the value `item` has a byte that cookies cannot have
        "#,
    ) {
        let expected = expected.replace("INVALID:", " has a request that cannot be sent:");
        let expected = format!("workload `order`{expected}");
        assert_eq!(refused(request, values), expected, "{request}");
    }
    let json = "[request]\nmethod = \"POST\"\npath = \"/\"\nbody = { json = '{\"a\": {{item}}}' }\n[response]\nstatus = 200\n";
    let error = Case::new(json).prepared().err().unwrap();
    assert!(
        error.ends_with("; placeholders like {{name}} need the table `values`"),
        "{error}"
    );
}

#[test]
fn blanks_may_be_in_the_placeholders_of_a_path_and_nowhere_else() {
    let request = |path: &str, rest: &str| {
        format!(
            "[request]\nmethod = \"GET\"\npath = \"{path}\"\n{rest}\n[response]\nstatus = 200\n"
        )
    };
    let values = "[values]\nrows = \"items.csv\"";
    let case = Case::new(&request("/a/{{ item }}?b={{ price }}", values));
    let (prepared, _) = case.prepared().unwrap();
    let (url, _) = prepared.encode("127.0.0.1:80").unwrap();
    assert_eq!(url, "http://127.0.0.1:80/a/{{item}}?b={{price}}");
    let error = Case::new(&request("/{{ item }}", "")).prepared();
    assert_eq!(
        error.err().unwrap(),
        "workload `order` has a request that cannot be sent: its path `/{{ item }}` contains a blank; \
         a placeholder needs the table `values`"
    );
    for path in ["/a b/{{ item }}", "/{{ item }} ", "/{{ a b }}"] {
        let error = toml::from_str::<Workload>(&request(path, values)).unwrap_err();
        let told =
            "is not a path; it must begin with `/`, and contain no blanks outside of placeholders";
        assert!(error.to_string().contains(told), "{error}");
    }
}

#[test]
fn a_request_whose_accepted_codings_differ_accepts_all() {
    let accepted = |value: &str| {
        let case = Case::new(&format!(
            "[request]\nmethod = \"GET\"\npath = \"/\"\nheaders = {{ Accept-Encoding = \"{value}\" }}\n\
             [values]\nrows = \"codings.csv\"\nvariables = {{ one = \"gzip\" }}\n[response]\nstatus = 200\n"
        ));
        std::fs::write(
            case.folder.path().join("codings.csv"),
            "e\nidentity\ngzip\n",
        )
        .unwrap();
        case.prepared().unwrap().0.accepted().cloned().unwrap()
    };
    assert_eq!(accepted("{{e}}"), prony_load::Accepted::all());
    assert_eq!(accepted("{{one}}"), prony_load::Accepted::of("gzip"));
    assert!(accepted("identity").is_none());
}

#[test]
fn a_variable_may_have_braces_to_send() {
    let case = Case::new(
        "[request]\nmethod = \"POST\"\npath = \"/\"\nbody = { text = \"{{open}} {{item}} }}\" }\n\
         [values]\nrows = \"items.csv\"\nvariables = { open = \"{{\" }\n[response]\nstatus = 200\n",
    );
    let (prepared, _) = case.prepared().unwrap();
    let (_, _, parts) = prepared.http_parts("127.0.0.1:80").unwrap().unwrap();
    assert_eq!(parts.body(), b"{{ pen }}");
}

#[test]
fn without_values_braces_are_text() {
    let case = Case::new(
        "[request]\nmethod = \"POST\"\npath = \"/\"\nbody = { text = \"a {{item}} b\" }\n[response]\nstatus = 200\n",
    );
    let server = Server::start(false);
    let how = How {
        is_http2: false,
        event_loop: EventLoopChoice::Epoll,
        connections: 1,
        requests: 1,
        seed: 1,
    };
    case.load(&server, &how);
    assert_eq!(server.received()[0].body, "a {{item}} b");
}
