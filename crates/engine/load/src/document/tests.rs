//! Every plan is rebuilt exactly, and no damaged document is a plan.

use std::fs;
use std::num::NonZeroU64;

use http::{HeaderName, HeaderValue, Method};
use prony_model::{Arrivals, LoadShape, Schedule, Seconds, Stage};
use prony_testkit::certificate::Certificate;
use prony_testkit::table::rows;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::plan::EventLoopChoice;
use crate::request::{LoadRequest, Order, RequestParts, RequestSet, WireRequest};
use crate::response::{Expectation, Response};
use crate::tls::{HttpVersion, Identity, Offer, TlsSettings, TlsVersion, Trust, Versions};
use crate::wire::grpc::{Call, CallKind};
use crate::wire::h2::StreamRequest;
use crate::{HttpUrl, Request};

/// Rebuilds expectations alone.
struct Expectations;

impl Rebuild for Expectations {
    fn check(&self, check: &Portable) -> Result<Arc<dyn ResponseCheck>, RebuildError> {
        match &check.kind[..] {
            Expectation::KIND => Ok(Arc::new(Expectation::rebuild(check)?)),
            _ => Err(check.damaged("it is unknown here")),
        }
    }

    fn scenario(&self, scenario: &Portable) -> Result<Arc<dyn Scenario>, RebuildError> {
        Err(scenario.damaged("there are no scenarios here"))
    }
}

fn url(path: &str) -> HttpUrl {
    format!("http://localhost:8080{path}").parse().unwrap()
}

fn parts(method: &str, path: &str, headers: &[&str], body: &[u8]) -> RequestParts {
    let headers: Vec<String> = headers.iter().map(|&line| line.to_owned()).collect();
    RequestParts::new(method, &url(path), &headers, body).unwrap()
}

/// Requests of every sort.
fn requests() -> Vec<RequestParts> {
    let long = format!("x-long: {}", "a".repeat(3000));
    let text = &["Content-Type: text/plain"];
    vec![
        parts("GET", "/", &[], b""),
        parts("HEAD", "/h?q=%20", &["Accept: */*", "x-a: \"b\""], b""),
        parts("GET", "/c", &["Connection: close"], b""),
        parts("POST", "/p", text, &[0, 255, b'\r', b'\n']),
        parts("PUT", "/e", &["Host: other", &long], b""),
        parts("BREW", "/b", &["te: trailers", "upgrade: h2c"], b"\r\n\r\n"),
    ]
}

fn set(http: HttpVersion, order: Order) -> LoadRequest {
    let set = RequestSet::new(requests(), order).unwrap();
    set.encode(http).unwrap().into()
}

fn call(kind: CallKind, messages: &[Vec<u8>]) -> StreamRequest {
    let token = HeaderValue::from_bytes(b"t\xff").unwrap();
    let metadata = [(HeaderName::from_static("x-token"), token)];
    let call = Call {
        path: "/echo.Echo/Each",
        authority: "localhost:1",
        scheme: "https",
        kind,
        metadata: &metadata,
        timeout: Some(Duration::from_millis(1500)),
        messages,
    };
    call.encode().unwrap()
}

fn plan(request: impl Into<LoadRequest>) -> LoadPlan {
    let endpoint = Endpoint::Tcp("127.0.0.1:1".parse().unwrap());
    LoadPlan::new(endpoint, "http://localhost:8080/", request)
        .with(|plan| plan.load.requests = Some(10))
}

fn plain_plan() -> LoadPlan {
    plan(Request::new("GET", &url("/"), &[], b"").unwrap())
}

/// The plan of the document, whose own document is the same.
fn rebuilt(plan: &LoadPlan) -> LoadPlan {
    let document = plan.document().unwrap();
    let text = serde_json::to_string(&document).unwrap();
    let read: PlanDocument = serde_json::from_str(&text).unwrap();
    assert!(read == document, "{text}");
    let rebuilt = read.plan(&Expectations).unwrap();
    let again = serde_json::to_string(&rebuilt.document().unwrap());
    assert_eq!(again.unwrap(), text);
    rebuilt
}

/// What is not in the debug form of a request, such as the header blocks of HTTP/2, is private to other modules.
fn sent(request: &LoadRequest) -> String {
    format!("{:?}", request.set().unwrap())
}

#[test]
fn every_byte_of_every_request_is_rebuilt() {
    let weights = Order::Random(vec![0, 1, 2, 3, u32::MAX, 5]);
    let one = |kind| call(kind, &[b"\x0a\x01x".to_vec()]);
    let loads: [LoadRequest; 9] = [
        set(HttpVersion::Http1, Order::InTurn),
        set(HttpVersion::Http1, weights.clone()),
        set(HttpVersion::Http2, Order::InTurn),
        set(HttpVersion::Http2, weights),
        one(CallKind::Unary).into(),
        one(CallKind::ServerStreaming).into(),
        call(CallKind::ClientStreaming, &[]).into(),
        call(CallKind::Bidirectional, &[Vec::new(), vec![1; 500]]).into(),
        // A tunnel, whose request has no path.
        parts("CONNECT", "/", &[], b"").http1().into(),
    ];
    for request in loads {
        let plan = plan(request);
        assert_eq!(sent(&rebuilt(&plan).request), sent(&plan.request));
    }
}

#[test]
fn a_request_of_the_connection_that_closes_has_its_field_once() {
    let requests = [["Connection: close"], ["x-a: b"]].map(|line| parts("GET", "/", &line, b""));
    let set = RequestSet::new(requests.to_vec(), Order::InTurn).unwrap();
    let given = plan(set.encode(HttpVersion::Http1).unwrap());
    let LoadRequest::Set(WireRequest::Http1(set)) = rebuilt(&given).request else {
        panic!("another request");
    };
    for (number, request) in set.requests().iter().enumerate() {
        let mut closing = Vec::new();
        request.add_closing(&mut closing);
        let text = String::from_utf8_lossy(&closing).to_lowercase();
        assert_eq!(text.matches("connection: close\r\n").count(), 1);
        assert_eq!(request.closes(), number == 0);
    }
}

fn stage(from_per_s: f64, to_per_s: f64, duration_s: Option<f64>) -> Stage {
    Stage {
        from_per_s,
        to_per_s,
        duration_s,
    }
}

fn full_plan() -> LoadPlan {
    LoadPlan {
        endpoint: Endpoint::Unix("/tmp/ä b.sock".into()),
        sampling: Some(Sampling {
            check: Arc::new(Expectation {
                status: Some(201),
                length: Some(3),
                body: Some(b"a\0\xff".to_vec()),
            }),
            choice: SampleChoice::EveryNth(NonZeroU64::new(7).unwrap()),
        }),
        load: LoadSpec {
            shape: LoadShape::Rate(Schedule {
                arrivals: Arrivals::Poisson,
                burst: 3,
                stages: vec![
                    stage(0.1, 1.0 / 3.0, Some(1e-6)),
                    Stage::endless(123_456.789_012_345_68),
                ],
            }),
            connections: 12,
            max_connections: Some(345),
            pipeline: 6,
            requests_per_connection: Some(78),
            threads: 2,
            duration: Some(Seconds::from_millis(1001)),
            requests: Some(u64::MAX),
            warmup: Seconds::from_millis(2),
            timeout: Seconds::from_millis(3),
            deadline: Some(Seconds(Duration::new(4, 999_999_999))),
            seed: u64::MAX - 1,
            spin: true,
            streams: 11,
            first_byte: true,
            events: true,
            ..LoadSpec::default()
        },
        flow_think_time: Some(Duration::new(1, 999_999_999)),
        agents: 5,
        overtime: true,
        slow_from_ns: vec![1, u64::MAX],
        here: Here {
            event_loop: EventLoopChoice::IoUring,
            sources: vec!["127.0.0.2".parse().unwrap(), "::1".parse().unwrap()],
            cpus: vec![3, 1],
            ..Here::default()
        },
        ..plain_plan()
    }
}

#[test]
fn every_field_of_a_plan_is_rebuilt() {
    let given = full_plan();
    // No pattern leaves a field out, so a new one has to be compared here.
    macro_rules! compare {
        ($plan:expr, $given:expr, $Type:ident { $($field:ident)* } $($other:ident)*) => {
            let $Type { $($other: _,)* $($field),* } = &$plan;
            $(assert_eq!(*$field, $given.$field, "{}", stringify!($field));)*
        };
    }
    let plan = rebuilt(&given);
    compare! {
        plan, given,
        LoadPlan { endpoint url load flow_think_time agents overtime slow_from_ns } request tls sampling here
    }
    compare! { plan.here, given.here, Here { event_loop sources cpus } batches acknowledges_at_once }
    let LoadPlan {
        request, sampling, ..
    } = plan;
    assert_eq!(sent(&request), sent(&given.request));
    let wrong = Response {
        status: 201,
        body: b"a\0\xfe".to_vec(),
        ..Response::default()
    };
    let [rebuilt, given] = [sampling, given.sampling].map(|sampling| {
        let Sampling { check, choice } = sampling.unwrap();
        let mismatch = check.check(&wrong).unwrap_err();
        let (body, status) = (check.body().map(<[u8]>::to_vec), check.status());
        (choice, mismatch, body, status)
    });
    assert_eq!(rebuilt, given);
}

proptest! {
    #[test]
    fn rates_are_rebuilt_to_the_last_bit(from_per_s in 0.0..1e9f64, to_per_s in 1e-300..1e9f64) {
        let stages = vec![stage(from_per_s, to_per_s, None)];
        let schedule = Schedule { arrivals: Arrivals::Even, burst: 1, stages };
        let mut plan = plain_plan();
        plan.load.shape = LoadShape::Rate(schedule);
        prop_assert_eq!(rebuilt(&plan).load.shape, plan.load.shape);
    }
}

/// Everything that settings may have, with files in the folder of the first certificate.
fn settings([own, authority]: &[Certificate; 2]) -> TlsSettings {
    let text = |one: &Certificate| fs::read_to_string(one.path("cert.pem")).unwrap();
    fs::write(own.path("chain.pem"), text(own) + &text(authority)).unwrap();
    TlsSettings {
        trust: Trust::File(authority.path("cert.pem")),
        identity: Some(Identity {
            certificates: own.path("chain.pem"),
            key: own.path("key.pem"),
        }),
        versions: Versions {
            lowest: TlsVersion::Tls12,
            highest: TlsVersion::Tls12,
        },
        cipher_suites: vec!["ECDHE-ECDSA-AES128-GCM-SHA256".into()],
        server_name: Some("example.test".into()),
        resumes: true,
    }
}

fn secure_plan(settings: &TlsSettings, offer: Offer) -> LoadPlan {
    LoadPlan {
        tls: Some(settings.client("localhost", offer).unwrap()),
        ..plain_plan()
    }
}

fn certificates() -> [Certificate; 2] {
    [Certificate::new(), Certificate::new()]
}

#[test]
fn a_client_for_tls_is_rebuilt_without_its_files() {
    let certificates = certificates();
    let key = fs::read_to_string(certificates[0].path("key.pem")).unwrap();
    let plan = secure_plan(&settings(&certificates), Offer::Both);
    let document = plan.document().unwrap();
    drop(certificates);
    let rebuilt = document.clone().plan(&Expectations).unwrap();
    assert!(rebuilt.document().unwrap() == document);
    let client = rebuilt.tls.unwrap();
    assert_eq!(client.parts(), plan.tls.as_ref().unwrap().parts());
    // The lines between those that mark a key.
    let secret = key.lines().nth(1).unwrap();
    let text = serde_json::to_string(&document).unwrap();
    assert!(text.contains(secret) && !text.contains("key.pem"), "{text}");
    for shown in [
        format!("{document:?}"),
        format!("{client:?}"),
        format!("{:?}", plan.tls),
    ] {
        assert!(!shown.contains(&secret[..20]), "{shown}");
    }
}

#[test]
fn any_certificate_and_either_version_are_rebuilt() {
    let settings = TlsSettings {
        trust: Trust::Any,
        ..TlsSettings::default()
    };
    let only = [HttpVersion::Http1, HttpVersion::Http2].map(Offer::Only);
    for offer in only.into_iter().chain([Offer::Both]) {
        let plan = secure_plan(&settings, offer);
        let rebuilt = rebuilt(&plan);
        assert_eq!(rebuilt.tls.unwrap().parts(), plan.tls.unwrap().parts());
    }
}

#[test]
fn what_cannot_travel_is_named() {
    struct Here;
    impl ResponseCheck for Here {
        fn check(&self, _: &Response) -> Result<(), crate::Mismatch> {
            Ok(())
        }
    }
    let mut plan = full_plan();
    plan.sampling = Some(Sampling {
        check: Arc::new(Here),
        choice: SampleChoice::AtRandom,
    });
    let refusal = |plan: &LoadPlan| plan.document().unwrap_err().to_string();
    let reason = "this expected response cannot be sent to other hosts";
    assert_eq!(refusal(&plan), reason);
    let long = HeaderValue::try_from("a".repeat(70_000)).unwrap();
    let fields = [(HeaderName::from_static("x"), long)];
    let request = StreamRequest::http(&Method::GET, "http", "h", "/", &fields, b"").unwrap();
    plan.request = request.into();
    let reason =
        "an HTTP/2 request with more than 64 KiB of header fields cannot be sent to other hosts";
    assert_eq!(refusal(&plan), reason);
    use std::os::unix::ffi::OsStringExt as _;
    plan.endpoint = Endpoint::Unix(std::ffi::OsString::from_vec(vec![0xff]).into());
    assert!(plan.document().is_err());
}

/// Refuses the document of a plan with each of these changes: a place, the value it gets, and a part of the reason.
fn refuses(plan: &LoadPlan, changes: &str) {
    let document = serde_json::to_value(plan.document().unwrap()).unwrap();
    for [place, value, reason] in rows(changes) {
        let mut document = document.clone();
        let (parent, name) = place.rsplit_once('/').unwrap();
        document.pointer_mut(parent).unwrap()[name] = serde_json::from_str(value).unwrap();
        let refusal = match serde_json::from_value::<PlanDocument>(document) {
            Err(error) => error.to_string(),
            Ok(document) => document.plan(&Expectations).err().expect("a refusal").0,
        };
        assert!(refusal.contains(reason), "{place}: {refusal}");
    }
}

#[test]
fn a_damaged_document_is_refused_with_the_reason() {
    refuses(
        &full_plan(),
        r#"
            /new | 1 | unknown field `new`
            /load/new | 1 | a field that is unknown or missing
            /sampling/new | 1 | unknown field `new`
            /sampling/check/new | 1 | unknown field `new`
            /sampling/check/content/new | 1 | the `expectation` of the plan is damaged: unknown field `new`
            /request/http1/new | 1 | unknown field `new`
            /request | {"http3": {}} | unknown variant `http3`
            /request/http1/requests | [] | needs at least one request
            /request/http1/weights | [1, 2] | the weights must be one for each
            /request/http1/requests | [{"bytes": "R0VUIC8=", "closes": false}] | a damaged HTTP/1.1 request
            /request/http1/requests | [{"bytes": "%", "closes": false}] | it is not base64
            /request | {"http2": {"weights": null, "requests": [{"head": "gg==", "body": ""}]}} | a damaged HTTP/2 request
            /request | {"scenario": {"http": "http1", "scenario": {"kind": "x", "content": 1}}} | there are no scenarios here
            /load/connections | 18446744073709551615 | more than 1000000000
            /load/connections | 0 | at least one connection
            /load/connections | -1 | invalid value
            /load/threads | 100000 | 100000 threads
            /load/timeout_s | 6307200000.0 | a time of more than 100 years
            /load/timeout_s | 1e300 | 1e300 s: cannot convert
            /load/timeout_s | -1.0 | -1.0 s: cannot convert
            /load/duration_s | "1.5" | invalid type
            /flow_think_time | {"secs": 18446744073709551615, "nanos": 4000000000} | overflow
            /here/new | 1 | unknown field `new`
            /endpoint | {"tcp": "localhost"} | invalid socket address
            /tls | {"trust": "any"} | missing field
        "#,
    );
    let document = serde_json::to_value(full_plan().document().unwrap()).unwrap();
    for (field, _) in document.as_object().unwrap() {
        let mut document = document.clone();
        document.as_object_mut().unwrap().remove(field);
        let result = serde_json::from_value::<PlanDocument>(document);
        assert!(result.is_err(), "{field} may be missing");
    }
}

#[test]
fn damaged_certificates_and_keys_are_refused_with_the_reason() {
    refuses(
        &secure_plan(&settings(&certificates()), Offer::Both),
        r#"
            /tls/trust | {"certificates": ["AAAA"]} | a certificate to trust is invalid
            /tls/trust | {"certificates": []} | TLS cannot be set up
            /tls/identity/key | "AAAA" | private key is unusable
            /tls/identity/certificates | ["AAAA"] | client certificate or its private key
            /tls/identity/certificates | [] | client certificate or its private key
            /tls/server_name | "a b" | neither a host name nor an IP address
            /tls/cipher_suites | ["x"] | cipher suite
            /tls/versions | {"lowest": "1.3", "highest": "1.2"} | lowest TLS version
            /tls/versions | {"lowest": "1.1", "highest": "1.2"} | unknown variant `1.1`
        "#,
    );
}

/// The places of all values in a document, as far as they are in the first `most` elements of an array.
pub(crate) fn places(value: &Value, most: usize) -> Vec<String> {
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, one)| (name.replace('~', "~0").replace('/', "~1"), one))
            .collect(),
        Value::Array(elements) => {
            let numbered = elements.iter().enumerate().take(most);
            numbered.map(|(at, one)| (at.to_string(), one)).collect()
        }
        _ => Vec::new(),
    };
    let below = parts.iter().flat_map(|(name, part)| {
        places(part, most)
            .into_iter()
            .map(move |rest| format!("/{name}{rest}"))
    });
    below.chain([String::new()]).collect()
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0..20i64).prop_map(Value::from),
        "[A-Za-z0-9+/]{0,12}={0,2}".prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
    ]
}

/// A document of each sort.
fn documents() -> Vec<Value> {
    let message = [b"\x0a\x01x".to_vec()];
    let plans = [
        full_plan(),
        plan(set(HttpVersion::Http2, Order::Random(vec![1; 6]))),
        plan(call(CallKind::Unary, &message)),
        secure_plan(&settings(&certificates()), Offer::Both),
    ];
    let documents = plans.iter().map(|plan| plan.document().unwrap());
    documents
        .map(|it| serde_json::to_value(it).unwrap())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_change_of_a_document_panics(
        which in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
        change in prop_oneof![any_value().prop_map(Some), Just(None)],
    ) {
        thread_local!(static DOCUMENTS: Vec<Value> = documents());
        let mut document = DOCUMENTS.with(|documents| which.get(documents).clone());
        let all = places(&document, usize::MAX);
        let value = document.pointer_mut(place.get(&all).as_str()).expect("a place");
        match (change, &mut *value) {
            (Some(other), _) => *value = other,
            (None, Value::String(text)) => text.truncate(text.floor_char_boundary(text.len() / 2)),
            (None, Value::Array(elements)) => drop(elements.pop()),
            (None, _) => *value = Value::Null,
        }
        // What is still a plan is rebuilt again.
        if let Ok(document) = serde_json::from_value::<PlanDocument>(document)
            && let Ok(plan) = document.clone().plan(&Expectations)
        {
            let [again, document] = [plan.document().unwrap(), document]
                .map(|document| serde_json::to_string(&document).unwrap());
            prop_assert_eq!(again, document);
        }
    }
}
