//! TLS: the server's identity, and the encryption of one connection. Touches no socket.

use std::fmt;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, EncryptError};
use rustls::{Error, ServerConfig};

use crate::config::TlsFiles;
use crate::error::ReferenceError;
use crate::output::Output;

const HTTP2: &[u8] = b"h2";
/// The longest plaintext of a record, in bytes.
const RECORD: usize = 16_384;
/// No version of TLS adds more than this to a record, in bytes.
const OVERHEAD: usize = 32;

/// Reads the files and prepares everything that connections share. Clients can resume sessions; they cannot send early
/// data, because that could be replayed.
pub(crate) fn configure(files: &TlsFiles) -> Result<Arc<ServerConfig>, ReferenceError> {
    let (certificates, key) = (read_certificates(files)?, read_key(files)?);
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
    config.ticketer = ring::Ticketer::new()?;
    // One ticket is enough to resume.
    config.send_tls13_tickets = 1;
    Ok(Arc::new(config))
}

fn read_certificates(files: &TlsFiles) -> Result<Vec<CertificateDer<'static>>, ReferenceError> {
    let unreadable = |problem: String| ReferenceError::TlsFile {
        name: "TLS_CERT",
        meaning: "a PEM file with certificates",
        path: files.certificates.clone(),
        problem,
    };
    let certificates = CertificateDer::pem_file_iter(&files.certificates)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unreadable(error.to_string()))?;
    if certificates.is_empty() {
        Err(unreadable("it has no certificate".to_owned()))
    } else {
        Ok(certificates)
    }
}

fn read_key(files: &TlsFiles) -> Result<PrivateKeyDer<'static>, ReferenceError> {
    PrivateKeyDer::from_pem_file(&files.key).map_err(|error| ReferenceError::TlsFile {
        name: "TLS_KEY",
        meaning: "a PEM file with a private key",
        path: files.key.clone(),
        problem: error.to_string(),
    })
}

/// The encryption of one connection.
pub(crate) struct Tls {
    connection: UnbufferedServerConnection,
    /// The beginning of a record.
    input: Vec<u8>,
    /// Whether the client sends nothing more.
    is_over: bool,
    /// Whether the client has been told that nothing more follows.
    is_closed: bool,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("input", &self.input.len())
            .field("is_over", &self.is_over)
            .field("is_closed", &self.is_closed)
            .finish_non_exhaustive()
    }
}

impl Tls {
    /// For a client that was just accepted.
    pub(crate) fn new(config: &Arc<ServerConfig>) -> Result<Self, Error> {
        Ok(Self {
            connection: UnbufferedServerConnection::new(Arc::clone(config))?,
            input: Vec::new(),
            is_over: false,
            is_closed: false,
        })
    }

    /// Whether the client sends nothing more, be it that it said so or that it broke the protocol.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether the client and the server have agreed on HTTP/2.
    pub(crate) fn chose_http2(&self) -> bool {
        self.connection.alpn_protocol() == Some(HTTP2)
    }

    /// Appends the text of received records to `plain`, and to `sealed` what the protocol itself has to send.
    pub(crate) fn open(&mut self, received: &mut [u8], plain: &mut Vec<u8>, sealed: &mut Output) {
        let mut input = std::mem::take(&mut self.input);
        let result = if input.is_empty() {
            self.process(received, plain, sealed)
                .map(|read| input.extend_from_slice(&received[read..]))
        } else {
            input.extend_from_slice(received);
            self.process(&mut input, plain, sealed)
                .map(|read| drop(input.drain(..read)))
        };
        self.input = input;
        if result.is_err() {
            self.is_over = true;
            self.send_alert(sealed);
        }
    }

    /// Takes whole records; returns how many bytes they have.
    fn process(
        &mut self,
        bytes: &mut [u8],
        plain: &mut Vec<u8>,
        sealed: &mut Output,
    ) -> Result<usize, Error> {
        let mut read = 0;
        loop {
            let status = self.connection.process_tls_records(&mut bytes[read..]);
            let mut discard = status.discard;
            let mut waits = false;
            match status.state? {
                ConnectionState::ReadTraffic(mut records) => {
                    while let Some(record) = records.next_record() {
                        let record = record?;
                        discard += record.discard;
                        plain.extend_from_slice(record.payload);
                    }
                }
                ConnectionState::EncodeTlsData(message) => encode(message, sealed),
                ConnectionState::TransmitTlsData(messages) => messages.done(),
                ConnectionState::PeerClosed => self.is_over = true,
                _ => waits = true,
            }
            read += discard;
            if waits {
                return Ok(read);
            }
        }
    }

    /// Tells the client why its bytes were refused.
    fn send_alert(&mut self, sealed: &mut Output) {
        loop {
            match self.connection.process_tls_records(&mut []).state {
                Ok(ConnectionState::EncodeTlsData(message)) => encode(message, sealed),
                Ok(ConnectionState::TransmitTlsData(messages)) => messages.done(),
                _ => break,
            }
        }
    }

    /// Encrypts `plain` and appends it to `sealed`.
    pub(crate) fn seal(&mut self, plain: &[u8], sealed: &mut Output) {
        let most = plain.len() + (plain.len() / RECORD + 1) * OVERHEAD;
        let state = self.connection.process_tls_records(&mut self.input).state;
        // Before the end of the handshake there is nothing to encrypt, and after an error nobody to read it.
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = state {
            append(sealed, most, |buffer| traffic.encrypt(plain, buffer));
        }
    }

    /// Tells the client that nothing more follows.
    pub(crate) fn close(&mut self, sealed: &mut Output) {
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        let state = self.connection.process_tls_records(&mut self.input).state;
        if let Ok(ConnectionState::WriteTraffic(mut traffic)) = state {
            append(sealed, 2 * OVERHEAD, |buffer| {
                traffic.queue_close_notify(buffer)
            });
        }
    }
}

fn encode<Data>(mut message: EncodeTlsData<'_, Data>, sealed: &mut Output) {
    append(sealed, RECORD + OVERHEAD, |buffer| {
        message.encode(buffer).map_err(|error| match error {
            EncodeError::InsufficientSize(size) => EncryptError::InsufficientSize(size),
            EncodeError::AlreadyEncoded => EncryptError::EncryptExhausted,
        })
    });
}

/// Appends what `write` writes into a buffer of `size` bytes, or of more if it asks for more.
fn append(
    sealed: &mut Output,
    mut size: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, EncryptError>,
) {
    let buffer = sealed.buffer();
    let start = buffer.len();
    let written = loop {
        buffer.resize(start + size, 0);
        match write(&mut buffer[start..]) {
            Ok(written) => break written,
            Err(EncryptError::InsufficientSize(needed)) if needed.required_size > size => {
                size = needed.required_size;
            }
            // The keys have encrypted as much as they may; the client sees a connection that ends.
            Err(_) => break 0,
        }
    };
    buffer.truncate(start + written);
    sealed.push_since(start);
}
