//! Servers of HTTP/1.1 over TLS inside the test, which do not know HTTP/2, and what they do with connections in plain text.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion,
};

use crate::certificate::Certificate;
use crate::connections;

/// The configuration of a server with this certificate. If `client` is given, it requires that one of its clients.
pub fn config(certificate: &Certificate, client: Option<&Certificate>) -> ServerConfig {
    config_of_versions(rustls::ALL_VERSIONS, certificate, client)
}

/// The same for these versions of TLS alone.
pub fn config_of_versions(
    versions: &[&'static SupportedProtocolVersion],
    certificate: &Certificate,
    client: Option<&Certificate>,
) -> ServerConfig {
    let [chain, key] = ["cert.pem", "key.pem"].map(|name| certificate.path(name));
    of_files(versions, &chain, &key, client)
}

/// The same with a certificate from elsewhere.
pub fn config_of_files(chain: &Path, key: &Path, client: Option<&Certificate>) -> ServerConfig {
    of_files(rustls::ALL_VERSIONS, chain, key, client)
}

fn of_files(
    versions: &[&'static SupportedProtocolVersion],
    chain: &Path,
    key: &Path,
    client: Option<&Certificate>,
) -> ServerConfig {
    let key = PrivateKeyDer::from_pem_file(key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .unwrap();
    let builder = match client {
        None => builder.with_no_client_auth(),
        Some(client) => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(certificates(&client.path("cert.pem")));
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    builder.with_single_cert(certificates(chain), key).unwrap()
}

fn certificates(file: &Path) -> Vec<CertificateDer<'static>> {
    let chain = CertificateDer::pem_file_iter(file).unwrap();
    chain.collect::<Result<_, _>>().unwrap()
}

/// A server over TLS that does this with each connection.
pub fn server_of(
    certificate: &Certificate,
    respond: fn(Arc<ServerConfig>, TcpStream),
) -> SocketAddr {
    serve(config(certificate, None), respond)
}

/// The same with another configuration.
pub fn serve(mut config: ServerConfig, respond: fn(Arc<ServerConfig>, TcpStream)) -> SocketAddr {
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let config = Arc::new(config);
    connections::serve(move |stream| respond(Arc::clone(&config), stream))
}

/// Responds to every request, each of which is one short record, until the client goes away.
pub fn respond(config: Arc<ServerConfig>, stream: TcpStream) {
    let connection = ServerConnection::new(config).unwrap();
    let mut stream = StreamOwned::new(connection, stream);
    let mut request = [0; 4096];
    while let Ok(1..) = stream.read(&mut request) {
        let response = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        if stream.write_all(response).is_err() {
            return;
        }
    }
    // A close with unread bytes would reset the connection, and the client might not read the last alert.
    let _ = stream.sock.shutdown(Shutdown::Write);
    let _ = io::copy(&mut stream.sock, &mut io::sink());
}

/// As Go's server and nginx do, responds in plain HTTP to a connection that does not begin with a handshake.
pub fn respond_to_plain(config: Arc<ServerConfig>, mut stream: TcpStream) {
    const HANDSHAKE: u8 = 22;
    let mut first = [0];
    if let Ok(1) = stream.peek(&mut first)
        && first[0] == HANDSHAKE
    {
        return respond(config, stream);
    }
    let mut request = [0; 4096];
    while let Ok(1..) = stream.read(&mut request) {
        let response = "HTTP/1.1 400 Bad Request\r\nContent-Length: 48\r\n\r\n\
             Client sent an HTTP request to an HTTPS server.\n";
        if stream.write_all(response.as_bytes()).is_err() {
            return;
        }
    }
}

/// Closes a connection that does not begin with a handshake, without a word.
pub fn close_plain(config: Arc<ServerConfig>, stream: TcpStream) {
    let mut first = [0];
    if let Ok(1) = stream.peek(&mut first)
        && !b"GP".contains(&first[0])
    {
        respond(config, stream);
    }
}

/// Responds with 400 to everything, a handshake included.
pub fn refuse(_: Arc<ServerConfig>, mut stream: TcpStream) {
    let mut request = [0; 4096];
    while let Ok(1..) = stream.read(&mut request) {
        let response = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
        if stream.write_all(response).is_err() {
            return;
        }
    }
}
