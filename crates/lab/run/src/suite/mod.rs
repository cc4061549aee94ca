//! Suites: which servers, under which loads, in how many rounds, and what a document published about them.

mod file;
mod load;
mod published;
#[cfg(test)]
mod tests;

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::time::Duration;

use prony_manifest::fields;
use prony_model::{MeasuredBy, Published, Seconds};
use serde::Deserialize;

pub use file::SuiteError;
pub(crate) use file::{Budget, MeasureTable, SuiteTable, is_id};
pub use load::{SuiteLoad, WARMUP_LIMIT};
use published::Document;

use crate::adaptive::AdaptiveRounds;
use crate::plan::Measure;

/// What to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// The name of its file, without `.toml`.
    pub id: String,
    /// Its title in reports.
    pub title: String,
    /// Its description, one sentence.
    pub about: String,
    /// Notes for the readers of its report, one sentence each.
    pub notes: Vec<String>,
    /// The ids of the servers, in the order of its tables.
    pub servers: Vec<String>,
    pub measures: Vec<MeasureSpec>,
    /// How rounds are added as needed, instead of the measures' own numbers of rounds.
    pub adaptive: Option<AdaptiveRounds>,
    /// The document that it reproduces.
    document: Option<Document>,
}

/// Workloads under one load.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasureSpec {
    /// The name by which a published table refers to it.
    pub id: Option<String>,
    /// The ids of the workloads.
    pub workloads: Vec<String>,
    pub load: SuiteLoad,
    /// The number of rounds.
    pub rounds: NonZeroU32,
    /// The changes of a quick run.
    quick: Changes,
}

impl MeasureSpec {
    fn name(&self) -> String {
        self.id.clone().unwrap_or_else(|| self.workloads.join(", "))
    }

    /// How much it measures: `3 rounds of 10s`, or `trials of 10s` if rounds are added as needed.
    fn extent(&self, is_adaptive: bool) -> String {
        if is_adaptive {
            return format!("trials of {}", self.load.end());
        }
        let s = if self.rounds.get() == 1 { "" } else { "s" };
        format!("{} round{s} of {}", self.rounds, self.load.end())
    }
}

impl Suite {
    /// A suite made up by a command, without a file and without measures.
    pub fn ad_hoc(id: &str, title: String, notes: Vec<String>, servers: Vec<String>) -> Self {
        Self {
            id: id.to_owned(),
            about: title.clone(),
            title,
            notes,
            servers,
            measures: Vec::new(),
            adaptive: None,
            document: None,
        }
    }

    /// The ids of its workloads, each once, in the order in which it names them.
    pub fn workloads(&self) -> Vec<&str> {
        let mut workloads = Vec::new();
        for id in self.measures.iter().flat_map(|measure| &measure.workloads) {
            if !workloads.contains(&id.as_str()) {
                workloads.push(id);
            }
        }
        workloads
    }

    /// The number of rounds of its longest measure.
    pub fn rounds(&self) -> u32 {
        let rounds = self.measures.iter().map(|measure| measure.rounds.get());
        rounds.max().unwrap_or(0)
    }

    /// Each workload with each of its loads and its rounds (the maximum, if adaptive), on a machine with `cpus` CPUs
    /// for the load.
    pub fn measures_on(&self, cpus: NonZeroUsize) -> Vec<Measure> {
        let with_load = |measure: &MeasureSpec| {
            let load = measure.load.spec(cpus);
            let warmup_limit = measure.load.warmup_limit();
            let rounds = self
                .adaptive
                .map_or(measure.rounds.get(), |one| one.most_rounds);
            let ids = measure.workloads.clone().into_iter();
            ids.map(move |workload| Measure {
                workload,
                load: load.clone(),
                rounds,
                warmup_limit,
            })
        };
        self.measures.iter().flat_map(with_load).collect()
    }

    /// The document that it reproduces, with the loads measured here, on a machine with `cpus` CPUs for the load.
    pub fn published_on(&self, cpus: NonZeroUsize) -> Option<Published> {
        let document = self.document.as_ref()?;
        Some(document.with_loads(|measure| self.measures[measure].load.spec(cpus)))
    }

    /// Turns it into the quick run that its file describes: loads of the same shapes, for seconds instead of minutes.
    /// Returns a note about it; `None` if the suite is already short. `changes` will be applied afterwards, and the
    /// note describes what will be measured.
    pub fn quicken(&mut self, changes: &Changes) -> Option<&str> {
        let mut shortened = Vec::new();
        let is_adaptive = self.adaptive.is_some();
        for measure in &mut self.measures {
            let in_full = measure.clone();
            in_full.quick.shorten(measure);
            if measure.load != in_full.load || (measure.rounds != in_full.rounds && !is_adaptive) {
                let mut measured = measure.clone();
                changes.impose(&mut measured);
                let (name, extent) = (measured.name(), measured.extent(is_adaptive));
                let in_full = in_full.extent(is_adaptive);
                shortened.push(format!("{name}: {extent} (in full {in_full})"));
            }
        }
        if shortened.is_empty() {
            return None;
        }
        self.notes.push(format!(
            "This is a quick run: loads of the same shapes, for seconds instead of minutes. {}.",
            shortened.join("; ")
        ));
        self.notes.last().map(String::as_str)
    }

    /// Changes its rounds or loads, and notes that.
    ///
    /// A duration or a number of requests is an upper bound for every load.
    pub fn change(&mut self, changes: &Changes) {
        if changes.is_empty() {
            return;
        }
        for measure in &mut self.measures {
            changes.impose(measure);
        }
        self.notes.push(
            "Rounds, durations or requests were changed on the command line: the loads shown are \
             those that ran."
                .into(),
        );
    }
}

/// Changes to a suite; `None` keeps its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Changes {
    /// How many rounds.
    pub rounds: Option<NonZeroU32>,
    /// How long a trial is measured.
    #[serde(deserialize_with = "fields::maybe_some_duration")]
    pub duration: Option<Duration>,
    /// How long requests are sent before measuring begins.
    #[serde(deserialize_with = "fields::maybe_duration")]
    pub warmup: Option<Duration>,
    /// How long a server may take to warm up.
    #[serde(deserialize_with = "fields::maybe_duration")]
    pub warmup_limit: Option<Duration>,
    /// How many requests are measured at most.
    pub requests: Option<NonZeroU64>,
}

impl Changes {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These changes, and those of `others` for the rest.
    fn or(self, others: Self) -> Self {
        Self {
            rounds: self.rounds.or(others.rounds),
            duration: self.duration.or(others.duration),
            warmup: self.warmup.or(others.warmup),
            warmup_limit: self.warmup_limit.or(others.warmup_limit),
            requests: self.requests.or(others.requests),
        }
    }

    /// Changes only the fields that a measure has: a load without a warm-up gets none, and one that ends by requests
    /// alone no duration.
    fn shorten(&self, measure: &mut MeasureSpec) {
        let load = &mut measure.load;
        measure.rounds = self.rounds.unwrap_or(measure.rounds);
        if let Some(duration) = self.duration {
            load.shorten_to(duration);
        }
        let requests = self.requests.map(NonZeroU64::get);
        load.spec.requests = load.spec.requests.map(|own| requests.unwrap_or(own));
        if load.has_warmup() {
            self.set_warmup(load);
            load.warmup_limit = self.warmup_limit.or(load.warmup_limit);
        }
    }

    fn set_warmup(&self, load: &mut SuiteLoad) {
        if let Some(warmup) = self.warmup {
            load.spec.warmup = Seconds(warmup);
        }
    }

    /// Sets a measure's fields. So a duration also ends a load that would end by requests, and vice versa, whichever
    /// comes first. A warm-up without a limit is exact.
    fn impose(&self, measure: &mut MeasureSpec) {
        let load = &mut measure.load;
        measure.rounds = self.rounds.unwrap_or(measure.rounds);
        if load.spec.by == MeasuredBy::Instructions {
            // It has no duration, and its warm-up is a number of requests.
            let requests = self.requests.map(NonZeroU64::get);
            load.spec.requests = requests.or(load.spec.requests);
            load.warmup_limit = self.warmup_limit.or(self.warmup).or(load.warmup_limit);
            return;
        }
        load.spec.duration = self.duration.map(Seconds).or(load.spec.duration);
        let requests = self.requests.map(NonZeroU64::get);
        load.spec.requests = requests.or(load.spec.requests);
        self.set_warmup(load);
        let exactly = self.warmup.map(|_| Duration::ZERO);
        load.warmup_limit = self.warmup_limit.or(exactly).or(load.warmup_limit);
    }
}
