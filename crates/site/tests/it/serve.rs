//! `prony serve`: a real client over a real socket.

use crate::sample;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::sample::{Plan, plans, store};
use prony_model::RunEnd;
use prony_site::{Service, ServiceTimes, SiteError};
use prony_store::Store;
use prony_testkit::PATIENCE;

/// Each request looks at the store, and no client is dropped.
const TIMES: ServiceTimes = ServiceTimes {
    fresh_for: Duration::ZERO,
    head_timeout: PATIENCE,
};

/// A served store, stopped at the end.
struct Served {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), SiteError>>>,
}

impl Served {
    fn of(path: &Path) -> Self {
        Self::with(path, TIMES)
    }

    fn with(path: &Path, times: ServiceTimes) -> Self {
        let path = path.to_owned();
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let open = Box::new(move || Store::open_read(&path));
        let service = Service::bind(local, open, times).unwrap();
        let (address, stop) = (service.address(), Arc::new(AtomicBool::new(false)));
        let flag = stop.clone();
        let thread = Some(thread::spawn(move || service.serve(&flag)));
        Self {
            address,
            stop,
            thread,
        }
    }

    fn send(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    fn request(&self, method: &str, path: &str) -> (u16, String) {
        let host = self.address;
        let response = self.send(&format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        let status = response.split(' ').nth(1).unwrap().parse().unwrap();
        let (_, body) = response.split_once("\r\n\r\n").unwrap();
        (status, body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.request("GET", path)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join().expect("the server does not panic");
            ended.expect("it ends in order");
        }
    }
}

#[test]
fn the_pages_are_those_of_the_static_site() {
    let place = tempfile::tempdir().unwrap();
    let path = store(place.path(), &plans());
    let served = Served::of(&path);
    let folder = place.path().join("site");
    sample::site(&path, &folder);
    for page in [
        "runs/a3.html",
        "servers/go.html",
        "compare/a3~a4.html",
        "compare/a5~go~bun.html",
    ] {
        let (status, body) = served.get(&format!("/{page}"));
        let written = std::fs::read_to_string(folder.join(page)).unwrap();
        let main = |html: &str| {
            html[html.find("<section").unwrap()..html.rfind("</section>").unwrap()].to_owned()
        };
        assert_eq!(status, 200, "{page}");
        if page != "runs/a3.html" {
            assert_eq!(main(&body), main(&written), "{page}");
        }
    }
    let (status, front) = served.get("/");
    assert!(status == 200 && front.contains("All runs"));
    // Every link of the front page has a page.
    for href in front
        .split(" href=\"")
        .skip(1)
        .filter_map(|part| part.split('"').next())
    {
        if !href.starts_with('#') {
            assert_eq!(served.get(&format!("/{href}")).0, 200, "{href}");
        }
    }
}

#[test]
fn any_two_are_compared_by_a_form() {
    let place = tempfile::tempdir().unwrap();
    let served = Served::of(&store(place.path(), &plans()));
    let (_, form) = served.get("/compare.html");
    assert!(form.contains("<select") && form.contains("value=\"a1\""));
    let (status, two) = served.get("/compare.html?base=a1&new=a4");
    assert!(
        status == 200 && two.contains("Old CPU → New CPU") && two.contains("<select"),
        "{two}"
    );
    let (status, servers) =
        served.get("/compare.html?base=a4&base-server=bun&new=a4&new-server=go");
    assert!(status == 200 && servers.contains("bun → go"));
    let (status, unknown) =
        served.get("/compare.html?base=a1&new=%3Cscript%3Ealert(1)%3C/script%3E");
    assert!(
        status == 404 && !unknown.contains("<script>alert"),
        "{status} {unknown}"
    );
    assert_eq!(served.get("/compare.html?base=a1&new=a1").0, 422);
    assert_eq!(
        served.get("/compare.html?base=a1&new=a2&new-server=rust").0,
        422
    );
}

#[test]
fn a_run_has_no_link_to_a_latest_run_without_trials() {
    let place = tempfile::tempdir().unwrap();
    let path = store(place.path(), &plans()[..2]);
    let open = Plan {
        end: RunEnd::Open,
        ..plans().remove(2)
    };
    let writer = Store::open(&path).unwrap();
    writer.begin_run(&sample::run(&open)).unwrap();
    let served = Served::of(&path);
    let links_to_latest = || served.get("/runs/a1.html").1.contains("compare/a1~a3.html");
    assert_eq!(served.get("/compare/a1~a3.html").0, 422);
    assert!(!links_to_latest(), "it leads to an error");
    for trial in sample::trials(&open) {
        writer.add_trial("a3", &trial).unwrap();
    }
    assert!(links_to_latest());
}

#[test]
fn a_run_in_progress_is_followed() {
    let place = tempfile::tempdir().unwrap();
    let path = store(place.path(), &plans()[..2]);
    let served = Served::of(&path);
    let open = Plan {
        end: RunEnd::Open,
        ..plans().remove(2)
    };
    let writer = Store::open(&path).unwrap();
    writer.begin_run(&sample::run(&open)).unwrap();
    let (status, page) = served.get("/runs/a3.html");
    assert!(
        status == 200
            && page.contains("follows the run")
            && page.contains("http-equiv=\"refresh\""),
        "{page}"
    );
    let state = || served.get("/state?page=/runs/a3.html").1;
    let (before, front) = (state(), served.get("/state?page=/").1);
    assert!(page.contains(&format!("made=\"{before}\"")), "{before}");
    for trial in sample::trials(&open) {
        writer.add_trial("a3", &trial).unwrap();
    }
    assert_ne!(state(), before);
    assert_ne!(served.get("/state?page=/").1, front);
    assert!(
        served.get("/runs/a3.html").1.contains("80.0 k"),
        "its figures are there"
    );
    assert!(
        served
            .get("/compare/a2~a3.html")
            .1
            .contains("still going on")
    );
    writer
        .finish_run("a3", RunEnd::Complete, "2026-11-03T11:00:00Z")
        .unwrap();
    let (_, page) = served.get("/runs/a3.html");
    assert!(!page.contains("follows the run"));
}

#[test]
fn a_run_is_compared_with_the_one_that_is_still_before_it() {
    let place = tempfile::tempdir().unwrap();
    let path = store(place.path(), &plans()[..3]);
    let served = Served::of(&path);
    let links_to = |base: &str| {
        let (_, page) = served.get("/runs/a3.html");
        page.contains(&format!("compare/{base}~a3.html"))
    };
    let state = || served.get("/state?page=/runs/a3.html").1;
    assert!(links_to("a2") && !links_to("a1"));
    let before = state();
    std::fs::remove_file(&path).unwrap();
    store(place.path(), &[plans().remove(0), plans().remove(2)]);
    assert!(links_to("a1") && !links_to("a2"));
    assert_ne!(state(), before);
    std::fs::remove_file(&path).unwrap();
    store(place.path(), &[plans().remove(2)]);
    assert!(!links_to("a1"));
}

#[test]
fn only_get_and_head_only_own_hosts_and_no_files() {
    let place = tempfile::tempdir().unwrap();
    let served = Served::of(&store(place.path(), &plans()[..1]));
    let (status, body) = served.request("HEAD", "/");
    assert!(status == 200 && body.is_empty());
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "NONSENSE"] {
        assert_eq!(served.request(method, "/").0, 405, "{method}");
    }
    for path in [
        "/nope",
        "/runs/",
        "/runs/a9.html",
        "/../prony.sqlite",
        "/runs/../../prony.sqlite",
        "/%2e%2e/prony.sqlite",
        "/runs/..%2f..%2fprony.sqlite",
        "/%ff",
        "/compare/~.html",
        "/compare/a1~a1~.html",
        "/prony.sqlite",
        "//etc/passwd",
    ] {
        assert_eq!(served.get(path).0, 404, "{path}");
    }
    let port = served.address.port();
    for host in [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1:1".into(),
    ] {
        let response = served.send(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert!(response.starts_with("HTTP/1.1 421"), "{host}: {response}");
    }
    assert!(
        served
            .send("GET / HTTP/1.1\r\n\r\n")
            .starts_with("HTTP/1.1 421")
    );
    assert!(
        served
            .send(&format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"))
            .starts_with("HTTP/1.1 200")
    );
    assert!(served.send("nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
}

#[test]
fn slow_clients_do_not_keep_others_waiting_and_are_dropped() {
    let place = tempfile::tempdir().unwrap();
    let served = Served::of(&store(place.path(), &plans()[..1]));
    let slow = |served: &Served| {
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHo").unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    };
    let waiting: Vec<TcpStream> = (0..20).map(|_| slow(&served)).collect();
    assert_eq!(served.get("/").0, 200);
    for stream in &waiting {
        stream.set_nonblocking(true).unwrap();
        let error = stream.peek(&mut [0]).unwrap_err();
        assert_eq!(
            error.kind(),
            ErrorKind::WouldBlock,
            "it is still waited for"
        );
    }
    let impatient = ServiceTimes {
        head_timeout: Duration::from_millis(50),
        ..TIMES
    };
    let served = Served::with(&place.path().join("prony.sqlite"), impatient);
    let closed = slow(&served).read_to_end(&mut Vec::new());
    assert!(
        closed.is_ok() || closed.unwrap_err().kind() != ErrorKind::WouldBlock,
        "it is closed"
    );
}

#[test]
fn several_requests_are_served_from_one_look_at_the_store() {
    let place = tempfile::tempdir().unwrap();
    let path = store(place.path(), &plans()[..1]);
    let times = ServiceTimes {
        fresh_for: PATIENCE,
        ..TIMES
    };
    let served = Served::with(&path, times);
    sample::record(&Store::open(&path).unwrap(), &plans()[1]);
    assert_eq!(served.get("/runs/a2.html").0, 404);
    assert_eq!(Served::of(&path).get("/runs/a2.html").0, 200);
}

#[test]
fn a_taken_port_is_named() {
    let place = tempfile::tempdir().unwrap();
    let path = store(place.path(), &plans()[..1]);
    let served = Served::of(&path);
    let open = Box::new(move || Store::open_read(&path));
    let again = Service::bind(served.address, open, TIMES);
    let error = again.err().unwrap().to_string();
    assert!(error.contains("another program uses the port"), "{error}");
}
