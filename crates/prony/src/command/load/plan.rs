//! From the flags to the plan that the engine runs.

use std::error::Error;
use std::num::NonZeroU64;

use prony_load::{Endpoint, LoadPlan};
use prony_model::LoadShape;

use super::{Arguments, shape};
use crate::arguments;
use crate::exit::usage;

/// What the command line asks for.
pub struct Asked {
    pub plan: LoadPlan,
    /// Which of how many requests comes when, where there are several.
    pub requests: Option<String>,
    /// Whether anything is drawn at random, so that the seed matters.
    pub is_random: bool,
}

impl Asked {
    /// Reads the command line, and looks for the server when nothing else is wrong.
    pub fn by(given: &Arguments) -> Result<Self, Box<dyn Error>> {
        let Arguments {
            urls,
            ends,
            connections,
            shape,
            requests,
            responses,
            ..
        } = given;
        let cpus = given.generator.cpus.as_deref();
        let cpus = cpus.map_or(Ok(Vec::new()), |list| arguments::cpus("--cpus", list));
        let cpus = cpus.map_err(usage)?;
        let load_shape = shape.shape(given.capacity.is_asked()).map_err(usage)?;
        let stages = shape
            .stages_last(ends.duration, ends.requests.is_some())
            .map_err(usage)?;
        let is_rate = matches!(load_shape, LoadShape::Rate(_));
        let sizes = connections
            .sizes(shape.connections(), is_rate, cpus.len())
            .map_err(usage)?;
        let sent = requests.requests(urls, connections.no_keepalive)?;
        connections.check_addresses(&sent.server).map_err(usage)?;
        let is_random = shape::is_random(&load_shape) || sent.are_random;
        let nowhere = Endpoint::Tcp(([127, 0, 0, 1], 0).into());
        let mut plan = LoadPlan {
            shape: load_shape,
            connections: sizes.connections,
            max_connections: sizes.max_connections,
            threads: sizes.threads,
            pipeline: connections.pipeline,
            requests_per_connection: connections.requests_per_connection,
            duration: ends.measured(stages),
            requests: ends.requests.map(NonZeroU64::get),
            warmup: ends.warmup.unwrap_or_default(),
            timeout: ends.timeout,
            deadline: shape.deadline,
            spin: shape.spin,
            event_loop: given.generator.event_loop.into(),
            sources: connections.source.clone(),
            cpus,
            sampling: responses.sampling()?,
            seed: shape.seed(),
            first_byte: responses.first_byte,
            events: responses.sse || responses.streams.is_some(),
            streams: responses.streams.unwrap_or(0),
            ..LoadPlan::new(nowhere, sent.url, sent.request)
        };
        plan.validate().map_err(usage)?;
        plan.endpoint = connections.endpoint(&sent.server, ends.timeout)?;
        Ok(Self {
            plan,
            requests: sent.described,
            is_random,
        })
    }
}
