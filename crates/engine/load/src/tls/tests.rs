//! Failures of the client itself, over sockets: a provider that has no random numbers, and keys that wear out at once.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use prony_model::{LoadResult, Outcome, Seconds};
use prony_testkit::certificate::Certificate;
use prony_testkit::{connections, tls_server};
use prony_traffic::{HttpUrl, HttpVersion, RequestParts};
use rustls::crypto::{CipherSuiteCommon, CryptoProvider, GetRandomFailed, SecureRandom, ring};
use rustls::version::TLS12;
use rustls::{ServerConfig, ServerConnection, StreamOwned, SupportedCipherSuite, Tls12CipherSuite};

use rustls::client::{ClientConfig, Resumption};

use super::*;
use crate::wire::tls::Failure;
use crate::{EventLoopChoice, ExchangeError, LoadPlan, negotiate, run};

/// A failure that is noticed only by the timeout takes as long.
const TIMEOUT: Duration = Duration::from_secs(60);

fn client(provider: CryptoProvider, offer: Offer) -> TlsClient {
    let provider = Arc::new(provider);
    let settings = TlsSettings {
        trust: Trust::Any,
        ..TlsSettings::default()
    };
    let client = settings.client("localhost", offer).unwrap();
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&TLS12])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(verifier::any_certificate(&provider))
        .with_no_client_auth();
    config.alpn_protocols = offer.alpn();
    config.resumption = Resumption::disabled();
    TlsClient {
        config: Arc::new(config),
        ..client
    }
}

fn load(
    address: SocketAddr,
    tls: &TlsClient,
    event_loop: EventLoopChoice,
    requests: u64,
) -> LoadResult {
    let url: HttpUrl = format!("http://{address}/").parse().unwrap();
    let request = RequestParts::new("GET", &url, &[], b"").unwrap();
    let plan = LoadPlan::new(address.into(), url.as_str(), request).with(|plan| {
        plan.load.requests = Some(requests);
        plan.load.timeout = Seconds(TIMEOUT);
        plan.tls = Some(tls.clone());
        plan.here.event_loop = event_loop;
    });
    run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

#[derive(Debug)]
struct NoRandom;

impl SecureRandom for NoRandom {
    fn fill(&self, _: &mut [u8]) -> Result<(), GetRandomFailed> {
        Err(GetRandomFailed)
    }
}

#[test]
fn a_handshake_that_cannot_begin_fails_at_once() {
    let provider = CryptoProvider {
        secure_random: &NoRandom,
        ..ring::default_provider()
    };
    let tls = client(provider, Offer::Both);
    let silent = connections::serve(|mut stream| stream.read_to_end(&mut Vec::new()));
    let begin = Instant::now();
    let error = negotiate(&silent.into(), &tls, TIMEOUT).unwrap_err();
    assert!(matches!(error, ExchangeError::Fault(_)), "{error}");
    for event_loop in [EventLoopChoice::Epoll, EventLoopChoice::IoUring] {
        let result = load(silent, &tls, event_loop, 3);
        let (failures, wrong) = (result.outcomes[Outcome::TlsFailure], result.first_wrong);
        assert_eq!(failures, 3, "{wrong:?}");
    }
    assert!(begin.elapsed() < TIMEOUT, "{:?}", begin.elapsed());
}

/// How many records a key encrypts: the end of the handshake, and three requests.
const RECORDS: u64 = 4;

/// A cipher suite of TLS 1.2 whose keys wear out after [`RECORDS`].
fn frail_suite() -> SupportedCipherSuite {
    let suite = ring::cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256;
    let SupportedCipherSuite::Tls12(suite) = suite else {
        panic!("{suite:?}");
    };
    SupportedCipherSuite::Tls12(Box::leak(Box::new(Tls12CipherSuite {
        common: CipherSuiteCommon {
            confidentiality_limit: RECORDS,
            ..suite.common
        },
        ..*suite
    })))
}

/// Responds to each read; returns whether the client ended the connection with a `close_notify`.
fn respond(stream: TcpStream, config: Arc<ServerConfig>) -> bool {
    let tls = ServerConnection::new(config).unwrap();
    let mut stream = StreamOwned::new(tls, stream);
    let mut request = [0; 1024];
    loop {
        match stream.read(&mut request) {
            Ok(0) => return true,
            Ok(_) => stream
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                .unwrap(),
            Err(_) => return false,
        }
    }
}

#[test]
fn a_connection_whose_keys_are_used_up_fails_at_once_and_says_goodbye() {
    let provider = CryptoProvider {
        cipher_suites: vec![frail_suite()],
        ..ring::default_provider()
    };
    let tls = client(provider, Offer::Only(HttpVersion::Http1));
    let config = Arc::new(tls_server::config(&Certificate::new(), None));
    for event_loop in [EventLoopChoice::Epoll, EventLoopChoice::IoUring] {
        let (ends, ended) = std::sync::mpsc::channel();
        let config = config.clone();
        let address =
            connections::serve(move |stream| ends.send(respond(stream, config.clone())).ok());
        let begin = Instant::now();
        let result = load(address, &tls, event_loop, 10);
        assert!(begin.elapsed() < TIMEOUT, "{:?}", begin.elapsed());
        let expected = Failure::KeysUsedUp.to_string();
        assert_eq!(result.outcomes[Outcome::Ok], 8, "{:?}", result.first_wrong);
        assert_eq!(result.outcomes[Outcome::TlsFailure], 2);
        assert_eq!(result.first_wrong.unwrap().detail, expected);
        // The third connection ends with the load.
        let goodbyes = ended.iter().take(3).filter(|&goodbye| goodbye).count();
        assert_eq!(goodbyes, 2);
    }
}
