//! Measures what rustls costs a client with each provider of cryptography: the figures of "Why ring" in docs/wires.md.
//!
//! A client and a server exchange bytes in memory. The server always uses ring; only the client's provider changes, and
//! only the client's CPU time counts. In every round each provider has one turn, and a different one begins. The result
//! is a Markdown table of the medians over the rounds.
//!
//!     cd benches/providers && cargo run --release -- 31

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, aws_lc_rs, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, NamedGroup, RootCertStore, ServerConfig,
    ServerConnection, SupportedProtocolVersion,
};

/// Handshakes, or responses, of one figure in one round.
const REPEATS: u32 = 200;
/// What a socket may hold.
const SOCKET: usize = 64 * 1024;
/// Read at once, as from a socket.
const BUFFER: usize = 16 * 1024;

/// A row of the table.
enum Row {
    Handshakes {
        version: &'static SupportedProtocolVersion,
        resumed: bool,
    },
    Exchanges {
        suite: CipherSuite,
        request: usize,
        response: usize,
    },
}

const ROWS: [(&str, Row); 7] = [
    (
        "full handshake, TLS 1.3",
        Row::Handshakes {
            version: &TLS13,
            resumed: false,
        },
    ),
    (
        "resumed handshake, TLS 1.3",
        Row::Handshakes {
            version: &TLS13,
            resumed: true,
        },
    ),
    (
        "full handshake, TLS 1.2",
        Row::Handshakes {
            version: &TLS12,
            resumed: false,
        },
    ),
    (
        "resumed handshake, TLS 1.2",
        Row::Handshakes {
            version: &TLS12,
            resumed: true,
        },
    ),
    (
        "request of 100 bytes and response of 200, AES-128-GCM",
        Row::Exchanges {
            suite: CipherSuite::TLS13_AES_128_GCM_SHA256,
            request: 100,
            response: 200,
        },
    ),
    (
        "response of 16 KiB, AES-128-GCM",
        Row::Exchanges {
            suite: CipherSuite::TLS13_AES_128_GCM_SHA256,
            request: 0,
            response: 16 * 1024,
        },
    ),
    (
        "response of 16 KiB, ChaCha20-Poly1305",
        Row::Exchanges {
            suite: CipherSuite::TLS13_CHACHA20_POLY1305_SHA256,
            request: 0,
            response: 16 * 1024,
        },
    ),
];

fn main() {
    let rounds: usize = match std::env::args().nth(1).map(|rounds| rounds.parse()) {
        None => 15,
        Some(Ok(rounds)) if rounds > 0 => rounds,
        Some(_) => {
            eprintln!("error: the only argument is a number of rounds");
            std::process::exit(2);
        }
    };
    let providers = [
        ("ring", ring::default_provider()),
        ("aws-lc-rs", aws_lc_rs::default_provider()),
        ("graviola", rustls_graviola::default_provider()),
    ];
    let peers = Peers::new();
    println!(
        "| | {} |",
        providers.each_ref().map(|(name, _)| *name).join(" | ")
    );
    println!("|---|--:|--:|--:|");
    for (title, row) in &ROWS {
        let mut costs = vec![Vec::new(); providers.len()];
        for round in 0..rounds {
            for turn in 0..providers.len() {
                let place = (round + turn) % providers.len();
                costs[place].push(peers.measure(&providers[place].1, row));
            }
        }
        let cells: Vec<String> = costs.into_iter().map(|costs| text(median(costs))).collect();
        println!("| {title} | {} |", cells.join(" | "));
    }
}

fn median(mut costs: Vec<Duration>) -> Duration {
    costs.sort();
    costs[costs.len() / 2]
}

fn text(cost: Duration) -> String {
    match cost.as_nanos() {
        nanoseconds @ ..1_000 => format!("{nanoseconds} ns"),
        nanoseconds @ ..100_000 => format!("{:.1} µs", nanoseconds as f64 / 1e3),
        nanoseconds => format!("{:.0} µs", nanoseconds as f64 / 1e3),
    }
}

/// What the client trusts, and the server presents.
struct Peers {
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Peers {
    fn new() -> Peers {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])
            .expect("the name is valid");
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        Peers {
            certificate: made.cert.der().clone(),
            key: key.into(),
        }
    }

    /// The client's CPU time of one handshake or exchange.
    fn measure(&self, provider: &CryptoProvider, row: &Row) -> Duration {
        match *row {
            Row::Handshakes { version, resumed } => self.handshakes(provider, version, resumed),
            Row::Exchanges {
                suite,
                request,
                response,
            } => self.exchanges(provider, suite, request, response),
        }
    }

    fn handshakes(
        &self,
        provider: &CryptoProvider,
        version: &'static SupportedProtocolVersion,
        resumed: bool,
    ) -> Duration {
        let mut client = self.client(provider, version, None);
        if !resumed {
            client.resumption = Resumption::disabled();
        }
        let (client, server) = (Arc::new(client), self.server());
        if resumed {
            handshake(&client, &server);
        }
        let mut total = Duration::ZERO;
        for _ in 0..REPEATS {
            let (connection, _, cost) = handshake(&client, &server);
            let kind = connection.handshake_kind().expect("the handshake is over");
            assert_eq!(kind == rustls::HandshakeKind::Resumed, resumed);
            total += cost;
        }
        total / REPEATS
    }

    fn exchanges(
        &self,
        provider: &CryptoProvider,
        suite: CipherSuite,
        request: usize,
        response: usize,
    ) -> Duration {
        let client = Arc::new(self.client(provider, &TLS13, Some(suite)));
        let (mut client, mut server, _) = handshake(&client, &self.server());
        let (request, response) = (vec![b'x'; request], vec![b'x'; response]);

        let mut sent = Vec::new();
        let encrypting = timed(|| {
            for _ in 0..REPEATS {
                send(&mut client, &request, &mut sent);
            }
        });
        receive(&mut server, &sent, request.len() * REPEATS as usize);
        // A socket's worth at a time, which stays in the caches.
        let at_once = (SOCKET / response.len()).min(REPEATS as usize);
        let mut decrypting = Duration::ZERO;
        for _ in 0..REPEATS as usize / at_once {
            sent.clear();
            for _ in 0..at_once {
                send(&mut server, &response, &mut sent);
            }
            decrypting += timed(|| receive(&mut client, &sent, response.len() * at_once));
        }
        (encrypting + decrypting) / REPEATS
    }

    fn client(
        &self,
        provider: &CryptoProvider,
        version: &'static SupportedProtocolVersion,
        suite: Option<CipherSuite>,
    ) -> ClientConfig {
        let mut provider = provider.clone();
        // All three have this key exchange, and ring has no post-quantum one.
        provider
            .kx_groups
            .retain(|group| group.name() == NamedGroup::X25519);
        provider.cipher_suites.retain(|offered| match suite {
            Some(suite) => offered.suite() == suite,
            None => matches!(
                offered.suite(),
                CipherSuite::TLS13_AES_128_GCM_SHA256
                    | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
            ),
        });
        let mut roots = RootCertStore::empty();
        roots
            .add(self.certificate.clone())
            .expect("the certificate is valid");
        ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[version])
            .expect("the provider has the version")
            .with_root_certificates(roots)
            .with_no_client_auth()
    }

    fn server(&self) -> Arc<ServerConfig> {
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&TLS13, &TLS12])
            .expect("ring has both versions")
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            .expect("the key belongs to the certificate");
        Arc::new(config)
    }
}

/// Two connected peers, and the client's CPU time, session tickets included.
fn handshake(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
) -> (ClientConnection, ServerConnection, Duration) {
    let mut server =
        ServerConnection::new(server.clone()).expect("the server's settings are valid");
    let name = ServerName::try_from("localhost").expect("the name is valid");
    let mut bytes = Vec::new();
    let begin = cpu_time();
    let mut client =
        ClientConnection::new(client.clone(), name).expect("the client's settings are valid");
    let mut total = cpu_time() - begin;
    loop {
        total += timed(|| flush(&mut client, &mut bytes));
        receive(&mut server, &bytes, 0);
        bytes.clear();
        flush(&mut server, &mut bytes);
        if bytes.is_empty() && !client.is_handshaking() {
            return (client, server, total);
        }
        total += timed(|| receive(&mut client, &bytes, 0));
        bytes.clear();
    }
}

fn send<T>(from: &mut rustls::ConnectionCommon<T>, data: &[u8], to: &mut Vec<u8>) {
    from.writer()
        .write_all(data)
        .expect("the data fits into the buffer");
    flush(from, to);
}

fn flush<T>(from: &mut rustls::ConnectionCommon<T>, to: &mut Vec<u8>) {
    while from.wants_write() {
        from.write_tls(to).expect("memory can be written");
    }
}

/// Takes all of these records, which hold `data` bytes.
fn receive<T>(by: &mut rustls::ConnectionCommon<T>, mut records: &[u8], mut data: usize) {
    let mut buffer = [0; BUFFER];
    while !records.is_empty() {
        by.read_tls(&mut records).expect("memory can be read");
        let state = by.process_new_packets().expect("the records are valid");
        let mut arrived = state.plaintext_bytes_to_read();
        data -= arrived;
        while arrived > 0 {
            arrived -= by.reader().read(&mut buffer).expect("data has arrived");
        }
    }
    assert_eq!(data, 0, "all data has arrived");
}

fn timed(work: impl FnOnce()) -> Duration {
    let begin = cpu_time();
    work();
    cpu_time() - begin
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
