//! A plan that went through JSON sends the same requests to a server as the plan itself, and finds the same wrong
//! responses.

mod damaged;
mod recorder;
mod scenarios;

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use prony_load::tls::{Identity, Offer, TlsSettings, TlsVersion, Trust, Versions};
use prony_load::{Endpoint, EventLoopChoice, LoadPlan, SampleChoice, Sampling, run};
use prony_model::{LoadResult, Outcomes, Protocol, Seconds};
use prony_testkit::certificate::Certificate;
use prony_testkit::contains;
use prony_traffic::expected::{BodyContent, BodyRules};
use prony_traffic::{
    Call, CallKind, Expected, HttpUrl, HttpVersion, Order, RequestParts, RequestSet, Traffic,
};
use recorder::{Recorded, Recorder};

const REQUESTS: u64 = 30;
const EVENT_LOOPS: [EventLoopChoice; 2] = [EventLoopChoice::IoUring, EventLoopChoice::Epoll];

/// The plan as another process has it, and its text.
fn rebuilt(plan: &LoadPlan) -> (LoadPlan, String) {
    let text = serde_json::to_string(plan).unwrap();
    let rebuilt: LoadPlan = serde_json::from_str(&text).unwrap();
    // Maps have no order.
    let [again, once] = [&rebuilt, plan].map(|plan| serde_json::to_value(plan).unwrap());
    assert_eq!(again, once);
    (rebuilt, text)
}

/// What a load sends, and how it judges the responses.
#[derive(Debug, PartialEq)]
struct Seen {
    requests: Vec<Recorded>,
    outcomes: Outcomes,
    /// The outcome and the detail of the first wrong response.
    wrong: Option<String>,
    events: Option<u64>,
}

fn load(plan: &LoadPlan, server: &Recorder) -> Seen {
    let result: LoadResult = run(plan, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let wrong = result.first_wrong;
    Seen {
        requests: server.take(),
        outcomes: result.outcomes,
        wrong: wrong.map(|wrong| wrong.detail),
        events: result.events.map(|events| events.count),
    }
}

/// What both plans do over each event loop, which is the same.
fn same(plan: LoadPlan, server: &Recorder) -> Seen {
    let each = EVENT_LOOPS.map(|event_loop| {
        let plan = plan.clone().with(|plan| plan.here.event_loop = event_loop);
        let (rebuilt, _) = rebuilt(&plan);
        let here = load(&plan, server);
        assert_eq!(load(&rebuilt, server), here, "{event_loop}");
        here
    });
    let [seen, _] = each;
    assert!(!seen.requests.is_empty());
    seen
}

fn plan(server: &Recorder, url: &str, request: impl Into<Traffic>) -> LoadPlan {
    LoadPlan::new(Endpoint::Tcp(server.address), url, request).with(|plan| {
        plan.load.requests = Some(REQUESTS);
        plan.load.timeout = Seconds::from_secs(30);
        plan.load.seed = 7;
    })
}

fn sampling(check: Expected) -> Option<Sampling> {
    Some(Sampling {
        check: Arc::new(check),
        choice: SampleChoice::EveryNth(NonZeroU64::MIN),
    })
}

fn secure(server: &Recorder, http: HttpVersion) -> TlsSettings {
    let settings = TlsSettings {
        trust: Trust::File(server.certificate.path("cert.pem")),
        ..TlsSettings::default()
    };
    assert!(settings.client("localhost", Offer::Only(http)).is_ok());
    settings
}

/// Several requests, in proportion to their weights; one of them finds nothing.
fn mixed(server: &Recorder, protocol: Protocol) -> LoadPlan {
    let http = HttpVersion::from(protocol);
    let scheme = if protocol.is_tls() { "https" } else { "http" };
    let port = server.address.port();
    let url = |path: &str| -> HttpUrl {
        let text = format!("{scheme}://localhost:{port}{path}");
        text.parse().unwrap()
    };
    let request = |method: &str, path: &str, line: &str, body: &[u8]| {
        RequestParts::new(method, &url(path), &[line.to_owned()], body).unwrap()
    };
    let binary = "content-type: application/octet-stream";
    let requests = vec![
        request("GET", "/a?b=%20", "x-a: one", b""),
        request("POST", "/p", binary, &[0, 255, 13, 10]),
        request("DELETE", "/gone", "cookie: a=b", b""),
    ];
    let set = RequestSet::new(requests, Order::Random(vec![5, 3, 1])).unwrap();
    let secure = protocol.is_tls().then(|| secure(server, http));
    let request = Traffic::requests(set, http).unwrap();
    plan(server, url("/").as_str(), request).with(|plan| {
        plan.tls = secure.map(|it| it.client("localhost", Offer::Only(http)).unwrap());
        plan.sampling = sampling(Expected {
            statuses: vec![200],
            ..Expected::default()
        });
    })
}

#[test]
fn the_same_requests_are_sent_over_every_version_of_http() {
    for protocol in [
        Protocol::Http11,
        Protocol::Https11,
        Protocol::H2c,
        Protocol::H2,
    ] {
        let server = Recorder::start(protocol);
        let seen = same(mixed(&server, protocol), &server);
        assert!(seen.requests.iter().any(|it| it.body == [0, 255, 13, 10]));
        contains(&seen.wrong.unwrap(), "404");
        assert_eq!(seen.requests.len() as u64, REQUESTS);
    }
}

#[test]
fn the_same_calls_are_sent() {
    let server = Recorder::start(Protocol::Grpc);
    let message = b"\x0a\x05hello".to_vec();
    let address = server.address.to_string();
    // The bodies of streams have the prefixes of their messages.
    let longer = "expected a body of 7 bytes, got 12";
    for (kind, difference) in [
        (CallKind::Unary, "at byte 6: `O`"),
        (CallKind::ServerStreaming, longer),
    ] {
        let call = Call {
            kind,
            timeout: Some(Duration::from_secs(9)),
            ..Call::unary("/a.B/C", &*address, &*message)
        };
        let expected = Expected {
            body: BodyRules {
                content: Some(BodyContent::Exact(b"\x0a\x05hellO".to_vec())),
                ..BodyRules::default()
            },
            ..Expected::default()
        };
        let plan = plan(&server, "http://a", call).with(|plan| plan.sampling = sampling(expected));
        let seen = same(plan, &server);
        assert!(seen.requests[0].body.ends_with(&message));
        contains(&seen.wrong.unwrap(), difference);
    }
}

#[test]
fn the_same_events_are_counted() {
    for protocol in [Protocol::Http11, Protocol::H2c] {
        let server = Recorder::start(protocol);
        let url: HttpUrl = format!("http://{}/events", server.address).parse().unwrap();
        let request = RequestParts::new("GET", &url, &[], b"").unwrap();
        let request = Traffic::requests(request, protocol.into()).unwrap();
        let plan = plan(&server, url.as_str(), request).with(|plan| plan.load.events = true);
        assert_eq!(same(plan, &server).events, Some(2 * REQUESTS));
    }
}

#[test]
fn a_client_certificate_and_resumption_travel_without_files() {
    let client = Certificate::new();
    let server = Recorder::requiring(Some(&client), Protocol::Https11);
    let mut settings = secure(&server, HttpVersion::Http1);
    settings.identity = Some(Identity {
        certificates: client.path("cert.pem"),
        key: client.path("key.pem"),
    });
    settings.resumes = true;
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        settings.versions = Versions {
            lowest: version,
            highest: version,
        };
        let client = settings.client("localhost", Offer::Only(HttpVersion::Http1));
        let plan = mixed(&server, Protocol::Https11).with(|plan| {
            plan.tls = Some(client.unwrap());
            plan.load.requests_per_connection = Some(10);
        });
        let seen = same(plan, &server);
        let first = &seen.requests[0].connection;
        let last = &seen.requests[REQUESTS as usize - 1].connection;
        assert_eq!(first.server_name.as_deref(), Some("localhost"));
        assert_eq!(first.client_certificates.len(), 1);
        let handshakes = [&first.handshake[..], &last.handshake];
        assert_eq!(handshakes, ["Some(Full)", "Some(Resumed)"]);
    }
}

#[test]
fn a_plan_is_rebuilt_where_its_files_are_not() {
    let server = Recorder::start(Protocol::H2);
    let plan = mixed(&server, Protocol::H2);
    let text = serde_json::to_string(&plan).unwrap();
    std::fs::remove_file(server.certificate.path("cert.pem")).unwrap();
    let elsewhere = load(&serde_json::from_str(&text).unwrap(), &server);
    assert_eq!(elsewhere, load(&plan, &server));
}

#[test]
fn the_size_of_a_plan_is_that_of_its_content() {
    let server = Recorder::start(Protocol::Http11);
    let (_, text) = rebuilt(&mixed(&server, Protocol::Http11));
    assert!(text.len() < 3000, "{}", text.len());
    let offer = Offer::Only(HttpVersion::Http1);
    // A machine may have no root certificates.
    let Ok(client) = TlsSettings::default().client("localhost", offer) else {
        return;
    };
    let plan = mixed(&server, Protocol::Http11).with(|plan| plan.tls = Some(client));
    let (_, text) = rebuilt(&plan);
    assert!(text.len() < 2_000_000, "{}", text.len());
}
