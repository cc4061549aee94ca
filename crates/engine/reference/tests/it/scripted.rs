//! The scripted server follows its script, whatever its clients do.

use std::fs::{self, File};
use std::io::Write;
use std::net::{Shutdown, SocketAddr};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{self, Client, HELLO, config};
use prony_reference::script::Script;
use prony_reference::{Responded, ScriptedServer, TlsFiles};
use prony_testkit::until;

struct Scripted {
    address: SocketAddr,
    responded: Arc<Mutex<Vec<Responded>>>,
}

fn start(script: &Script) -> Scripted {
    run(ScriptedServer::bind(&config(1), script.clone()).unwrap())
}

/// Runs a server; its thread ends with the test process.
fn run(server: ScriptedServer) -> Scripted {
    let address = server.address();
    let responded = Arc::new(Mutex::new(Vec::new()));
    let record = responded.clone();
    let log = File::create("/dev/null").unwrap();
    thread::spawn(move || server.run(log, |one| record.lock().unwrap().push(one)));
    Scripted { address, responded }
}

impl Scripted {
    fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    /// The first `count` requests that got their responses.
    fn responded(&self, count: usize) -> Vec<Responded> {
        until("the requests", || {
            let responded = self.responded.lock().unwrap();
            (responded.len() >= count).then(|| responded.clone())
        })
    }
}

fn script(workers: usize, service: &str) -> Script {
    Script {
        workers: workers.try_into().unwrap(),
        service: service.parse().unwrap(),
        seed: 5,
        ..Script::default()
    }
}

#[test]
fn responses_are_due_as_computed_and_never_leave_early() {
    let script = Script {
        freeze: Some("20ms/50ms".parse().unwrap()),
        ..script(1, "exponential:300us")
    };
    let bind = || ScriptedServer::bind(&config(1), script.clone()).unwrap();
    for server in [run(bind()), run(bind().spin())] {
        check(&script, &server);
    }
}

#[test]
fn several_workers_respond_as_computed_too() {
    let script = script(4, "exponential:3ms");
    check(&script, &start(&script));
}

#[test]
fn over_one_connection_no_response_overtakes_another() {
    let times = tempfile::NamedTempFile::new().unwrap();
    fs::write(times.path(), "50ms\n1ms\n").unwrap();
    let service = format!("file:{}", times.path().display());
    let server = start(&script(2, &service));
    let mut client = server.connect();
    client.send("GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /byte HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.response().body, "hello from prony\n");
    assert_eq!(client.response().body, "r");
    let responded = server.responded(2);
    assert!(responded[1].due < responded[0].due && responded[1].left >= responded[0].left);
}

fn check(script: &Script, server: &Scripted) {
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let mut client = server.connect();
            thread::spawn(move || {
                for _ in 0..40 {
                    assert_eq!(client.get("/hello").body, "hello from prony\n");
                }
            })
        })
        .collect();
    clients.into_iter().for_each(|it| it.join().unwrap());
    let mut responded = server.responded(320);
    // Workers may finish in another order than they started.
    responded.sort_by_key(|one| one.arrived);
    let mut timeline = script.timeline();
    for one in &responded {
        assert_eq!(one.due, timeline.response_due(one.arrived));
        assert!(one.left >= one.due);
    }
    let truth = script.latencies(responded.iter().map(|one| one.arrived));
    // At least one request met a freeze, or a long service time.
    assert!(truth.at(1.0) > Duration::from_millis(10));
}

#[test]
fn requests_on_one_connection_get_their_responses_in_order() {
    let server = start(&script(1, "fixed:2ms"));
    let mut client = server.connect();
    let begin = Instant::now();
    let paths = ["/hello", "/byte", "/nothing", "/", "/hello"];
    for path in paths {
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
    }
    let responses = paths.map(|_| client.response());
    assert!(begin.elapsed() >= Duration::from_millis(10));
    let statuses = responses.each_ref().map(|it| it.status);
    assert_eq!(statuses, [200, 200, 404, 200, 200]);
    let page = common::asset("page-100k.html");
    for (place, body) in [
        (0, "hello from prony\n"),
        (1, "r"),
        (3, &page),
        (4, "hello from prony\n"),
    ] {
        assert_eq!(responses[place].body, body);
    }
}

#[test]
fn a_client_that_has_closed_its_side_still_gets_its_delayed_responses() {
    let server = start(&script(1, "fixed:20ms"));
    let mut client = server.connect();
    client.send([HELLO, HELLO].concat());
    client.socket.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.response().status, 200);
    assert_eq!(client.response().status, 200);
    assert!(client.has_ended());
}

#[test]
fn the_last_response_ends_the_connection_if_requested() {
    let server = start(&script(1, "fixed:5ms"));
    for last in [
        "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "no request at all\r\n\r\n",
    ] {
        let mut client = server.connect();
        client.send([HELLO, last].concat());
        assert_eq!(client.response().status, 200);
        let response = client.response();
        assert_eq!(response.field("connection"), Some("close"));
        assert!(client.has_ended());
    }
}

#[test]
fn a_request_in_pieces_arrives_with_its_last_one() {
    let server = start(&script(1, "fixed:1us"));
    let mut client = server.connect();
    client.get("/byte");
    client.send("POST /byte HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n");
    thread::sleep(Duration::from_millis(50));
    client.socket.write_all(b"body").unwrap();
    assert_eq!(client.response().status, 405);
    let responded = server.responded(2);
    assert!(responded[1].arrived - responded[0].arrived >= Duration::from_millis(50));
}

#[test]
fn the_request_of_a_client_that_left_still_takes_its_time() {
    let server = start(&script(1, "fixed:100ms"));
    let mut gone = server.connect();
    gone.send(HELLO);
    drop(gone);
    // Connections are accepted in order, and so are the requests that have come over them.
    assert_eq!(server.connect().get("/hello").status, 200);
    let responded = server.responded(2);
    assert_eq!(responded[0].arrived, Duration::ZERO);
    let due = responded[1].due;
    assert!(due >= Duration::from_millis(200), "{responded:?}");
}

#[test]
fn tls_is_refused() {
    let [certificates, key] = ["cert.pem", "key.pem"].map(Into::into);
    let mut config = config(1);
    config.tls = Some(TlsFiles { certificates, key });
    let error = ScriptedServer::bind(&config, script(1, "fixed:1ms")).unwrap_err();
    assert!(error.to_string().contains("unset TLS_CERT"), "{error}");
}
