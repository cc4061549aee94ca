//! The version of HTTP, and what differs between them.

use std::error::Error;
use std::num::NonZeroU64;
use std::time::Duration;

use clap::Args;
use prony_load::tls::{Offer, TlsClient};
use prony_load::{Endpoint, LoadPlan, MOST_PIPELINE, negotiate};
use prony_model::LoadShape;
use prony_traffic::HttpVersion;

use super::connections::ConnectionArguments;
use super::requests::RequestContent;
use crate::arguments;
use crate::exit::usage;
use crate::tls::{Offered, Tls};

/// The version of HTTP.
#[derive(Args, Clone)]
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
    /// With a version that the requests prefer, unless a flag has one.
    pub(super) fn with(&self, version: Option<HttpVersion>) -> Self {
        let mut with = self.clone();
        if !self.http1 && !self.http2 {
            with.http1 = version == Some(HttpVersion::Http1);
            with.http2 = version == Some(HttpVersion::Http2);
        }
        with
    }
}

/// How requests reach the server.
pub(super) struct Transport<'a> {
    protocol: &'a ProtocolArguments,
    connections: &'a ConnectionArguments,
    tls: Option<(Tls, TlsClient)>,
    offer: Offer,
    is_grpc: bool,
}

impl<'a> Transport<'a> {
    /// With these flags, for these requests, which may name a version of HTTP. Reads the files of TLS.
    pub(super) fn new(
        protocol: &'a ProtocolArguments,
        connections: &'a ConnectionArguments,
        tls: Option<Tls>,
        content: &RequestContent,
        http: Option<HttpVersion>,
    ) -> Result<Self, Box<dyn Error>> {
        let offer = match (content, http) {
            _ if protocol.http1 => Offer::Only(HttpVersion::Http1),
            (RequestContent::Grpc(_), _) => Offer::Only(HttpVersion::Http2),
            (RequestContent::Http(_) | RequestContent::Scenario(_), _) if protocol.http2 => {
                Offer::Only(HttpVersion::Http2)
            }
            (RequestContent::Http(_) | RequestContent::Scenario(_), Some(version)) => {
                Offer::Only(version)
            }
            (RequestContent::Http(_) | RequestContent::Scenario(_), None) if tls.is_some() => {
                Offer::Both
            }
            (RequestContent::Http(_) | RequestContent::Scenario(_), None) => {
                Offer::Only(HttpVersion::Http1)
            }
        };
        let tls = tls.map(|tls| tls.client(offer).map(|client| (tls, client)));
        Ok(Self {
            protocol,
            connections,
            tls: tls.transpose()?,
            offer,
            is_grpc: matches!(content, RequestContent::Grpc(_)),
        })
    }

    /// What connections offer if they are encrypted.
    pub(super) fn offered(&self) -> Offered {
        let tls = self.tls.as_ref();
        Offered {
            http: self.offer,
            is_grpc: self.is_grpc,
            has_certificate: tls.is_some_and(|(tls, _)| tls.has_certificate()),
        }
    }

    /// The version that is used without TLS, or that the server will probably choose.
    pub(super) fn expected(&self) -> HttpVersion {
        match self.offer {
            Offer::Only(version) => version,
            Offer::Both if self.connections.pipeline > 1 => HttpVersion::Http1,
            Offer::Both => HttpVersion::Http2,
        }
    }

    /// Sets what the plan sends over that version.
    ///
    /// # Errors
    ///
    /// If that version does not allow it.
    pub(super) fn set_version(
        &self,
        plan: &mut LoadPlan,
        content: &RequestContent,
        http: HttpVersion,
    ) -> Result<(), Box<dyn Error>> {
        let (pipeline, streams) = (
            self.connections.pipeline,
            self.protocol.streams_per_connection,
        );
        let (chosen, advice) = match self.offer {
            Offer::Only(_) => ("HTTP/1.1 is used", "add --http2"),
            Offer::Both => ("the server chose HTTP/1.1", "leave it out"),
        };
        match http {
            HttpVersion::Http1 if streams.is_some_and(|streams| streams > 1) => {
                return Err(usage(format!(
                    "--streams-per-connection needs HTTP/2, but {chosen}; {advice}, or use --pipeline"
                )));
            }
            HttpVersion::Http2 if pipeline > 1 => {
                return Err(usage(
                    "--pipeline needs HTTP/1.1, but HTTP/2 is used; add --http1.1, or use --streams-per-connection",
                ));
            }
            _ => {}
        }
        plan.request = content.over(http)?;
        let is_http2 = http == HttpVersion::Http2;
        let usual = match &plan.load.shape {
            // Before it opens another connection.
            LoadShape::Rate(_) if is_http2 && !matches!(content, RequestContent::Scenario(_)) => {
                plan.usual_streams()
            }
            _ => 1,
        };
        plan.load.pipeline = pipeline.max(streams.unwrap_or(usual));
        plan.load.requests_per_connection =
            if self.connections.no_keepalive && closes_itself(content, http) {
                // HTTP/2 has no header for that, and the requests of a scenario are not its own.
                Some(1)
            } else {
                self.connections
                    .requests_per_connection
                    .map(NonZeroU64::get)
            };
        Ok(())
    }

    /// The TLS of the load, and the version of HTTP that the server chose if it had the choice. The connection for that
    /// also shows whether the server is trusted.
    pub(super) fn negotiated(
        &self,
        endpoint: &Endpoint,
        timeout: Duration,
    ) -> Result<(Option<TlsClient>, HttpVersion), Box<dyn Error>> {
        let Some((tls, client)) = &self.tls else {
            return Ok((None, self.expected()));
        };
        let http =
            negotiate(endpoint, client, timeout).map_err(|error| self.offered().explain(error))?;
        match self.offer {
            Offer::Only(HttpVersion::Http2) if http != HttpVersion::Http2 => {
                Err(self.offered().no_http2())
            }
            Offer::Only(version) => Ok((Some(client.clone()), version)),
            Offer::Both => Ok((Some(tls.client(Offer::Only(http))?), http)),
        }
    }
}

/// Whether Prony closes a connection itself after its last response, instead of a header of each request.
fn closes_itself(content: &RequestContent, http: HttpVersion) -> bool {
    http == HttpVersion::Http2 || matches!(content, RequestContent::Scenario(_))
}
