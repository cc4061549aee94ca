//! What responses must be, and what is measured of them in addition.

use std::num::NonZeroU64;
use std::sync::Arc;

use clap::Args;
use prony_load::{SampleChoice, Sampling};
use prony_model::LoadSpec;
use prony_traffic::Expected;
use prony_traffic::expected::{Amount, BodyContent, BodyRules};

use crate::arguments;
use crate::exit::usage;

#[derive(Args)]
#[command(next_help_heading = "Responses")]
pub(super) struct ResponseArguments {
    /// Expect this status [default: any from 200 to 399]
    #[arg(long, value_name = "STATUS", value_parser = arguments::whole(100..=599_u16))]
    expect_status: Option<u16>,
    /// Expect bodies of this length
    #[arg(long, value_name = "BYTES", value_parser = arguments::count, hide_short_help = true)]
    expect_length: Option<u64>,
    /// Expect this body: text, or @FILE of at most 64 MiB; each response must have its length, and if
    /// it is over 1 KiB, only a random sample is compared
    #[arg(long, value_name = "BODY")]
    expect_body: Option<String>,
    /// Compare the first response body of each thread, then every Nth [default: about 700 per second,
    /// at random]
    #[arg(long, value_name = "N", value_parser = arguments::some_count,
        requires = "expect_body", hide_short_help = true)]
    check_every: Option<NonZeroU64>,
    /// Measure the time to the first byte of each response
    #[arg(long, hide_short_help = true)]
    pub(crate) first_byte: bool,
    /// Read responses as event streams (text/event-stream), and count and time their events
    #[arg(long)]
    pub(crate) sse: bool,
    /// Hold this many event streams open beside the load; implies --sse
    #[arg(long, value_name = "N", value_parser = arguments::connections, hide_short_help = true)]
    pub(crate) streams: Option<usize>,
}

impl ResponseArguments {
    /// The load with what these flags say of it.
    pub(super) fn put_into(&self, load: LoadSpec) -> LoadSpec {
        LoadSpec {
            first_byte: self.first_byte,
            events: self.sse || self.streams.is_some(),
            streams: self.streams.unwrap_or(0),
            ..load
        }
    }

    /// A flag that says what every response must be, or how to read it, if one was given.
    pub(super) fn changed(&self) -> Option<&'static str> {
        arguments::first_given([
            ("--expect-status", self.expect_status.is_some()),
            ("--expect-length", self.expect_length.is_some()),
            ("--expect-body", self.expect_body.is_some()),
            ("--sse", self.sse),
            ("--streams", self.streams.is_some()),
        ])
    }

    /// How responses are compared; `None` if nothing is expected of them.
    pub(super) fn sampling(&self) -> Result<Option<Sampling>, Box<dyn std::error::Error>> {
        let body = self
            .expect_body
            .as_deref()
            .map(|text| arguments::text_or_file("the expected body", text))
            .transpose()?;
        if let (Some(length), Some(body)) = (self.expect_length, &body)
            && length != body.len() as u64
        {
            return Err(usage(format!(
                "--expect-length {length} is not the length of --expect-body, which has {} bytes",
                body.len()
            )));
        }
        if self.expect_status.is_none() && self.expect_length.is_none() && body.is_none() {
            return Ok(None);
        }
        // Status and length are checked in every response; without a body, there is nothing to sample.
        let choice = match (&body, self.check_every) {
            (None, _) => SampleChoice::EveryNth(NonZeroU64::MAX),
            (Some(_), Some(n)) => SampleChoice::EveryNth(n),
            (Some(_), None) => SampleChoice::AtRandom,
        };
        let expected = Expected {
            statuses: self.expect_status.into_iter().collect(),
            body: BodyRules {
                content: body.map(BodyContent::Exact),
                size: self.expect_length.map(Amount::exactly),
                ..BodyRules::default()
            },
            ..Expected::default()
        };
        Ok(Some(Sampling {
            check: Arc::new(expected),
            choice,
        }))
    }
}
