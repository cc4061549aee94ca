//! `prony serve`: a real client over a real socket.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::sample::{self, Place, in_progress, plans};
use prony_model::RunEnd;
use prony_site::{Service, ServiceTimes, SiteError};
use prony_store::Store;
use prony_testkit::{PATIENCE, contains, lacks};

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
    fn of(place: &Place) -> Self {
        Self::with(place, TIMES)
    }

    fn with(place: &Place, times: ServiceTimes) -> Self {
        let path = place.store.clone();
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

    fn status(&self, path: &str) -> u16 {
        self.get(path).0
    }

    #[track_caller]
    fn page(&self, path: &str) -> String {
        let (status, page) = self.get(path);
        assert_eq!(status, 200, "{path}: {page}");
        page
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
    let place = Place::with(&plans());
    let served = Served::of(&place);
    place.build();
    served.page("/runs/a3.html");
    for page in [
        "servers/go.html",
        "compare/a3~a4.html",
        "compare/a5~go~bun.html",
    ] {
        let main = |html: &str| {
            html[html.find("<section").unwrap()..html.rfind("</section>").unwrap()].to_owned()
        };
        let body = served.page(&format!("/{page}"));
        assert_eq!(main(&body), main(&place.page(page)), "{page}");
    }
    let front = served.page("/");
    contains(&front, "All runs");
    // Every link of the front page has a page.
    let links = front.split(" href=\"").skip(1);
    let links = links.filter_map(|part| part.split('"').next());
    for link in links.filter(|link| !link.starts_with('#')) {
        served.page(&format!("/{link}"));
    }
}

#[test]
fn any_two_are_compared_by_a_form() {
    let place = Place::with(&plans());
    let served = Served::of(&place);
    for (query, words) in [
        ("", ["<select", "value=\"a1\""]),
        ("?base=a1&new=a4", ["<select", "Old CPU → New CPU"]),
        (
            "?base=a4&base-server=bun&new=a4&new-server=go",
            ["<select", "bun → go"],
        ),
    ] {
        let page = served.page(&format!("/compare.html{query}"));
        words.iter().for_each(|words| contains(&page, words));
    }
    let hostile = "/compare.html?base=a1&new=%3Cscript%3Ealert(1)%3C/script%3E";
    let (status, unknown) = served.get(hostile);
    assert_eq!(status, 404);
    lacks(&unknown, "<script>alert");
    for query in ["base=a1&new=a1", "base=a1&new=a2&new-server=rust"] {
        assert_eq!(
            served.status(&format!("/compare.html?{query}")),
            422,
            "{query}"
        );
    }
}

#[test]
fn a_run_has_no_link_to_a_latest_run_without_trials() {
    let place = Place::with(&plans()[..2]);
    let open = in_progress();
    let writer = place.writer();
    writer.begin_run(&sample::run(&open)).unwrap();
    let served = Served::of(&place);
    let links_to_latest = || served.page("/runs/a1.html").contains("compare/a1~a3.html");
    assert_eq!(served.status("/compare/a1~a3.html"), 422);
    assert!(!links_to_latest(), "it leads to an error");
    for trial in sample::trials(&open) {
        writer.add_trial("a3", &trial).unwrap();
    }
    assert!(links_to_latest());
}

#[test]
fn a_run_in_progress_is_followed() {
    let place = Place::with(&plans()[..2]);
    let served = Served::of(&place);
    let open = in_progress();
    let writer = place.writer();
    writer.begin_run(&sample::run(&open)).unwrap();
    let states = || ["/runs/a3.html", "/"].map(|page| served.page(&format!("/state?page={page}")));
    let before = states();
    let page = served.page("/runs/a3.html");
    contains(&page, "follows the run");
    contains(&page, "http-equiv=\"refresh\"");
    contains(&page, &format!("made=\"{}\"", before[0]));
    for trial in sample::trials(&open) {
        writer.add_trial("a3", &trial).unwrap();
    }
    let after = states();
    assert!(after[0] != before[0] && after[1] != before[1]);
    contains(&served.page("/runs/a3.html"), "80.0 k");
    contains(&served.page("/compare/a2~a3.html"), "still going on");
    let finished_at = "2026-11-03T11:00:00Z";
    writer
        .finish_run("a3", RunEnd::Complete, finished_at)
        .unwrap();
    lacks(&served.page("/runs/a3.html"), "follows the run");
}

#[test]
fn a_run_is_compared_with_the_one_that_is_still_before_it() {
    let place = Place::with(&plans()[..3]);
    let served = Served::of(&place);
    let links_to = |base: &str| {
        let page = served.page("/runs/a3.html");
        page.contains(&format!("compare/{base}~a3.html"))
    };
    let state = || served.page("/state?page=/runs/a3.html");
    assert!(links_to("a2") && !links_to("a1"));
    let before = state();
    let replace_by = |nths: &[usize]| {
        std::fs::remove_file(&place.store).unwrap();
        nths.iter().for_each(|nth| place.record(&plans()[*nth]));
    };
    replace_by(&[0, 2]);
    assert!(links_to("a1") && !links_to("a2"));
    assert_ne!(state(), before);
    replace_by(&[2]);
    assert!(!links_to("a1"));
}

#[test]
fn only_get_and_head_only_own_hosts_and_no_files() {
    let place = Place::with(&plans()[..1]);
    let served = Served::of(&place);
    assert_eq!(served.request("HEAD", "/"), (200, String::new()));
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "NONSENSE"] {
        assert_eq!(served.request(method, "/").0, 405, "{method}");
    }
    let paths = "/nope /runs/ /runs/a9.html /../prony.sqlite /runs/../../prony.sqlite /%2e%2e/prony.sqlite \
        /runs/..%2f..%2fprony.sqlite /%ff /compare/~.html /compare/a1~a1~.html /prony.sqlite //etc/passwd";
    for path in paths.split(' ') {
        assert_eq!(served.status(path), 404, "{path}");
    }
    let port = served.address.port();
    for (head, status) in [
        ("GET / HTTP/1.1\r\nHost: evil.example".to_owned(), 421),
        (format!("GET / HTTP/1.1\r\nHost: evil.example:{port}"), 421),
        ("GET / HTTP/1.1\r\nHost: 127.0.0.1:1".into(), 421),
        ("GET / HTTP/1.1".into(), 421),
        (format!("GET / HTTP/1.1\r\nHost: localhost:{port}"), 200),
        ("nonsense".into(), 400),
    ] {
        let response = served.send(&format!("{head}\r\n\r\n"));
        let expected = format!("HTTP/1.1 {status} ");
        assert!(response.starts_with(&expected), "{head}: {response}");
    }
}

#[test]
fn slow_clients_do_not_keep_others_waiting_and_are_dropped() {
    let place = Place::with(&plans()[..1]);
    let served = Served::of(&place);
    let slow = |served: &Served| {
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHo").unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    };
    let waiting: Vec<TcpStream> = (0..20).map(|_| slow(&served)).collect();
    served.page("/");
    for stream in &waiting {
        stream.set_nonblocking(true).unwrap();
        let error = stream.peek(&mut [0]).unwrap_err().kind();
        assert_eq!(error, ErrorKind::WouldBlock, "it is still waited for");
    }
    let impatient = ServiceTimes {
        head_timeout: Duration::from_millis(50),
        ..TIMES
    };
    let closed = slow(&Served::with(&place, impatient)).read_to_end(&mut Vec::new());
    let is_closed = closed.is_ok() || closed.unwrap_err().kind() != ErrorKind::WouldBlock;
    assert!(is_closed);
}

#[test]
fn several_requests_are_served_from_one_look_at_the_store() {
    let place = Place::with(&plans()[..1]);
    let times = ServiceTimes {
        fresh_for: PATIENCE,
        ..TIMES
    };
    let served = Served::with(&place, times);
    place.record(&plans()[1]);
    assert_eq!(served.status("/runs/a2.html"), 404);
    Served::of(&place).page("/runs/a2.html");
}

#[test]
fn a_taken_port_is_named() {
    let place = Place::with(&plans()[..1]);
    let served = Served::of(&place);
    let open = Box::new(move || Store::open_read(&place.store));
    let error = Service::bind(served.address, open, TIMES).err().unwrap();
    contains(&error.to_string(), "another program uses the port");
}
