//! Plans are checked; as data, every plan is read back exactly, and no damaged one panics.

use std::fs;

use http::{HeaderName, HeaderValue};
use prony_model::{Arrivals, Schedule, Stage};
use prony_testkit::certificate::Certificate;
use prony_testkit::table::rows;
use prony_traffic::expected::{Amount, BodyContent, BodyRules};
use prony_traffic::{
    Base64, Call, CallKind, HttpUrl, Order, RequestParts, RequestSet, Response, Scheme,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::request::EncodedTraffic;
use crate::tls::{Identity, Offer, TlsSettings, TlsVersion, Trust, Versions};

fn url(path: &str) -> HttpUrl {
    format!("http://localhost:8080{path}").parse().unwrap()
}

fn parts(method: &str, path: &str, headers: &[&str], body: &[u8]) -> RequestParts {
    let headers: Vec<String> = headers.iter().map(|&line| line.to_owned()).collect();
    RequestParts::new(method, &url(path), &headers, body).unwrap()
}

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

fn set(http: HttpVersion, order: Order) -> Traffic {
    Traffic::requests(RequestSet::new(requests(), order).unwrap(), http).unwrap()
}

fn call(kind: CallKind, messages: &[&[u8]]) -> Traffic {
    let token = HeaderValue::from_bytes(b"t\xff").unwrap();
    let call = Call {
        scheme: Scheme::Https,
        kind,
        metadata: vec![(HeaderName::from_static("x-token"), token)],
        timeout: Some(Duration::from_millis(1500)),
        messages: messages.iter().map(|it| Base64(it.to_vec())).collect(),
        ..Call::unary("/echo.Echo/Each", "localhost:1", "")
    };
    call.into()
}

fn plan(request: impl Into<Traffic>) -> LoadPlan {
    let endpoint = Endpoint::Tcp("127.0.0.1:1".parse().unwrap());
    LoadPlan::new(endpoint, "http://localhost:8080/", request)
        .with(|plan| plan.load.requests = Some(10))
}

fn plain_plan() -> LoadPlan {
    plan(parts("GET", "/", &[], b""))
}

/// The plan as another host has it.
fn read_back(plan: &LoadPlan) -> LoadPlan {
    let text = serde_json::to_string(plan).unwrap();
    let read: LoadPlan = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
    read.validate().unwrap();
    read
}

/// Every byte that is sent.
fn sent(traffic: &Traffic) -> String {
    format!("{:?}", EncodedTraffic::of(traffic).unwrap().requests)
}

#[test]
fn every_byte_of_every_request_is_the_same() {
    let weights = Order::Random(vec![0, 1, 2, 3, u32::MAX, 5]);
    let one = |kind| call(kind, &[b"\x0a\x01x"]);
    let loads = [
        set(HttpVersion::Http1, Order::InTurn),
        set(HttpVersion::Http1, weights.clone()),
        set(HttpVersion::Http2, Order::InTurn),
        set(HttpVersion::Http2, weights),
        one(CallKind::Unary),
        one(CallKind::ServerStreaming),
        call(CallKind::ClientStreaming, &[]),
        call(CallKind::Bidirectional, &[b"", &[1; 500]]),
        // A tunnel, whose request has no path.
        parts("CONNECT", "/", &[], b"").into(),
    ];
    for request in loads {
        let plan = plan(request);
        let read = read_back(&plan).request;
        assert_eq!(sent(&read), sent(&plan.request));
    }
}

#[test]
fn the_user_of_a_url_travels_as_a_field() {
    let url: HttpUrl = "http://me:secret@localhost/".parse().unwrap();
    let given = plan(RequestParts::new("GET", &url, &[], b"").unwrap());
    assert_eq!(sent(&read_back(&given).request), sent(&given.request));
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
            check: Arc::new(Expected {
                statuses: vec![201],
                body: BodyRules {
                    content: Some(BodyContent::Exact(b"a\0\xff".to_vec())),
                    size: Some(Amount::exactly(3)),
                    ..BodyRules::default()
                },
                ..Expected::default()
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
            acknowledges_at_once: true,
            ..Here::default()
        },
        ..plain_plan()
    }
}

#[test]
fn every_field_of_a_plan_is_the_same() {
    let given = full_plan();
    // No pattern leaves a field out, so a new one has to be compared here.
    macro_rules! compare {
        ($plan:expr, $given:expr, $Type:ident { $($field:ident)* } $($other:ident)*) => {
            let $Type { $($other: _,)* $($field),* } = &$plan;
            $(assert_eq!(*$field, $given.$field, "{}", stringify!($field));)*
        };
    }
    let plan = read_back(&given);
    compare! {
        plan, given,
        LoadPlan { endpoint url load flow_think_time agents overtime slow_from_ns } request tls sampling here
    }
    compare! { plan.here, given.here, Here { event_loop sources cpus acknowledges_at_once } batches }
    let LoadPlan {
        request, sampling, ..
    } = plan;
    assert_eq!(sent(&request), sent(&given.request));
    let wrong = Response {
        status: 201,
        body: b"a\0\xfe".to_vec(),
        ..Response::default()
    };
    let [read, given] = [sampling, given.sampling].map(|sampling| {
        let Sampling { check, choice } = sampling.unwrap();
        let mismatch = check.check(&wrong).unwrap_err();
        let body = check.exact_body().map(<[u8]>::to_vec);
        (choice, mismatch, body, check.statuses.clone())
    });
    assert_eq!(read, given);
}

proptest! {
    #[test]
    fn rates_are_the_same_to_the_last_bit(from_per_s in 0.0..1e9f64, to_per_s in 1e-300..1e9f64) {
        let stages = vec![stage(from_per_s, to_per_s, None)];
        let schedule = Schedule { arrivals: Arrivals::Even, burst: 1, stages };
        let mut plan = plain_plan();
        plan.load.shape = LoadShape::Rate(schedule);
        prop_assert_eq!(read_back(&plan).load.shape, plan.load.shape);
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
    drop(certificates);
    let client = read_back(&plan).tls.unwrap();
    // The lines between those that mark a key.
    let secret = key.lines().nth(1).unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert!(text.contains(secret) && !text.contains("key.pem"), "{text}");
    for shown in [
        format!("{plan:?}"),
        format!("{client:?}"),
        format!("{:?}", plan.tls),
    ] {
        assert!(!shown.contains(&secret[..20]), "{shown}");
    }
}

#[test]
fn any_certificate_and_either_version_are_the_same() {
    let settings = TlsSettings {
        trust: Trust::Any,
        ..TlsSettings::default()
    };
    let only = [HttpVersion::Http1, HttpVersion::Http2].map(Offer::Only);
    for offer in only.into_iter().chain([Offer::Both]) {
        read_back(&secure_plan(&settings, offer));
    }
}

#[test]
fn what_cannot_travel_is_named() {
    let batch = Batch {
        requests: NonZeroU64::MIN,
        pause: Duration::ZERO,
    };
    let mut plan = plain_plan();
    plan.here.batches = Some(Batches {
        first: batch,
        next: Arc::new(|_| None),
    });
    let refusal = |plan: &LoadPlan| serde_json::to_string(plan).unwrap_err().to_string();
    let reason = "a load in batches cannot be sent to other hosts";
    assert_eq!(refusal(&plan), reason);
    use std::os::unix::ffi::OsStringExt as _;
    plan = plain_plan();
    plan.endpoint = Endpoint::Unix(std::ffi::OsString::from_vec(vec![0xff]).into());
    assert!(refusal(&plan).contains("UTF-8"));
}

/// Reads a plan, and sees whether it can run.
fn check(document: Value) -> Result<LoadPlan, String> {
    let plan: LoadPlan = serde_json::from_value(document).map_err(|error| error.to_string())?;
    plan.validate().map_err(|error| error.to_string())?;
    EncodedTraffic::of(&plan.request).map_err(|error| error.to_string())?;
    Ok(plan)
}

/// Refuses a plan with each of these changes: a place, the value it gets, and a part of the reason.
fn refuses(plan: &LoadPlan, changes: &str) {
    let document = serde_json::to_value(plan).unwrap();
    for [place, value, reason] in rows(changes) {
        let mut document = document.clone();
        let (parent, name) = place.rsplit_once('/').unwrap();
        document.pointer_mut(parent).unwrap()[name] = serde_json::from_str(value).unwrap();
        let refusal = check(document).expect_err(place);
        assert!(refusal.contains(reason), "{place}: {refusal}");
    }
}

#[test]
fn a_damaged_plan_is_refused_with_the_reason() {
    refuses(
        &full_plan(),
        r#"
            /request | {"http3": {}} | unknown variant `http3`
            /request/requests/0/requests | [] | needs at least one request
            /request/requests/0/order | {"random": [1, 2]} | the weights must be one for each
            /request/requests/0/requests/0/method | "G T" | invalid HTTP method
            /request/requests/0/requests/0/url | "/" | did you mean
            /request/requests/0/requests/0/body | "%" | it is not base64
            /load/connections | 18446744073709551615 | at most 1000000000
            /load/connections | 0 | at least one connection
            /load/connections | -1 | invalid value
            /load/threads | 100000 | 100000 threads
            /load/timeout_s | 6307200000.0 | a time of more than 100 years
            /load/timeout_s | 1e300 | 1e300 s: cannot convert
            /load/timeout_s | -1.0 | -1.0 s: cannot convert
            /load/duration_s | "1.5" | invalid type
            /flow_think_time | {"secs": 18446744073709551615, "nanos": 4000000000} | overflow
            /endpoint | {"tcp": "localhost"} | invalid socket address
            /tls | {"trust": "any"} | missing field
            /sampling/check/body/matches | ["("] | is not a regular expression
        "#,
    );
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

fn documents() -> Vec<Value> {
    let plans = [
        full_plan(),
        plan(set(HttpVersion::Http2, Order::Random(vec![1; 6]))),
        plan(call(CallKind::Unary, &[b"\x0a\x01x"])),
        secure_plan(&settings(&certificates()), Offer::Both),
    ];
    let documents = plans.iter().map(serde_json::to_value);
    documents.collect::<Result<_, _>>().unwrap()
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
        // What is still a plan is read again.
        if let Ok(plan) = check(document) {
            let text = serde_json::to_string(&plan).unwrap();
            let again: LoadPlan = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(serde_json::to_string(&again).unwrap(), text);
        }
    }
}

#[test]
fn a_rate_uses_as_many_streams_as_fit_into_the_memory_of_a_load() {
    let usual = |body: usize| {
        let url = "http://a/".parse().unwrap();
        let request = RequestParts::new("POST", &url, &[], &vec![0; body]).unwrap();
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 80));
        let mut plan = LoadPlan::new(address.into(), "http://a/", request);
        plan.load = LoadSpec {
            shape: LoadShape::Rate(Schedule::constant(Arrivals::Even, 1.0)),
            max_connections: Some(1000),
            requests: Some(1),
            ..LoadSpec::default()
        };
        plan.load.pipeline = plan.usual_streams();
        plan.validate().unwrap();
        plan.load.pipeline
    };
    assert_eq!([0, 100_000, 1 << 20].map(usual), [100, 5, 1]);
}

proptest! {
    #[test]
    fn shares_add_up_to_the_whole_and_differ_by_one_at_most(
        whole in 0u64..1_000_000,
        parts in 1u64..64,
    ) {
        let shares: Vec<u64> = (0..parts).map(|index| share_of(whole, parts, index)).collect();
        prop_assert_eq!(shares.iter().sum::<u64>(), whole);
        prop_assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        for index in 0..parts {
            let before: u64 = shares[..index as usize].iter().sum();
            prop_assert_eq!(shares_before(whole, parts, index), before);
        }
    }
}
