//! A rate that was tried, and its result.

use prony_model::objective::{LoadFigures, Objectives};
use prony_model::{
    HistogramError, LatencySummary, LoadResult, NoiseCause, OpenLoop, Outcome, Outside,
    OutsideServer, TcpEvents, noisy, worst_of,
};
use serde::Serialize;

use crate::capacity::judge::{Judgement, judge};
use crate::capacity::search::Purpose;

/// A rate that was tried, and its result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateAttempt {
    /// Why the search tried it.
    #[serde(flatten)]
    pub purpose: Purpose,
    /// Which run of this rate it was, from 1: a noisy run is repeated.
    pub run: u32,
    /// Requests, or flows, due per second.
    pub rate_per_s: f64,
    /// The seed of its random arrivals.
    pub seed: u64,
    /// How long it was measured, in seconds.
    pub duration_s: f64,
    /// Whether the search ended it early, because it could no longer meet the objective.
    pub cut_short: bool,
    /// Whether the server sustained it.
    #[serde(flatten)]
    pub judgement: Judgement,
    /// Requests of the measured part, by outcome.
    pub requests: u64,
    /// Expected responses.
    pub ok: u64,
    /// Share (0 to 1) of the requests without an expected response; flows that failed without one count, too.
    pub errors: f64,
    /// Share (0 to 1) of the requests, or flows, due that were begun.
    pub sent: f64,
    /// From the scheduled arrival (in a flow only that of its first request; of the others, from the send) to the last
    /// byte of the response; `None` if there was no response.
    pub latency_ns: Option<LatencySummary>,
    /// The histogram behind `latency_ns`: HdrHistogram V2, base64.
    pub histogram: String,
    /// How many connections were opened for it, the initial ones included.
    pub connections_opened: u64,
    /// Share (0 to 1) of the requests that waited while connections were being set up; `None` if that is too small to show.
    pub waited_for_set_up: Option<f64>,
    /// The busiest worker's CPU time as a share (0 to 1) of the time.
    pub generator_busy: f64,
    /// What else happened on the machine; `None` if nobody observed it.
    pub noise: Option<AttemptNoise>,
    /// What the kernel's TCP had to repair; `None` if the kernel does not report it.
    pub tcp: Option<TcpEvents>,
    /// How its CPU quota stopped the server, or else what `tcp` says about requests that took 0.2 s or longer; `None` if
    /// neither explains anything.
    pub slow_because: Option<String>,
}

/// An attempt before it is judged.
pub(crate) struct Unjudged<'a> {
    /// Why the search runs it.
    pub(crate) purpose: Purpose,
    /// Which run of this rate it was, from 1.
    pub(crate) run: u32,
    /// Requests, or flows, due per second.
    pub(crate) rate_per_s: f64,
    /// Whether the search ended it early.
    pub(crate) cut_short: bool,
    /// What was observed during the load.
    pub(crate) outside: Option<&'a Outside>,
}

impl RateAttempt {
    /// Judges a load; `resolution` is the search's.
    pub(crate) fn of(
        load: &LoadResult,
        unjudged: &Unjudged<'_>,
        objectives: &Objectives,
        resolution: f64,
    ) -> Result<Self, HistogramError> {
        Ok(Self {
            purpose: unjudged.purpose,
            run: unjudged.run,
            rate_per_s: unjudged.rate_per_s,
            seed: load.load.seed,
            duration_s: load.duration_s,
            cut_short: unjudged.cut_short,
            judgement: judge(load, objectives, resolution)?,
            requests: load.requests,
            ok: load.outcomes[Outcome::Ok],
            errors: LoadFigures::of(load)?.error_share(),
            sent: load.open.as_ref().map_or(0.0, |open| open.rate_ratio),
            latency_ns: load.latency_ns.clone(),
            histogram: load.histogram.clone(),
            connections_opened: load.connections_opened,
            waited_for_set_up: load.open.as_ref().and_then(OpenLoop::waited_for_set_up),
            generator_busy: load.generator.busy_max,
            noise: unjudged
                .outside
                .map(|outside| AttemptNoise::of(outside, load)),
            tcp: load.tcp,
            slow_because: load
                .server_stopped()
                .map(|throttled| format!("the server's {throttled}"))
                .or_else(|| load.slow_because.clone()),
        })
    }

    /// Whether the machine disturbed it, so its verdict counts only if there is no better one.
    pub fn is_noisy(&self) -> bool {
        self.noise.as_ref().is_some_and(AttemptNoise::is_noisy)
    }

    /// The share of the CPU time that it lost to what made it noisy.
    pub(crate) fn lost(&self) -> f64 {
        let causes = self.noise.iter().flat_map(|noise| &noise.noisy);
        causes.map(NoiseCause::lost).sum()
    }
}

/// What else happened on the machine while a rate was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AttemptNoise {
    /// Share (0 to 1) of the CPU time of server or generator, whichever lost more, that the hypervisor gave to others.
    pub steal_share: f64,
    /// Share (0 to 1) of it that other programs used while server or generator waited for a CPU.
    pub foreign_share: f64,
    /// How long the generator's threads waited for a CPU, in seconds; `None` if the kernel does not report it.
    pub generator_wait_s: Option<f64>,
    /// How long the server's threads waited; `None` if the server is on another machine or the kernel does not report it.
    pub server_wait_s: Option<f64>,
    /// Whether the server's CPU use could be distinguished from that of other programs.
    pub server: ServerPlace,
    /// What made the attempt noisy; empty if nothing did.
    pub noisy: Vec<NoiseCause>,
}

/// Where the server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ServerPlace {
    /// On another machine.
    Elsewhere,
    /// On this machine, with visible processes.
    Seen,
    /// On this machine, but its processes are not visible, so the CPU use of other programs is unknown.
    Unseen,
}

impl AttemptNoise {
    /// Evaluates what was observed during a load.
    pub(crate) fn of(outside: &Outside, load: &LoadResult) -> Self {
        let losses = outside.losses(load);
        let worst = worst_of(&losses);
        let generator = load.generator.scheduling;
        let (server, server_scheduling) = match outside.server {
            OutsideServer::Elsewhere => (ServerPlace::Elsewhere, None),
            OutsideServer::Seen(scheduling) => (ServerPlace::Seen, scheduling),
            OutsideServer::Unseen => (ServerPlace::Unseen, None),
        };
        Self {
            steal_share: worst.steal_share,
            foreign_share: worst.foreign_share,
            generator_wait_s: generator.map(|it| it.run_queue_wait_s),
            server_wait_s: server_scheduling.map(|it| it.run_queue_wait_s),
            server,
            noisy: noisy(&losses, load.loaded_s()),
        }
    }

    /// Whether anything made the attempt noisy.
    pub fn is_noisy(&self) -> bool {
        !self.noisy.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::tests::{load, outside};
    use prony_model::Scheduling;

    fn waited(run_queue_wait_s: f64) -> Option<Scheduling> {
        Some(Scheduling {
            run_queue_wait_s,
            ..Scheduling::default()
        })
    }

    #[test]
    fn the_causes_of_noise_are_listed() {
        let mut load = load([1; 10], 0);
        load.generator.scheduling = waited(0.2);
        let seen = OutsideServer::Seen(waited(0.05));
        let noise = AttemptNoise::of(&outside(0.12, 0.5, seen), &load);
        assert!(noise.is_noisy() && noise.server == ServerPlace::Seen);
        let waits = (noise.generator_wait_s, noise.server_wait_s);
        assert_eq!(waits, (Some(0.2), Some(0.05)));
        let expected = [
            NoiseCause::Steal { share: 0.12 },
            NoiseCause::OtherPrograms { share: 0.25 },
        ];
        assert_eq!(noise.noisy, expected);
        let quiet = AttemptNoise::of(&outside(0.05, 0.5, OutsideServer::Unseen), &load);
        assert!(!quiet.is_noisy());
        assert_eq!(quiet.foreign_share, 0.0, "it may have been the server");
    }
}
