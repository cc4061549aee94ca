//! What lies behind a change of the instructions per request: the functions, and the CPU time beside it.

use std::collections::{BTreeMap, BTreeSet};

use prony_model::{CountedBatches, CountedBy, CountedRounds, Measurement, UserInstructions};
use prony_stats::{mean, median, squares};
use serde::Serialize;

/// The most functions that are shown.
const MOST_FUNCTIONS: usize = 12;
/// A function is shown if its instructions changed by at least this share of the whole change.
const LEAST_SHARE: f64 = 0.02;
/// And by at least this many times its standard error over the rounds.
const LEAST_SIGMAS: f64 = 3.0;

/// How instructions were counted, and where they changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InstructionDetails {
    /// What counted the instructions of BASE.
    pub(crate) base_counted_by: Option<CountedBy>,
    /// What counted the instructions of NEW.
    pub(crate) new_counted_by: Option<CountedBy>,
    /// The settings of the servers, each `NAME=VALUE` or `PROGRAM OPTION…`.
    pub settings: Vec<String>,
    /// How many requests warmed a server up.
    pub warm_up_requests: u64,
    /// How many requests were counted in a round.
    pub requests: u64,
    /// The batches of requests of all rounds.
    pub batches: CountedBatches,
    /// The CPU time of the same requests without an emulator; `None` if no round measured it. It is not judged.
    pub cpu: Option<CpuBeside>,
    /// The functions whose instructions changed, the greatest change first; empty if there is no change to explain, or if
    /// hardware counters counted.
    pub functions: Vec<FunctionChange>,
}

/// CPU time beside a count of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuBeside {
    /// BASE's median over its rounds, in nanoseconds per request.
    pub(crate) base_ns: f64,
    /// NEW's median over its rounds, in nanoseconds per request.
    pub(crate) new_ns: f64,
    /// How many rounds of each measured it, at least.
    pub rounds: usize,
}

/// A function whose instructions changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionChange {
    /// Its name.
    pub name: String,
    /// The program or library that it is in; `None` if it was compiled while the server ran.
    pub object: Option<String>,
    /// BASE's instructions of the function itself per request.
    pub base: f64,
    /// NEW's instructions of the function itself per request.
    pub new: f64,
    /// Its change as a share of the whole change: 1 if it explains all of it, negative if it changed the other way.
    pub share: f64,
}

impl InstructionDetails {
    /// The details of these rounds, if any counted instructions; those of the functions if the instructions `changed`.
    pub(crate) fn of(
        changed: bool,
        base: &CountedRounds<'_>,
        new: &CountedRounds<'_>,
    ) -> Option<Self> {
        let sides = [Counted::of(base), Counted::of(new)];
        let [first, second] =
            [&sides[0], &sides[1]].map(|side| side.rounds.values().next().copied());
        let any = second.or(first)?;
        Some(Self {
            base_counted_by: first.map(|one| one.counted_by.clone()),
            new_counted_by: second.map(|one| one.counted_by.clone()),
            settings: any.settings.clone(),
            warm_up_requests: any.warm_up_requests,
            requests: any.requests,
            batches: sides.iter().map(Counted::batches).sum(),
            cpu: CpuBeside::of(&sides),
            functions: if changed { changes(&sides) } else { Vec::new() },
        })
    }

    /// What counted, in words.
    pub(crate) fn counted_by(&self) -> String {
        let name = |one: &Option<CountedBy>| match one {
            None => "nothing".to_owned(),
            Some(CountedBy::Counters) => "the processor".to_owned(),
            Some(CountedBy::Emulator { version }) => version.clone(),
        };
        if self.base_counted_by == self.new_counted_by {
            name(&self.new_counted_by)
        } else {
            format!(
                "{} (base) and {} (new)",
                name(&self.base_counted_by),
                name(&self.new_counted_by)
            )
        }
    }
}

/// The counts of a side, by round.
struct Counted<'a> {
    rounds: BTreeMap<u32, &'a UserInstructions>,
}

impl<'a> Counted<'a> {
    fn of(rounds: &CountedRounds<'a>) -> Self {
        let counted = rounds.measured();
        let counted = counted.filter_map(|(round, one): (u32, &'a Measurement)| {
            let counted = one.user_instructions.as_ref()?;
            (counted.requests > 0).then_some((round, counted))
        });
        Self {
            rounds: counted.collect(),
        }
    }

    /// Instructions per request of a function in each round.
    fn of_function(&self, key: &Key<'_>) -> Vec<f64> {
        let in_round = |counted: &&UserInstructions| {
            let mut functions = counted.functions.iter();
            let found = functions.find(|one| Key::of(one) == *key);
            found.map_or(0.0, |one| one.instructions as f64) / counted.requests as f64
        };
        self.rounds.values().map(in_round).collect()
    }

    fn batches(&self) -> CountedBatches {
        self.rounds.values().map(|one| one.batches).sum()
    }

    fn total(&self) -> Vec<f64> {
        let totals = self.rounds.values();
        totals.filter_map(|one| one.per_request()).collect()
    }

    fn cpu_ns(&self) -> Vec<f64> {
        let costs = self.rounds.values().filter_map(|one| one.unemulated);
        costs.filter_map(|cost| cost.cpu_ns_per_request()).collect()
    }
}

impl CpuBeside {
    fn of([base, new]: &[Counted<'_>; 2]) -> Option<Self> {
        let (base, new) = (base.cpu_ns(), new.cpu_ns());
        Some(Self {
            base_ns: median(&base)?,
            new_ns: median(&new)?,
            rounds: base.len().min(new.len()),
        })
    }

    /// In words: `CPU time per request 31.2 µs → 31.9 µs (medians of 5 unemulated rounds each, not judged)`.
    pub fn words(&self) -> String {
        use prony_present::number::duration;
        format!(
            "CPU time per request {} → {} (medians of {} unemulated rounds each, not judged)",
            duration(self.base_ns),
            duration(self.new_ns),
            self.rounds
        )
    }
}

/// What identifies a function in two builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    name: &'a str,
    object: Option<&'a str>,
}

impl<'a> Key<'a> {
    fn of(function: &'a prony_model::FunctionInstructions) -> Self {
        Self {
            name: &function.name,
            object: function.object.as_deref(),
        }
    }
}

fn changes(sides: &[Counted<'_>; 2]) -> Vec<FunctionChange> {
    let [base, new] = sides;
    let whole = mean(&new.total()) - mean(&base.total());
    if whole == 0.0 {
        return Vec::new();
    }
    let counted = base.rounds.values().chain(new.rounds.values());
    let keys: BTreeSet<Key<'_>> = counted
        .flat_map(|one| one.functions.iter().map(Key::of))
        .collect();
    let mut changes: Vec<FunctionChange> = keys
        .iter()
        .filter_map(|key| {
            let (was, is) = (base.of_function(key), new.of_function(key));
            let (base, new) = (mean(&was), mean(&is));
            let change = new - base;
            let error = (squared_error(&was) + squared_error(&is)).sqrt();
            let matters = change.abs() >= LEAST_SHARE * whole.abs();
            (matters && change.abs() >= LEAST_SIGMAS * error).then(|| FunctionChange {
                name: key.name.to_owned(),
                object: key.object.map(str::to_owned),
                base,
                new,
                share: change / whole,
            })
        })
        .collect();
    changes.sort_by(|one, other| other.share.abs().total_cmp(&one.share.abs()));
    changes.truncate(MOST_FUNCTIONS);
    changes
}

/// The square of the standard error of the mean.
fn squared_error(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    if count < 2.0 {
        return 0.0;
    }
    squares(values) / (count - 1.0) / count
}
