//! Loads that count instructions: a table of instructions per request for each, never a rank by rate.

use std::collections::BTreeMap;

use prony_model::{
    CountedBatches, CountedBy, CountedRounds, LoadSpec, MeasuredBy, Run, TrialRecord,
    UserInstructions, baseline, measures_of,
};
use prony_present::load;
use prony_present::number::{NONE, duration, precise_change, share, whole};
use prony_present::page::{Block, Section};
use prony_present::table::{Cell, Head, Row, Table};
use prony_present::words::{Joined, non_empty, plural};
use prony_stats::{Estimate, Ratio, median};

/// How many of a server's functions are shown.
const FUNCTIONS: usize = 5;

/// What a count of instructions means.
const MEANING: &str = "User-space instructions tell how much work the code does, not how fast the server is: system calls, caches, \
                       memory and waiting are not in them. An emulated server's rates and latencies mean nothing, so they are not shown.";

/// The instructions of each server with one workload under one load.
#[derive(Clone, Debug)]
pub struct CountTable {
    pub workload: String,
    pub load: LoadSpec,
    /// A row for each server, in the run's order.
    pub rows: Vec<CountRow>,
}

/// The instructions of a server.
#[derive(Clone, Debug)]
pub struct CountRow {
    /// The server's id.
    pub server: String,
    /// Instructions per request: the median over the rounds with its interval; `None` if no round has any.
    pub per_request: Option<Estimate>,
    /// The ratio to the baseline, of all rounds of both; `None` for the baseline itself, and for fewer than two rounds.
    pub(crate) to_baseline: Option<Ratio>,
    /// How many rounds counted.
    pub rounds: usize,
    /// The batches of requests of all rounds.
    pub batches: CountedBatches,
    /// What counted, with the heaviest functions; `None` if no round has any.
    pub last: Option<UserInstructions>,
    /// CPU time per request without an emulator, in nanoseconds: the median over the rounds that measured it.
    pub cpu_ns: Option<f64>,
    /// Why rounds failed, each reason once.
    pub failures: Vec<String>,
}

impl CountTable {
    /// A table for each workload and load of a run that counts instructions, in the order of the trials.
    pub fn all(run: &Run, trials: &[TrialRecord]) -> Vec<Self> {
        let measures = measures_of(trials.iter().filter(|one| counts(one))).into_iter();
        let table = |(workload, load)| Self::of(run, trials, workload, load);
        measures.map(table).collect()
    }

    fn of(run: &Run, trials: &[TrialRecord], workload: &str, load: &LoadSpec) -> Self {
        let ids = run.servers.iter().map(|server| server.id.as_str());
        let rounds = ids.clone().map(|id| {
            let rounds = CountedRounds::among(trials, id, workload, load);
            (id, rounds)
        });
        let rounds: BTreeMap<&str, CountedRounds<'_>> =
            rounds.filter(|(_, rounds)| !rounds.is_empty()).collect();
        let values = |rounds: &CountedRounds<'_>| {
            rounds.by_round(|one| one.user_instructions.as_ref()?.per_request())
        };
        let has_values = |id: &str| rounds.get(id).is_some_and(|own| !values(own).is_empty());
        let base = baseline(run.baseline.as_deref(), ids.clone(), has_values);
        let list = |id: &str| Some(values(rounds.get(id)?).into_values().collect::<Vec<f64>>());
        let base_list = base.and_then(list);
        let row = |id: &str| {
            let own = rounds.get(id)?;
            let list = list(id)?;
            let base_list = base_list.as_ref().filter(|_| base != Some(id));
            let counted = || {
                let measured = own.measured();
                measured.filter_map(|(_, one)| one.user_instructions.as_ref())
            };
            let cpu = counted().filter_map(|one| one.unemulated?.cpu_ns_per_request());
            let failures = own.failed().filter_map(|(_, why)| why.lines().next());
            let mut failures: Vec<String> = failures.map(str::to_owned).collect();
            failures.dedup();
            Some(CountRow {
                server: id.to_owned(),
                per_request: Estimate::of(&list),
                // As the comparison does: instructions do not depend on the round.
                to_baseline: base_list.and_then(|base| Ratio::unpaired(&list, base)),
                rounds: list.len(),
                batches: counted().map(|one| one.batches).sum(),
                last: counted().last().cloned(),
                cpu_ns: median(&cpu.collect::<Vec<_>>()),
                failures,
            })
        };
        Self {
            workload: workload.to_owned(),
            load: load.clone(),
            rows: ids.filter_map(row).collect(),
        }
    }

    pub fn section(&self) -> Section {
        let rounds = self.rows.iter().map(|row| row.rounds).max().unwrap_or(0);
        let mut blocks = vec![Block::Table(self.figures())];
        blocks.extend(self.how().map(Block::Caption));
        for row in &self.rows {
            let failures = row.failures.iter();
            blocks.extend(failures.map(|why| Block::Caption(format!("{}: {why}", row.server))));
        }
        blocks.extend(self.functions().map(Block::Table));
        blocks.push(Block::Caption(MEANING.to_owned()));
        let id = format!("instructions-{}", self.workload);
        let title = format!("{}: user-space instructions", self.workload);
        Section::of(id, title, blocks).lead(load::in_rounds(&self.load, rounds))
    }

    fn figures(&self) -> Table {
        let row = |row: &CountRow| {
            let per_request = row.per_request.as_ref();
            let interval = per_request.map(|one| (one.low, one.high));
            let texts = [
                row.server.clone(),
                per_request.map_or(NONE.to_owned(), |one| whole(one.median)),
                interval.map_or(NONE.to_owned(), |(low, high)| {
                    format!("{}–{}", whole(low), whole(high))
                }),
                row.to_baseline.map_or(NONE.to_owned(), |ratio| {
                    let [low, high] = [ratio.low, ratio.high].map(precise_change);
                    format!("{} ({low} to {high})", precise_change(ratio.ratio))
                }),
                row.cpu_ns.map_or(NONE.to_owned(), duration),
            ];
            Row::of(texts.into_iter().map(Cell::text))
        };
        let titles = [
            "server",
            "instructions/req",
            "95 % interval",
            "to the baseline",
            "CPU/req, not emulated",
        ];
        Table::with(
            titles.into_iter().map(Head::words),
            self.rows.iter().map(row),
        )
    }

    /// How the instructions were counted.
    fn how(&self) -> Option<String> {
        let mut counted = self.rows.iter().filter_map(|row| row.last.as_ref());
        let one = counted.next()?;
        let by = match &one.counted_by {
            CountedBy::Counters => "the processor's counters",
            CountedBy::Emulator { version } => version,
        };
        let batches: CountedBatches = self.rows.iter().map(|row| row.batches).sum();
        let left_out = batches.left_out().map(|words| format!(" {words}."));
        Some(format!(
            "Counted by {by} over {} a round, after {} of warm-up, with {}.{}",
            plural(one.requests as usize, "request"),
            one.warm_up_requests,
            one.settings.join(" and "),
            left_out.unwrap_or_default()
        ))
    }

    /// The heaviest functions of each server; `None` if none is known.
    fn functions(&self) -> Option<Table> {
        let mut rows = Vec::new();
        for row in &self.rows {
            let Some(counted) = &row.last else { continue };
            for (place, function) in counted.functions.iter().take(FUNCTIONS).enumerate() {
                let texts = [
                    if place == 0 {
                        row.server.clone()
                    } else {
                        String::new()
                    },
                    share(function.instructions as f64 / counted.instructions.max(1) as f64),
                    function.name.clone(),
                    function.object.clone().unwrap_or_default(),
                ];
                let row = Row::of(texts.into_iter().map(Cell::blank));
                rows.push(row.begins_group(place == 0));
            }
        }
        let titles = ["server", "of its instructions", "function", "in"];
        (!rows.is_empty()).then(|| Table::with(titles.into_iter().map(Head::words), rows))
    }

    pub(crate) fn sentence(&self) -> Option<String> {
        let figures = self.rows.iter().filter_map(|row| {
            let per_request = row.per_request.as_ref()?;
            Some(format!("{} {}", row.server, whole(per_request.median)))
        });
        let figures = non_empty(figures.joined(", "))?;
        let workload = &self.workload;
        Some(format!(
            "{workload}: user-space instructions per request: {figures}."
        ))
    }
}

/// Whether a trial counts instructions.
pub(crate) fn counts(record: &TrialRecord) -> bool {
    record.trial.load.by == MeasuredBy::Instructions
}
