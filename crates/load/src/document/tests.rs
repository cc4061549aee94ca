//! Every plan is rebuilt exactly, and no damaged document is a plan.

use std::fs;

use http::{HeaderName, HeaderValue, Method};
use prony_model::{Arrivals, Schedule, Stage};
use proptest::prelude::*;
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use serde_json::{Value, json};

use super::*;
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
    let long = "a".repeat(3000);
    vec![
        parts("GET", "/", &[], b""),
        parts("HEAD", "/h?q=%20", &["Accept: */*", "x-a: \"b\""], b""),
        parts("GET", "/c", &["Connection: close"], b""),
        parts(
            "POST",
            "/p",
            &["Content-Type: text/plain"],
            &[0, 255, b'\r', b'\n'],
        ),
        parts(
            "PUT",
            "/e",
            &["Host: other", &format!("x-long: {long}")],
            b"",
        ),
        parts("BREW", "/b", &["te: trailers", "upgrade: h2c"], b"\r\n\r\n"),
    ]
}

fn set(http: HttpVersion, order: Order) -> LoadRequest {
    let set = RequestSet::new(requests(), order).unwrap();
    set.encode(http).unwrap().into()
}

fn call(kind: CallKind, messages: &[Vec<u8>]) -> StreamRequest {
    let metadata = [(
        HeaderName::from_static("x-token"),
        HeaderValue::from_bytes(b"t\xff").unwrap(),
    )];
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
    LoadPlan {
        requests: Some(10),
        ..LoadPlan::new(
            Endpoint::Tcp("127.0.0.1:1".parse().unwrap()),
            "http://localhost:8080/",
            request,
        )
    }
}

/// The plan of the document, whose own document is the same.
fn rebuilt(plan: &LoadPlan) -> LoadPlan {
    let document = plan.document().unwrap();
    let text = serde_json::to_string(&document).unwrap();
    let read: PlanDocument = serde_json::from_str(&text).unwrap();
    assert!(read == document, "{text}");
    let rebuilt = read.plan(&Expectations).unwrap();
    assert_eq!(
        serde_json::to_string(&rebuilt.document().unwrap()).unwrap(),
        text
    );
    rebuilt
}

fn refusal(document: Value) -> String {
    match serde_json::from_value::<PlanDocument>(document) {
        Err(error) => error.to_string(),
        Ok(document) => document.plan(&Expectations).err().expect("a refusal").0,
    }
}

/// What is not in the debug form of a request, such as the header blocks of HTTP/2, is private to other modules.
fn sent(request: &LoadRequest) -> String {
    format!("{:?}", request.set().unwrap())
}

#[test]
fn every_byte_of_every_request_is_rebuilt() {
    let weights = Order::Random(vec![0, 1, 2, 3, u32::MAX, 5]);
    let one = |kind| call(kind, &[b"\x0a\x01x".to_vec()]);
    let loads: [LoadRequest; 8] = [
        set(HttpVersion::Http1, Order::InTurn),
        set(HttpVersion::Http1, weights.clone()),
        set(HttpVersion::Http2, Order::InTurn),
        set(HttpVersion::Http2, weights),
        one(CallKind::Unary).into(),
        one(CallKind::ServerStreaming).into(),
        call(CallKind::ClientStreaming, &[]).into(),
        call(CallKind::Bidirectional, &[Vec::new(), vec![1; 500]]).into(),
    ];
    for request in loads {
        let plan = plan(request);
        assert_eq!(sent(&rebuilt(&plan).request), sent(&plan.request));
    }
    let tunnel = plan(parts("CONNECT", "/", &[], b"").http1());
    assert_eq!(sent(&rebuilt(&tunnel).request), sent(&tunnel.request));
}

#[test]
fn a_request_of_the_connection_that_closes_has_its_field_once() {
    let set = |plan: &LoadPlan| match &plan.request {
        LoadRequest::Set(WireRequest::Http1(set)) => set.clone(),
        _ => panic!("another request"),
    };
    let rebuilt = set(&rebuilt(&plan(set_of_closing())));
    for (number, request) in rebuilt.requests().iter().enumerate() {
        let text = String::from_utf8_lossy(request.closing_bytes());
        assert_eq!(
            text.to_lowercase().matches("connection: close\r\n").count(),
            1
        );
        assert_eq!(request.closes(), number == 0);
    }
}

fn set_of_closing() -> LoadRequest {
    let requests = [["Connection: close"], ["x-a: b"]].map(|line| parts("GET", "/", &line, b""));
    let set = RequestSet::new(requests.to_vec(), Order::InTurn).unwrap();
    set.encode(HttpVersion::Http1).unwrap().into()
}

fn full_plan() -> LoadPlan {
    let millis = Duration::from_millis;
    LoadPlan {
        endpoint: Endpoint::Unix("/tmp/ä b.sock".into()),
        shape: LoadShape::Rate(Schedule {
            arrivals: Arrivals::Poisson,
            burst: 3,
            stages: vec![
                Stage {
                    from_per_s: 0.1,
                    to_per_s: 1.0 / 3.0,
                    duration_s: Some(1e-6),
                },
                Stage::endless(123_456.789_012_345_68),
            ],
        }),
        flow_think_time: Some(Duration::new(1, 999_999_999)),
        connections: 12,
        max_connections: 345,
        pipeline: 6,
        requests_per_connection: NonZeroU64::new(78),
        threads: 2,
        agents: 5,
        duration: Some(millis(1001)),
        overtime: true,
        requests: Some(u64::MAX),
        warmup: millis(2),
        timeout: millis(3),
        deadline: Some(millis(4)),
        spin: true,
        event_loop: EventLoopChoice::IoUring,
        sources: vec!["127.0.0.2".parse().unwrap(), "::1".parse().unwrap()],
        cpus: vec![3, 1],
        sampling: Some(Sampling {
            check: Arc::new(Expectation {
                status: Some(201),
                length: Some(3),
                body: Some(b"a\0\xff".to_vec()),
            }),
            choice: SampleChoice::EveryNth(NonZeroU64::new(7).unwrap()),
        }),
        seed: u64::MAX - 1,
        first_byte: true,
        slow_from_ns: vec![1, u64::MAX],
        events: true,
        streams: 11,
        ..plan(Request::new("GET", &url("/"), &[], b"").unwrap())
    }
}

#[test]
fn every_field_of_a_plan_is_rebuilt() {
    let given = full_plan();
    // No pattern leaves a field out, so a new one has to be compared here.
    let LoadPlan {
        endpoint,
        url,
        request,
        tls: _,
        shape,
        flow_think_time,
        connections,
        max_connections,
        pipeline,
        requests_per_connection,
        threads,
        agents,
        duration,
        overtime,
        batches: _,
        requests,
        warmup,
        timeout,
        deadline,
        spin,
        event_loop,
        sources,
        cpus,
        sampling,
        seed,
        first_byte,
        slow_from_ns,
        events,
        streams,
    } = rebuilt(&given);
    assert_eq!((endpoint, url), (given.endpoint, given.url));
    assert_eq!(sent(&request), sent(&given.request));
    assert_eq!(
        (shape, flow_think_time),
        (given.shape, given.flow_think_time)
    );
    assert_eq!(
        [
            connections,
            max_connections,
            pipeline,
            threads,
            agents,
            streams
        ],
        [12, 345, 6, 2, 5, 11]
    );
    assert_eq!(requests_per_connection, given.requests_per_connection);
    assert_eq!(
        (duration, overtime, requests),
        (given.duration, true, given.requests)
    );
    assert_eq!(
        (warmup, timeout, deadline),
        (given.warmup, given.timeout, given.deadline)
    );
    assert_eq!((spin, event_loop), (true, given.event_loop));
    assert_eq!((sources, cpus), (given.sources, given.cpus));
    assert_eq!((seed, first_byte, events), (given.seed, true, true));
    assert_eq!(slow_from_ns, given.slow_from_ns);
    let (sampling, given) = (sampling.unwrap(), given.sampling.unwrap());
    assert_eq!(sampling.choice, given.choice);
    let wrong = Response {
        status: 201,
        body: b"a\0\xfe".to_vec(),
        ..Response::default()
    };
    let mismatch = sampling.check.check(&wrong).unwrap_err();
    assert_eq!(Err(mismatch), given.check.check(&wrong));
    assert_eq!(
        (sampling.check.body(), sampling.check.status()),
        (given.check.body(), Some(201))
    );
}

proptest! {
    #[test]
    fn rates_are_rebuilt_to_the_last_bit(from_per_s in 0.0..1e9f64, to_per_s in 1e-300..1e9f64) {
        let stages = vec![Stage { from_per_s, to_per_s, duration_s: None }];
        let schedule = Schedule { arrivals: Arrivals::Even, burst: 1, stages };
        let mut plan = plan(Request::new("GET", &url("/"), &[], b"").unwrap());
        plan.shape = LoadShape::Rate(schedule);
        prop_assert_eq!(rebuilt(&plan).shape, plan.shape);
    }
}

/// Files of a certificate authority, and of a certificate that it signed.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = KeyPair::generate().unwrap();
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = parameters.self_signed(&authority).unwrap();
        let key = KeyPair::generate().unwrap();
        let issuer = rcgen::Issuer::new(parameters, authority);
        let own = CertificateParams::new(vec!["localhost".into()]).unwrap();
        let own = own.signed_by(&key, &issuer).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("ca.pem", &certificate.pem());
        write("own.pem", &(own.pem() + &certificate.pem()));
        write("key.pem", &key.serialize_pem());
        Self(folder)
    }

    fn settings(&self) -> TlsSettings {
        let file = |name: &str| self.0.path().join(name);
        TlsSettings {
            trust: Trust::File(file("ca.pem")),
            identity: Some(Identity {
                certificates: file("own.pem"),
                key: file("key.pem"),
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
}

fn secure_plan(settings: &TlsSettings, offer: Offer) -> LoadPlan {
    LoadPlan {
        tls: Some(settings.client("localhost", offer).unwrap()),
        ..plan(Request::new("GET", &url("/"), &[], b"").unwrap())
    }
}

#[test]
fn a_client_for_tls_is_rebuilt_without_its_files() {
    let files = Files::new();
    let key = fs::read_to_string(files.0.path().join("key.pem")).unwrap();
    let plan = secure_plan(&files.settings(), Offer::Both);
    let document = plan.document().unwrap();
    drop(files);
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
        assert!(!shown.contains(secret), "{shown}");
        assert!(!shown.contains(&secret[..20]), "{shown}");
    }
}

#[test]
fn any_certificate_and_either_version_are_rebuilt() {
    let settings = TlsSettings {
        trust: Trust::Any,
        ..TlsSettings::default()
    };
    for offer in [
        Offer::Both,
        Offer::Only(HttpVersion::Http1),
        Offer::Only(HttpVersion::Http2),
    ] {
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
    let refused = plan.document().unwrap_err().to_string();
    assert_eq!(
        refused,
        "this expected response cannot be sent to other hosts"
    );
    let long = HeaderValue::try_from("a".repeat(70_000)).unwrap();
    let fields = [(HeaderName::from_static("x"), long)];
    let request = StreamRequest::http(&Method::GET, "http", "h", "/", &fields, b"").unwrap();
    plan.request = request.into();
    let refused = plan.document().unwrap_err().to_string();
    assert_eq!(
        refused,
        "an HTTP/2 request with more than 64 KiB of header fields cannot be sent to other hosts"
    );
    use std::os::unix::ffi::OsStringExt as _;
    plan.endpoint = Endpoint::Unix(std::ffi::OsString::from_vec(vec![0xff]).into());
    assert!(plan.document().is_err());
}

/// The document with another value there.
fn with(document: &Value, pointer: &str, value: Value) -> Value {
    let mut document = document.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    document.pointer_mut(parent).unwrap()[name] = value;
    document
}

#[test]
fn a_damaged_document_is_refused_with_the_reason() {
    let document = serde_json::to_value(full_plan().document().unwrap()).unwrap();
    let years = json!({"secs": 200u64 * 365 * 24 * 3600, "nanos": 0});
    for (pointer, value, reason) in [
        ("/new", json!(1), "unknown field `new`"),
        ("/shape/new", json!(1), "a field that is unknown or missing"),
        ("/sampling/new", json!(1), "unknown field `new`"),
        ("/sampling/check/new", json!(1), "unknown field `new`"),
        (
            "/sampling/check/content/new",
            json!(1),
            "the `expectation` of the plan is damaged: unknown field `new`",
        ),
        ("/request/http1/new", json!(1), "unknown field `new`"),
        ("/request", json!({"http3": {}}), "unknown variant `http3`"),
        (
            "/request/http1/requests",
            json!([]),
            "needs at least one request",
        ),
        (
            "/request/http1/weights",
            json!([1, 2]),
            "the weights must be one for each",
        ),
        (
            "/request/http1/requests",
            json!([{"bytes": "R0VUIC8=", "closes": false}]),
            "a damaged HTTP/1.1 request",
        ),
        (
            "/request/http1/requests",
            json!([{"bytes": "%", "closes": false}]),
            "it is not base64",
        ),
        (
            "/request",
            json!({"http2": {"weights": null, "requests": [{"head": "gg==", "body": ""}]}}),
            "a damaged HTTP/2 request",
        ),
        (
            "/request",
            json!({"scenario": {"http": "http1", "scenario": {"kind": "x", "content": 1}}}),
            "there are no scenarios here",
        ),
        ("/connections", json!(u64::MAX), "more than 1000000000"),
        ("/connections", json!(0), "at least one connection"),
        ("/connections", json!(-1), "invalid value"),
        ("/threads", json!(100_000), "100000 threads"),
        ("/timeout", years, "a time of more than 100 years"),
        (
            "/timeout",
            json!({"secs": u64::MAX, "nanos": 4_000_000_000u64}),
            "overflow",
        ),
        ("/duration", json!(1.5), "invalid type"),
        (
            "/endpoint",
            json!({"tcp": "localhost"}),
            "invalid socket address",
        ),
        ("/tls", json!({"trust": "any"}), "missing field"),
    ] {
        let told = refusal(with(&document, pointer, value));
        assert!(told.contains(reason), "{pointer}: {told}");
    }
    for (field, _) in document.as_object().unwrap() {
        let mut document = document.clone();
        document.as_object_mut().unwrap().remove(field);
        let result = serde_json::from_value::<PlanDocument>(document);
        assert!(result.is_err(), "{field} may be missing");
    }
}

#[test]
fn damaged_certificates_and_keys_are_refused_with_the_reason() {
    let plan = secure_plan(&Files::new().settings(), Offer::Both);
    let document = serde_json::to_value(plan.document().unwrap()).unwrap();
    for (pointer, value, reason) in [
        (
            "/tls/trust",
            json!({"certificates": ["AAAA"]}),
            "a certificate to trust is invalid",
        ),
        (
            "/tls/trust",
            json!({"certificates": []}),
            "TLS cannot be set up",
        ),
        (
            "/tls/identity/key",
            json!("AAAA"),
            "private key is unusable",
        ),
        (
            "/tls/identity/certificates",
            json!(["AAAA"]),
            "client certificate or its private key",
        ),
        (
            "/tls/identity/certificates",
            json!([]),
            "client certificate or its private key",
        ),
        (
            "/tls/server_name",
            json!("a b"),
            "neither a host name nor an IP address",
        ),
        ("/tls/cipher_suites", json!(["x"]), "cipher suite"),
        (
            "/tls/versions",
            json!({"lowest": "1.3", "highest": "1.2"}),
            "lowest TLS version",
        ),
        (
            "/tls/versions",
            json!({"lowest": "1.1", "highest": "1.2"}),
            "unknown variant `1.1`",
        ),
    ] {
        let told = refusal(with(&document, pointer, value));
        assert!(told.contains(reason), "{pointer}: {told}");
    }
}

/// The places of all values in a document.
fn places(value: &Value, at: String, places: &mut Vec<String>) {
    let step = |name: &str| format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(members) => members
            .iter()
            .for_each(|(name, one)| self::places(one, step(name), places)),
        Value::Array(elements) => {
            elements
                .iter()
                .enumerate()
                .for_each(|(i, one)| self::places(one, step(&i.to_string()), places));
        }
        _ => {}
    }
    places.push(at);
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
        secure_plan(&Files::new().settings(), Offer::Both),
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
        change in prop_oneof![
            any_value().prop_map(Some),
            Just(None),
        ],
    ) {
        thread_local!(static DOCUMENTS: Vec<Value> = documents());
        let mut document = DOCUMENTS.with(|documents| which.get(documents).clone());
        let mut all = Vec::new();
        places(&document, String::new(), &mut all);
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
