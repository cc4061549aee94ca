//! One TLS connection: rustls's state machine and its buffers.

use std::sync::Arc;

use prony_traffic::HttpVersion;
use rustls::client::{ClientConfig, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, UnbufferedStatus, WriteTraffic,
};
use rustls::{HandshakeKind, ProtocolVersion};

use super::incoming::Incoming;
use super::outgoing::{Outgoing, Wanted};
use super::{Agreement, Failure};
use crate::tls::{TlsVersion, iana_name};
use crate::wire::Handshake;

/// The most plaintext in a record.
const LONGEST_PLAINTEXT: usize = 16 * 1024;
/// What encryption adds to a record at most: its header, a nonce, a content type and a tag, and perhaps a message that
/// updates the keys before it.
const OVERHEAD: usize = 128;
/// How many records the keys of TLS 1.2 may encrypt: AES-GCM allows 2^24 minus a few. TLS 1.3 updates its keys.
const MOST_RECORDS: u64 = (1 << 24) - (1 << 12);

/// What the state machine did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Something; there may be more to do.
    Progress,
    /// It encrypted that much plaintext.
    Encrypted(usize),
    /// Nothing: it waits for more bytes, or for plaintext to encrypt.
    Waits,
}

/// The client's side of a TLS connection.
#[derive(Default)]
pub(super) struct Session {
    /// `None` before the first connection.
    connection: Option<UnbufferedClientConnection>,
    incoming: Incoming,
    outgoing: Outgoing,
    /// Whether the server said that it sends no more.
    server_closed: bool,
    /// Whether any record was decrypted.
    speaks_tls: bool,
    /// How many records were encrypted.
    records: u64,
}

impl Session {
    /// Starts a new connection in the buffers of the last one.
    pub(super) fn restart(
        &mut self,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<(), Failure> {
        self.incoming.restart();
        self.outgoing.restart();
        (self.server_closed, self.speaks_tls, self.records) = (false, false, 0);
        // Nothing of the last connection is left even if there is no new one.
        self.connection = None;
        self.connection = Some(UnbufferedClientConnection::new(config, name)?);
        Ok(())
    }

    /// Does the next thing: passes decrypted plaintext to `take`, or encrypts the start of `plaintext`.
    ///
    /// # Errors
    ///
    /// If the connection has failed. What rustls wants the server to know is then among the unsent bytes.
    pub(super) fn turn(
        &mut self,
        plaintext: &[u8],
        take: impl FnOnce(&[u8]),
    ) -> Result<Turn, Failure> {
        let Some(connection) = &mut self.connection else {
            return Ok(Turn::Waits);
        };
        let unread = self.incoming.undecrypted();
        let UnbufferedStatus { mut discard, state } = connection.process_tls_records(unread);
        let turn = match state {
            Err(error) => Err(error),
            Ok(ConnectionState::ReadTraffic(mut traffic)) => match traffic.next_record() {
                Some(Ok(record)) => {
                    discard += record.discard;
                    take(record.payload);
                    Ok(Turn::Progress)
                }
                Some(Err(error)) => Err(error),
                None => Ok(Turn::Progress),
            },
            Ok(ConnectionState::EncodeTlsData(data)) => {
                encode(&mut self.outgoing, data);
                Ok(Turn::Progress)
            }
            Ok(ConnectionState::TransmitTlsData(transmit)) => {
                transmit.done();
                Ok(Turn::Progress)
            }
            Ok(ConnectionState::WriteTraffic(traffic)) if self.server_closed => {
                confirm_close(&mut self.outgoing, traffic)
            }
            Ok(ConnectionState::WriteTraffic(traffic)) if !plaintext.is_empty() => {
                let piece = &plaintext[..plaintext.len().min(LONGEST_PLAINTEXT)];
                self.records += 1;
                encrypt(&mut self.outgoing, traffic, piece).map(|()| Turn::Encrypted(piece.len()))
            }
            Ok(ConnectionState::PeerClosed) => {
                self.server_closed = true;
                Ok(Turn::Progress)
            }
            Ok(_) => Ok(Turn::Waits),
        };
        let turn = turn.map_err(|error| {
            if self.speaks_tls {
                error.into()
            } else {
                Failure::of_first_bytes(self.incoming.start(), error)
            }
        });
        self.speaks_tls |= discard > 0;
        self.incoming.discard(discard);
        if turn.is_err() {
            self.queue_alert();
        }
        turn
    }

    /// Queues the alert that tells the server why the connection has failed, if there is one: only one, and nothing
    /// else may be done after it.
    #[cold]
    fn queue_alert(&mut self) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        let unread = self.incoming.undecrypted();
        if let Ok(ConnectionState::EncodeTlsData(data)) =
            connection.process_tls_records(unread).state
        {
            encode(&mut self.outgoing, data);
        }
    }

    /// Takes received bytes, as many as fit; they fit if [`Session::turn`] waits.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        match self.incoming.receive(bytes) {
            0 if !bytes.is_empty() => Err(Failure::MessageTooLong),
            taken => Ok(taken),
        }
    }

    pub(super) fn unsent(&self) -> &[u8] {
        self.outgoing.unsent()
    }

    /// Takes note of sent bytes, and returns how much plaintext was sent with them.
    pub(super) fn sent(&mut self, length: usize) -> usize {
        self.outgoing.sent(length)
    }

    /// How much plaintext is encrypted but not sent.
    pub(super) fn plaintext_ahead(&self) -> usize {
        self.outgoing.plaintext()
    }

    pub(super) fn has_record(&self) -> bool {
        !self.server_closed && self.incoming.has_record()
    }

    /// Whether a record has begun and not ended.
    pub(super) fn is_inside_record(&self) -> bool {
        !self.server_closed && !self.incoming.is_empty()
    }

    pub(super) fn is_handshaking(&self) -> bool {
        self.connection
            .as_ref()
            .is_none_or(|connection| connection.is_handshaking())
    }

    pub(super) fn server_closed(&self) -> bool {
        self.server_closed
    }

    /// Whether its keys should encrypt no more.
    pub(super) fn keys_are_worn(&self) -> bool {
        let version = || self.connection.as_ref()?.protocol_version();
        self.records >= MOST_RECORDS && version() == Some(ProtocolVersion::TLSv1_2)
    }

    pub(super) fn handshake(&self) -> Option<Handshake> {
        let connection = self.connection.as_ref()?;
        Some(Handshake {
            resumed: connection.handshake_kind()? == HandshakeKind::Resumed,
            agreement: Agreement {
                version: TlsVersion::of(connection.protocol_version()?)?,
                cipher_suite: iana_name(connection.negotiated_cipher_suite()?.suite()),
                http: connection.alpn_protocol().and_then(HttpVersion::of_alpn),
            },
        })
    }
}

fn encode<D>(outgoing: &mut Outgoing, mut data: EncodeTlsData<'_, D>) {
    outgoing.tidy();
    let encoded = outgoing.write(1024, |buffer| {
        data.encode(buffer).map_err(|error| match error {
            EncodeError::InsufficientSize(size) => Wanted::Longer(size.required_size),
            EncodeError::AlreadyEncoded => Wanted::Nothing(()),
        })
    });
    debug_assert!(encoded.is_ok(), "it is encoded once");
}

/// Responds to the server's `close_notify`: the server may wait for that before it closes the connection.
#[cold]
fn confirm_close<D>(
    outgoing: &mut Outgoing,
    mut traffic: WriteTraffic<'_, D>,
) -> Result<Turn, rustls::Error> {
    let queued = outgoing.write(OVERHEAD, |buffer| {
        traffic.queue_close_notify(buffer).map_err(wanted)
    });
    // If it cannot be queued, the server closes the connection later.
    Ok(queued.map_or(Turn::Waits, |()| Turn::Progress))
}

fn encrypt<D>(
    outgoing: &mut Outgoing,
    mut traffic: WriteTraffic<'_, D>,
    plaintext: &[u8],
) -> Result<(), rustls::Error> {
    outgoing.tidy();
    outgoing.write(plaintext.len() + OVERHEAD, |buffer| {
        traffic.encrypt(plaintext, buffer).map_err(wanted)
    })?;
    outgoing.holds(plaintext.len());
    Ok(())
}

#[cold]
fn wanted(error: EncryptError) -> Wanted<rustls::Error> {
    match error {
        EncryptError::InsufficientSize(size) => Wanted::Longer(size.required_size),
        EncryptError::EncryptExhausted => Wanted::Nothing(rustls::Error::EncryptError),
    }
}
