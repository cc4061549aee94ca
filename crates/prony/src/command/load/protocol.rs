//! The version of HTTP, and what differs between them.

use clap::Args;
use prony_load::MOST_PIPELINE;
use prony_load::tls::Offer;
use prony_traffic::{HttpVersion, Scheme};

use super::requests::Requests;
use crate::arguments;

#[derive(Args)]
#[command(next_help_heading = "Protocol (default: HTTP/1.1; over https:// the server's choice)")]
pub(super) struct ProtocolArguments {
    /// Use HTTP/2 only; over http:// by prior knowledge (h2c), without an upgrade
    #[arg(long, conflicts_with = "http1")]
    http2: bool,
    /// Use HTTP/1.1 only
    #[arg(id = "http1", long = "http1.1")]
    http1: bool,
    /// Keep up to N requests (streams) in flight over each HTTP/2 connection; at most 1000 [default: 1; with
    /// a rate, 100]
    #[arg(long, value_name = "N", value_parser = arguments::whole(1..=MOST_PIPELINE),
        conflicts_with_all = ["pipeline", "users"])]
    streams_per_connection: Option<usize>,
}

impl ProtocolArguments {
    /// The versions of HTTP that connections offer: the one that a flag or the requests name, or with TLS both.
    pub(super) fn offer(&self, requests: &Requests) -> Offer {
        let version = match (self.http1, self.http2) {
            (true, _) => Some(HttpVersion::Http1),
            (_, true) => Some(HttpVersion::Http2),
            (false, false) => requests.version,
        };
        match version {
            Some(version) => Offer::Only(version),
            None if requests.server.scheme() == Scheme::Https => Offer::Both,
            None => Offer::Only(HttpVersion::Http1),
        }
    }

    /// How many requests there may be in flight over each connection; `None` if no flag says that.
    pub(super) fn in_flight(
        &self,
        pipeline: usize,
        http: HttpVersion,
        offer: Offer,
    ) -> Result<Option<usize>, String> {
        let (chosen, advice) = match offer {
            Offer::Only(_) => ("HTTP/1.1 is used", "add --http2"),
            Offer::Both => ("the server chose HTTP/1.1", "leave it out"),
        };
        match (http, self.streams_per_connection) {
            (HttpVersion::Http1, Some(2..)) => Err(format!(
                "--streams-per-connection needs HTTP/2, but {chosen}; {advice}, or use --pipeline"
            )),
            (HttpVersion::Http2, _) if pipeline > 1 => Err(
                "--pipeline needs HTTP/1.1, but HTTP/2 is used; add --http1.1, or use --streams-per-connection".into(),
            ),
            (HttpVersion::Http1, _) => Ok(Some(pipeline)),
            (HttpVersion::Http2, streams) => Ok(streams),
        }
    }
}
