//! Every installed tool sends the request that its driver describes.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use prony_driver::{Catalogue, Load, Tool};
use prony_testkit::recorder::{HttpServer, Received};

/// Checks what each installed tool sends for the load that `change` gives; only tools in `cannot` may be unable to
/// generate it. Other tests cover Prony itself; ghz does not speak HTTP/1.1.
fn each_tool(change: impl Fn(&mut Load), cannot: &[&str], check: impl Fn(&str, &[Received])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../drivers");
    let drivers = Catalogue::read(&folder).unwrap();
    for id in drivers.ids().filter(|id| !["ghz", "prony"].contains(id)) {
        let manifest = drivers.get(id).unwrap();
        let tool = match Tool::find(id, manifest, Path::new("prony")) {
            Ok(tool) => tool,
            Err(error) => {
                eprintln!("LEFT OUT {id}: {error}");
                continue;
            }
        };
        let server = HttpServer::start();
        let mut load = Load::new(format!("{}there?a=b", server.url()));
        change(&mut load);
        if let Some(why) = tool.unsupported(&load) {
            assert!(cannot.contains(&id), "{id}: {why}");
            continue;
        }
        let result = tool.run(&load, &[], &AtomicBool::new(false));
        let result = result.unwrap_or_else(|error| panic!("{id}: {error}"));
        assert!(result.reported.ok > 0, "{id}: {result:?}");
        check(id, &server.all());
    }
}

/// How many connections had at least one request.
fn connections(requests: &[Received]) -> usize {
    let connections = requests.iter().map(|request| request.connection);
    connections.collect::<BTreeSet<usize>>().len()
}

#[test]
fn a_plain_request_is_a_get_over_a_kept_connection() {
    let check = |id: &str, requests: &[Received]| {
        let Received { head, body, .. } = &requests[0];
        assert!(head.starts_with("GET /there?a=b HTTP/1."), "{id}: {head}");
        assert!(body.is_empty(), "{id}");
        let connections = connections(requests);
        assert!(requests.len() >= 2 * connections, "{id}: {connections}");
    };
    each_tool(|_| (), &[], check);
}

#[test]
fn close_opens_a_connection_for_each_request() {
    let check = |id: &str, requests: &[Received]| {
        assert_eq!(connections(requests), requests.len(), "{id}");
    };
    each_tool(|load| load.close = true, &["h2load"], check);
}

#[test]
fn the_method_headers_and_body_are_sent() {
    let change = |load: &mut Load| {
        load.method = Some("POST".to_owned());
        load.headers = vec!["X-One: 1".to_owned(), "X-Two: b: c".to_owned()];
        load.body = b"a body\nof two lines".to_vec();
    };
    let check = |id: &str, requests: &[Received]| {
        let Received { head, body, .. } = &requests[0];
        assert!(head.starts_with("POST /there?a=b HTTP/1."), "{id}: {head}");
        for header in ["x-one: 1\n", "x-two: b: c\n"] {
            assert!(head.to_lowercase().contains(header), "{id}: {head}");
        }
        assert_eq!(body, b"a body\nof two lines", "{id}");
    };
    each_tool(change, &["ab"], check);
}
