//! What the connections of a worker share with the protocols spoken over them.

use std::fs::File;
use std::sync::Arc;

use rustls::ServerConfig;

use crate::config::Work;
use crate::date::Date;
use crate::output::Output;
use crate::responses::Responses;
use crate::route::Reply;

/// Responses of a connection are sent once they are this long, in bytes, even if more of its requests wait.
pub(crate) const BATCH: usize = 256 * 1024;

/// The size of the receive buffer, in bytes.
pub(crate) const RECEIVE: usize = 64 * 1024;

/// What the connections of one worker share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) responses: Arc<Responses>,
    pub(crate) work: Work,
    pub(crate) date: Date,
    /// Draws the quotes.
    pub(crate) random: fastrand::Rng,
    /// Where request lines go.
    pub(crate) log: File,
    /// Responses to be sent.
    pub(crate) output: Output,
    /// What TLS needs; `None` if it is not used.
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) received: Box<[u8]>,
    /// Request lines to be written.
    pub(crate) log_lines: Vec<u8>,
    /// Decrypted, or to be encrypted.
    pub(crate) plain: Vec<u8>,
    /// Encrypted, to be sent.
    pub(crate) sealed: Output,
}

impl Shared {
    pub(crate) fn new(
        responses: Arc<Responses>,
        work: Work,
        date: Date,
        log: File,
        tls: Option<Arc<ServerConfig>>,
    ) -> Self {
        Self {
            responses,
            work,
            date,
            random: fastrand::Rng::new(),
            log,
            output: Output::default(),
            tls,
            received: vec![0; RECEIVE].into_boxed_slice(),
            log_lines: Vec::new(),
            plain: Vec::new(),
            sealed: Output::default(),
        }
    }

    /// Does the extra work of a request and writes its log line.
    pub(crate) fn begin(&mut self, reply: Reply) {
        if let Some((method, path)) = reply.log_line() {
            for part in [method, " ", path, "\n"] {
                self.log_lines.extend_from_slice(part.as_bytes());
            }
        }
        self.work.carry_out();
    }

    /// Writes a response in HTTP/1.1.
    pub(crate) fn write(&mut self, reply: Reply) {
        self.responses
            .write(reply, &self.date, &mut self.random, &mut self.output);
    }
}

/// How far a protocol got with the bytes that it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It waits for more bytes.
    Waits,
    /// It could go on, but a full batch has to be sent first.
    HeldBack,
    /// Nothing more is read; the connection ends after what has been written.
    Over,
}
