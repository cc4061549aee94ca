//! SETTINGS (RFC 9113, section 6.5): the limits of either side.

use prony_http::hpack::{MAX_LIST, TABLE_SIZE};
use prony_http::{
    DEFAULT_WINDOW, ErrorCode, Kind, Setting, encode_header, encode_settings, read_settings,
};

/// How many streams of a connection may be open.
pub(super) const MAX_STREAMS: usize = 1024;
/// How much the client may send on a stream before it is told to go on, in bytes.
pub(super) const STREAM_WINDOW: u32 = 256 << 10;
/// How much the client may send on all streams before it is told to go on, in bytes.
pub(super) const CONNECTION_WINDOW: u32 = 4 << 20;

/// Appends what the server sends first: its SETTINGS frame, and a WINDOW_UPDATE frame for the connection.
pub(super) fn write_server(buffer: &mut Vec<u8>) {
    let settings = encode_settings([
        (Setting::MAX_CONCURRENT_STREAMS, MAX_STREAMS as u32),
        (Setting::INITIAL_WINDOW_SIZE, STREAM_WINDOW),
        (Setting::MAX_HEADER_LIST_SIZE, MAX_LIST as u32),
    ]);
    let settings = settings.as_flattened();
    buffer.extend_from_slice(&encode_header(settings.len(), Kind::SETTINGS, 0, 0));
    buffer.extend_from_slice(settings);
    let more = CONNECTION_WINDOW - DEFAULT_WINDOW;
    buffer.extend_from_slice(&encode_header(4, Kind::WINDOW_UPDATE, 0, 0));
    buffer.extend_from_slice(&more.to_be_bytes());
}

/// The client's settings that matter to a server that never pushes, never uses the dynamic table and sends no frame
/// longer than every client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientSettings {
    /// The send window of a new stream, in bytes.
    pub(crate) initial_window: u32,
    /// Whether the client's table is smaller than the default, so that the next header block must say that it knows.
    pub(crate) shrinks_table: bool,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self {
            initial_window: DEFAULT_WINDOW,
            shrinks_table: false,
        }
    }
}

impl ClientSettings {
    /// Takes the payload of a SETTINGS frame.
    pub(super) fn take(&mut self, payload: &[u8]) -> Result<(), ErrorCode> {
        for setting in read_settings(payload)? {
            match setting? {
                (Setting::HEADER_TABLE_SIZE, size) if (size as usize) < TABLE_SIZE => {
                    self.shrinks_table = true;
                }
                (Setting::INITIAL_WINDOW_SIZE, size) => self.initial_window = size,
                _ => {}
            }
        }
        Ok(())
    }
}
