//! Summaries of changed samples, and their parts.

use prony_model::{Measurement, Trial, TrialRecord};
use prony_report::{ResultTable, RunSummary, ServerRow};

use crate::sample;
use crate::sample::documents::Records;
use crate::sample::failed_with;

/// The sample of closed loops.
pub(crate) fn tour() -> Records {
    (sample::run(), sample::trials())
}

/// Its first workload.
pub(crate) fn hello() -> Records {
    only(tour(), |trial| trial.workload == "hello")
}

/// The records after a change to every measurement.
pub(crate) fn changed(
    (run, mut trials): Records,
    change: impl FnMut(&Trial, &mut Measurement),
) -> Records {
    sample::each(&mut trials, change);
    (run, trials)
}

/// The trials that are kept.
pub(crate) fn only((run, mut trials): Records, keep: impl Fn(&Trial) -> bool) -> Records {
    trials.retain(|record| keep(&record.trial));
    (run, trials)
}

/// The records after these trials failed.
pub(crate) fn failing((run, mut trials): Records, fails: impl Fn(&TrialRecord) -> bool) -> Records {
    for record in trials.iter_mut().filter(|record| fails(record)) {
        record.result = failed_with("it ended");
    }
    (run, trials)
}

pub(crate) fn is_of(trial: &Trial, server: &str, workload: &str) -> bool {
    trial.server == server && trial.workload == workload
}

pub(crate) fn summary((run, trials): &Records) -> RunSummary {
    RunSummary::of(run, trials)
}

pub(crate) fn table<'a>(summary: &'a RunSummary, name: &str) -> &'a ResultTable {
    let mut tables = summary.tables.iter();
    let table = tables.find(|table| table.name() == name);
    table.unwrap_or_else(|| panic!("no table {name}"))
}

/// A server's row of the table with this name.
pub(crate) fn row<'a>(summary: &'a RunSummary, name: &str, server: &str) -> &'a ServerRow {
    table(summary, name).row(server).expect(server)
}

/// The best and the worst rank of a server.
pub(crate) fn ranks(summary: &RunSummary, name: &str, server: &str) -> Option<(usize, usize)> {
    let band = row(summary, name, server).band()?;
    Some((band.best, band.worst))
}

/// Asserts the best and the worst rank of servers.
#[track_caller]
pub(crate) fn assert_ranks(summary: &RunSummary, name: &str, expected: &[(&str, usize, usize)]) {
    for (server, best, worst) in expected {
        let found = ranks(summary, name, server);
        assert_eq!(found, Some((*best, *worst)), "{server}");
    }
}

/// Asserts that a row has this flag, or one that contains the words.
#[track_caller]
pub(crate) fn assert_flagged(row: &ServerRow, words: &str) {
    let flags = row.flags();
    assert!(flags.iter().any(|flag| flag.contains(words)), "{flags:?}");
}
