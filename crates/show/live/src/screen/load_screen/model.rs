//! What is shown of a load: on its screen, or in a line.

use std::time::Duration;

use prony_load::Progress;
use prony_model::{Outcome, Stage};

use super::history::{History, Slice};
use super::schedule::scheduled;
use crate::screen::view;

#[derive(Clone, Debug, Default)]
pub struct LoadOutline {
    /// `GET http://localhost:8080/`.
    pub title: String,
    /// `closed loop, 64 connections, 2 threads`.
    pub load: String,
    pub warmup: Duration,
    /// How long the load is measured; `None` if only `requests` ends it.
    pub duration: Option<Duration>,
    pub requests: Option<u64>,
    /// Whether its users go through a scenario, so that it has flows.
    pub has_flows: bool,
    /// The rates at which requests are due, from the end of the warm-up on; empty without a schedule.
    pub schedule: Vec<Stage>,
}

#[derive(Clone, Debug)]
pub enum LoadUpdate {
    Progress(Box<Progress>),
    /// An agent that has sent nothing for a while, in words.
    Silent(Option<String>),
    /// What the server uses, if it runs on this machine.
    Server(ServerUse),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ServerUse {
    Running {
        /// How many CPUs it was busy on since the last look, for instance 1.5.
        cpus: f64,
        memory_bytes: u64,
        processes: u32,
    },
    Ended,
}

#[derive(Clone, Debug)]
pub struct LoadModel {
    pub outline: LoadOutline,
    pub last: Progress,
    pub(super) history: History,
    /// When the last ok response was seen, in seconds since the load's start.
    pub(super) last_ok_s: f64,
    /// When the warm-up was seen to end, in seconds since the load's start.
    pub(super) measuring_since_s: Option<f64>,
    pub(super) silent: Option<String>,
    pub(super) server: Option<ServerUse>,
}

/// What a frame shows of it.
pub(super) type Look<'m> = view::Look<'m, LoadModel>;

impl LoadModel {
    pub fn new(outline: LoadOutline) -> Self {
        let measuring_since_s = outline.warmup.is_zero().then_some(0.0);
        Self {
            outline,
            last: Progress::default(),
            history: History::default(),
            last_ok_s: 0.0,
            measuring_since_s,
            silent: None,
            server: None,
        }
    }

    pub fn update(&mut self, update: LoadUpdate) {
        match update {
            LoadUpdate::Progress(progress) => self.progress(*progress),
            LoadUpdate::Silent(silent) => self.silent = silent,
            LoadUpdate::Server(server) => self.server = Some(server),
        }
    }

    /// Takes figures that are newer than the last ones.
    fn progress(&mut self, progress: Progress) {
        if progress.at_s <= self.last.at_s {
            return;
        }
        if progress.measuring && self.measuring_since_s.is_none() {
            self.measuring_since_s = Some(self.last.at_s);
        }
        // When the warm-up ends the counters start over.
        let before = if progress.measuring == self.last.measuring {
            self.last.clone()
        } else {
            Progress {
                at_s: self.last.at_s,
                ..Progress::default()
            }
        };
        self.history.add(Slice {
            from_s: before.at_s,
            to_s: progress.at_s,
            ok: progress.ok.saturating_sub(before.ok),
            errors: progress.errors.saturating_sub(before.errors),
            ok_flows: progress.ok_flows.saturating_sub(before.ok_flows),
            bytes_read: progress.bytes_read.saturating_sub(before.bytes_read),
            bytes_written: progress.bytes_written.saturating_sub(before.bytes_written),
            latency: progress.latency.since(&before.latency),
            lag: progress.lag.since(&before.lag),
        });
        if progress.ok > before.ok {
            self.last_ok_s = progress.at_s;
        }
        self.last = progress;
    }

    /// Whether the end of the warm-up was not seen yet.
    pub(crate) fn is_warming_up(&self) -> bool {
        self.measuring_since_s.is_none()
    }

    /// How much of the load is over, from 0 to 1; `None` if nobody knows.
    pub fn share(&self, at: Duration) -> Option<f64> {
        let by_time = self.whole().map(|whole| at.as_secs_f64() / whole);
        let done = if self.is_warming_up() {
            0
        } else {
            self.last.ok + self.last.errors
        };
        let by_count = self
            .outline
            .requests
            .map(|all| done as f64 / all.max(1) as f64);
        let shares = [by_time, by_count].into_iter().flatten();
        shares.reduce(f64::max).map(|share| share.clamp(0.0, 1.0))
    }

    /// How long the load takes in all, in seconds, if its duration ends it.
    pub(super) fn whole(&self) -> Option<f64> {
        let measured = self.outline.duration?;
        Some((self.outline.warmup + measured).as_secs_f64().max(0.001))
    }

    /// The time left, and whether it is only an estimate.
    pub(super) fn left(&self, at: Duration) -> Option<(Duration, bool)> {
        let by_time = self.whole().map(|whole| whole - at.as_secs_f64());
        let by_count = self.outline.requests.and_then(|all| {
            let elapsed = self.last.at_s - self.measuring_since_s?;
            let done = (self.last.ok + self.last.errors) as f64;
            let left = all as f64 - done;
            (done > 0.0).then(|| left.max(0.0) * elapsed / done)
        });
        let (left, is_estimate) = match (by_time, by_count) {
            (Some(time), Some(count)) if count < time => (count, true),
            (Some(time), _) => (time, false),
            (None, count) => (count?, true),
        };
        let left = Duration::try_from_secs_f64(left.max(0.0)).unwrap_or_default();
        Some((left, is_estimate))
    }

    pub(super) fn mean_rate(&self) -> f64 {
        let since = self.measuring_since_s.unwrap_or(0.0);
        per_second(self.last.ok as f64, self.last.at_s - since)
    }

    /// The rate at which requests were due in the middle of the last second, with whose responses it is compared.
    pub(super) fn due(&self) -> Option<f64> {
        let second = self.history.last_second().unwrap_or_default();
        self.scheduled((second.from_s + second.to_s) / 2.0)
    }

    /// The rate at which requests are due at this time, in seconds since the load's start.
    pub(super) fn scheduled(&self, at_s: f64) -> Option<f64> {
        let seconds = self.measuring_seconds(at_s);
        let rate = scheduled(&self.outline.schedule, seconds)?;
        // Responses may still come after the load's end.
        let duration = self.outline.duration;
        let is_over = duration.is_some_and(|all| seconds > all.as_secs_f64());
        Some(if is_over { 0.0 } else { rate })
    }

    /// The time since the warm-up ended, or will end; less than 0 during the warm-up.
    pub fn measuring_seconds(&self, at_s: f64) -> f64 {
        let planned = self.outline.warmup.as_secs_f64().max(self.last.at_s);
        at_s - self.measuring_since_s.unwrap_or(planned)
    }

    pub(super) fn errors(&self) -> Vec<(Outcome, u64)> {
        let kinds = self.last.outcomes.iter();
        let mut kinds: Vec<_> = kinds
            .filter(|(outcome, count)| outcome.is_error() && *count > 0)
            .collect();
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        kinds
    }
}

pub(super) fn per_second(count: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { count / seconds } else { 0.0 }
}
