//! All runs of a store, without their trials: what every page is made from.

use std::collections::BTreeMap;

use prony_model::{Run, RunEnd};
use prony_report::RunSummary;
use prony_report::compare::{Comparison, Incomparable, Question, Side, Tally};
use prony_store::{Store, StoreError};

use crate::digest::{Recorded, RunChange, RunDigest};
use crate::machine::hardware;
use crate::page_address::PageAddress;

/// All runs of a store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    /// The runs, the oldest first.
    pub(crate) runs: Vec<RunDigest>,
    /// The runs that could not be read.
    pub(crate) left_out: Vec<LeftOut>,
    /// The comparisons that have a page, the newest run first.
    pub(crate) comparisons: Vec<Compared>,
    /// Which runs of a suite have nothing to compare, and why, a line each.
    pub(crate) incomparable: Vec<String>,
    /// What of the possible comparisons has no page, in sentences.
    pub(crate) limits: Vec<String>,
}

/// A run that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub id: String,
    pub why: String,
}

/// A comparison that has a page.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    pub(crate) address: PageAddress,
    pub(crate) suite: String,
    /// What is compared: `each run with the one before`.
    pub(crate) kind: &'static str,
    /// The older side.
    pub(crate) base: String,
    /// The newer side.
    pub(crate) new: String,
    /// How many comparisons have each finding.
    pub(crate) tally: Tally,
}

/// What the pages of a run and of the one before it in its suite compare.
pub(crate) const WITH_BEFORE: &str = "with the run before";
/// What the page of a run of `prony ab` compares.
pub(crate) const REVISIONS: &str = "revisions of a run";

impl Compared {
    pub(crate) fn runs(base: &str, new: &Run, kind: &'static str, tally: Tally) -> Self {
        Self {
            address: PageAddress::runs(base, &new.id),
            suite: new.suite.clone(),
            kind,
            base: base.to_owned(),
            new: new.id.clone(),
            tally,
        }
    }

    pub(crate) fn servers(run: &Run, pair: [&str; 2], kind: &'static str, tally: Tally) -> Self {
        let [base, new] = pair;
        Self {
            address: PageAddress::servers(&run.id, base, new),
            suite: run.suite.clone(),
            kind,
            base: base.to_owned(),
            new: new.to_owned(),
            tally,
        }
    }
}

impl Catalog {
    /// Keeps only these runs, those that cannot be read among them.
    pub(crate) fn keep(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.runs.retain(|digest| is_kept(&digest.run.id));
        self.left_out.retain(|left_out| is_kept(&left_out.id));
    }

    /// Leaves a run out.
    pub(crate) fn leave_out(&mut self, id: &str, why: &dyn std::error::Error) {
        self.left_out.push(LeftOut {
            id: id.to_owned(),
            why: why.to_string(),
        });
    }

    pub(crate) fn run(&self, id: &str) -> Option<&RunDigest> {
        self.runs.iter().find(|digest| digest.run.id == id)
    }

    /// The newest run of each suite, the newest first.
    pub(crate) fn latest(&self) -> Vec<&RunDigest> {
        let newest_first = self.runs.iter().rev();
        let suites = grouped(newest_first, |one, other| one.run.suite == other.run.suite);
        suites.into_iter().map(|suite| suite[0]).collect()
    }

    /// The newest run of a suite that was run to its end.
    pub(crate) fn latest_complete(&self, suite: &str) -> Option<&RunDigest> {
        let mut runs = self.runs.iter().rev();
        runs.find(|digest| digest.run.suite == suite && digest.run.end == RunEnd::Complete)
    }

    /// The ids of all servers, each with the runs that requested it, the oldest first.
    pub(crate) fn servers(&self) -> BTreeMap<&str, Vec<&RunDigest>> {
        let mut servers: BTreeMap<&str, Vec<&RunDigest>> = BTreeMap::new();
        for digest in &self.runs {
            for server in &digest.run.servers {
                servers.entry(&server.id).or_default().push(digest);
            }
        }
        servers
    }

    /// The machines by their [`hardware`], each with its runs, the oldest first.
    pub(crate) fn machines(&self) -> BTreeMap<String, Vec<&RunDigest>> {
        let mut machines: BTreeMap<String, Vec<&RunDigest>> = BTreeMap::new();
        for digest in &self.runs {
            let name = hardware(&digest.run.machine);
            machines.entry(name).or_default().push(digest);
        }
        machines
    }

    /// Sorts the runs by their start.
    pub(crate) fn sort(&mut self) {
        let key = |digest: &RunDigest| (digest.run.started_at.clone(), digest.run.id.clone());
        self.runs.sort_by_key(key);
    }
}

/// The items in groups of those that are alike, in the order in which they come first.
pub(crate) fn grouped<T>(
    items: impl IntoIterator<Item = T>,
    are_alike: impl Fn(&T, &T) -> bool,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for item in items {
        match groups.iter_mut().find(|group| are_alike(&group[0], &item)) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

/// Reads a run with its trials.
///
/// # Errors
/// If the record file cannot be read, or a record in it.
pub(crate) fn read(store: &Store, id: &str) -> Result<Recorded, StoreError> {
    Ok(Recorded {
        run: store.run(id)?,
        trials: store.trials(id)?,
    })
}

/// What a run's page shows.
pub(crate) struct Summarized {
    pub(crate) digest: RunDigest,
    pub(crate) summary: RunSummary,
    /// The comparison that it was made for, if it was made for one.
    pub(crate) verdict: Option<Comparison>,
}

pub(crate) fn summarize(recorded: &Recorded) -> Summarized {
    let summary = RunSummary::of(&recorded.run, &recorded.trials);
    let verdict = Comparison::of_run(&recorded.run, &recorded.trials);
    Summarized {
        digest: RunDigest::of(recorded, &summary, verdict.as_ref()),
        summary,
        verdict,
    }
}

/// Compares two runs by the rules of `prony compare`.
///
/// # Errors
/// If they have nothing to compare.
pub(crate) fn compare(base: &Recorded, new: &Recorded) -> Result<Comparison, Incomparable> {
    compare_sides(side(base, None), side(new, None))
}

/// Compares two servers of a run, or of two runs.
///
/// # Errors
/// If there is nothing to compare, or a run lacks its server.
pub(crate) fn compare_sides(base: Side<'_>, new: Side<'_>) -> Result<Comparison, Incomparable> {
    let pair = base.server.zip(new.server).map(|(base, new)| [base, new]);
    let is_its_own = base.run.id == new.run.id && pair.is_some() && pair == base.run.compared();
    // A run that was made for this comparison says how its figures are to be judged.
    let question = if is_its_own {
        Question::of_command(&base.run.command)
    } else {
        Question::default()
    };
    Comparison::of(base, new, &question)
}

pub(crate) fn side<'a>(recorded: &'a Recorded, server: Option<&'a str>) -> Side<'a> {
    Side {
        run: &recorded.run,
        trials: &recorded.trials,
        server,
    }
}

/// How a run's figures changed since the run before.
pub(crate) fn change(before: &Recorded, now: &Recorded) -> Option<RunChange> {
    let comparison = compare(before, now).ok()?;
    Some(RunChange::of(&comparison))
}

/// Why two sides have no comparison, in one line.
pub(crate) fn why_not(error: &Incomparable) -> String {
    error
        .to_string()
        .lines()
        .map(str::trim)
        .collect::<Vec<_>>()
        .join("; ")
}
