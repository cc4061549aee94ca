//! What responses take in TCP: bytes and segments, by the kernel's own count (`TCP_INFO`).

use std::time::Duration;

use prony_traffic::{Traffic, sse};

use crate::exchange::{Conversation, ExchangeError};
use crate::request::EncodedTraffic;
use crate::target::Endpoint;
use crate::tls::TlsClient;

/// What some responses, one after another, took in TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    pub responses: u64,
    /// Bytes that arrived for them: heads, bodies, chunk sizes, frames and what TLS adds. Headers of TCP and IP are not
    /// counted.
    pub bytes: u64,
    /// Segments with data in which they arrived. Acknowledgements alone are not counted.
    ///
    /// A segment is as long as the path allows. Over loopback that is 64 KiB, over a network about 1.4 KB. So over
    /// loopback this is how often the server handed data to the kernel, unless it wrote more at once, or the kernel joined two
    /// writes because the first could not leave yet.
    pub segments: u64,
    /// The events of event streams; 0 for other responses.
    pub events: u64,
}

/// Why segments could not be counted.
#[derive(Debug, thiserror::Error)]
pub enum SegmentsError {
    /// There was no whole response.
    #[error(transparent)]
    Exchange(#[from] ExchangeError),
    /// `TCP_INFO` has no such figures: before Linux 4.6, or over another socket than TCP.
    #[error("the kernel does not count the segments of this connection")]
    NotCounted,
}

/// Sends the first request of `traffic` `responses` times, each when the response before it is whole, and counts what the
/// responses take. `timeout` is for each response.
///
/// One more request goes before them and is not counted: with it come the settings of HTTP/2 and the session tickets of
/// TLS. If the server closes the connection after each response, they are counted, because every response brings them; a
/// handshake never is.
///
/// # Errors
/// If a response does not arrive, or the kernel does not count segments.
pub fn segments_of(
    endpoint: &Endpoint,
    traffic: &Traffic,
    tls: Option<&TlsClient>,
    responses: u64,
    timeout: Duration,
) -> Result<Segments, SegmentsError> {
    let sent = EncodedTraffic::of(traffic).map_err(ExchangeError::from)?;
    let mut conversation = Conversation::new(endpoint, &sent, tls, timeout);
    conversation.request()?;
    let mut segments = Segments::default();
    for _ in 0..responses {
        let response = conversation.request()?;
        let arrived = conversation.arrived().ok_or(SegmentsError::NotCounted)?;
        let is_stream = response.header("content-type").is_some_and(is_event_stream);
        segments.responses += 1;
        segments.bytes += arrived.bytes;
        segments.segments += arrived.segments;
        if is_stream {
            segments.events += sse::events(&response.body).len() as u64;
        }
    }
    Ok(segments)
}

fn is_event_stream(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("text/event-stream")
}

#[cfg(test)]
mod tests;
