//! The comparison of two sides.

use prony_model::{LoadSpec, ServerRecord};
use serde::Serialize;

use crate::comparer::{Comparer, Found, empty_case};
use crate::failures;
use crate::finding::{Finding, Tally};
use crate::metric::Metric;
use crate::noise::Noise;
use crate::row::Case;
use crate::side::{Named, Side, fault, is_reference};
use crate::threshold::Thresholds;

/// What is asked of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// The metrics; where there are none, those that say something under the load ([`Metric::usual`]).
    pub metrics: Vec<Metric>,
    /// The least changes that matter.
    pub thresholds: Thresholds,
}

impl Question {
    pub(crate) fn metrics(&self, load: &LoadSpec) -> Vec<Metric> {
        match self.metrics.is_empty() {
            true => Metric::usual(load).to_vec(),
            false => {
                let mut metrics = self.metrics.clone();
                metrics.retain(|metric| metric.applies_to(load));
                metrics
            }
        }
    }

    /// Whether it was asked for by its name.
    pub(crate) fn asks_for(&self, metric: Metric) -> bool {
        self.metrics.contains(&metric)
    }
}

/// In how many sessions the sides were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sessions {
    /// In one run, interleaved.
    One,
    /// In two runs, one after the other.
    Two,
}

/// What a new measurement says beside an old one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The old one.
    pub base: Named,
    /// The new one.
    pub new: Named,
    /// How they were measured.
    pub sessions: Sessions,
    /// How many comparisons came to what.
    pub tally: Tally,
    /// Each server with each workload under each load.
    pub cases: Vec<Case>,
    /// What BASE has figures of and NEW has not, by no fault of the server, and what neither has figures of.
    pub left_out: Vec<String>,
    /// What only NEW has figures of: there is nothing that it could be worse than.
    pub only_new: Vec<String>,
    /// What its reader must know before its figures.
    pub warnings: Vec<String>,
    /// Whether NEW sent wrong responses. Its line of errors has how many.
    #[serde(skip)]
    pub new_is_wrong: bool,
    /// Under which conditions both were measured, as far as two sessions differ.
    pub differences: Vec<String>,
    /// What else the machine did.
    pub noise: Noise,
}

/// Why two sides cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    /// They are the same.
    #[error("both sides are the run {0}; name two of its servers (RUN:SERVER), or another run")]
    Same(String),
    /// A server took no part in its run.
    #[error("the run {run} has no server `{server}`; it has: {}", .known.join(", "))]
    Unknown {
        /// The run.
        run: String,
        /// The server.
        server: String,
        /// Those that took part.
        known: Vec<String>,
    },
    /// They have nothing in common.
    #[error("there is nothing to compare in the runs {base} and {new}{}", list(.why))]
    Nothing {
        /// The old run.
        base: String,
        /// The new run.
        new: String,
        /// What each lacks.
        why: Vec<String>,
    },
}

fn list(why: &[String]) -> String {
    match why {
        [] => "; they have no server in common".to_owned(),
        why => why.iter().map(|line| format!("\n  {line}")).collect(),
    }
}

impl Comparison {
    /// Compares two sides.
    ///
    /// # Errors
    /// Where they are the same, or have nothing in common.
    pub fn of(base: Side<'_>, new: Side<'_>, question: &Question) -> Result<Self, Incomparable> {
        let pairs = pairs(&base, &new)?;
        let sessions = match base.run.id == new.run.id {
            true => Sessions::One,
            false => Sessions::Two,
        };
        let comparer = Comparer {
            base,
            new,
            question,
            sessions,
        };
        let mut found = Found::default();
        for (base_id, new_id) in &pairs {
            comparer.server(base_id, new_id, &mut found);
        }
        if found.cases.is_empty() {
            return Err(Incomparable::Nothing {
                base: base.run.id.clone(),
                new: new.run.id.clone(),
                why: [found.left_out, found.only_new].concat(),
            });
        }
        if base.server.is_none() && new.server.is_none() {
            let gone = lacking(&base, &new).map(|id| format!("{id}: it is not in NEW"));
            found.left_out.extend(gone);
            let come = lacking(&new, &base).map(|id| format!("{id}: it is not in BASE"));
            found.only_new.extend(come);
        }
        Ok(comparer.conclude(found))
    }

    /// What is to be said where NEW cannot be built and BASE can, so that nothing of these was measured.
    pub fn without_new<'a>(
        base: Named,
        new: Named,
        (base_id, broken): (&str, &ServerRecord),
        measures: impl IntoIterator<Item = (&'a str, &'a LoadSpec)>,
    ) -> Self {
        let case = |(workload, load): (&str, &LoadSpec)| {
            let why = fault(broken, workload).unwrap_or_else(|| "it cannot be built".to_owned());
            let case = empty_case((base_id, &broken.id), workload, load);
            Case {
                rows: vec![failures::absent(Finding::Worse, "new", &why)],
                ..case
            }
        };
        let cases: Vec<Case> = measures.into_iter().map(case).collect();
        Comparison {
            sessions: Sessions::One,
            tally: tally(&cases),
            left_out: Vec::new(),
            only_new: Vec::new(),
            new_is_wrong: false,
            warnings: vec![format!(
                "{} cannot be built, so nothing was measured, and there is no run {}",
                broken.id, new.run
            )],
            differences: Vec::new(),
            noise: Noise::default(),
            base,
            new,
            cases,
        }
    }

    /// Whether something is worse, or NEW sent wrong responses, whatever BASE did.
    pub fn is_worse(&self) -> bool {
        self.tally.worse > 0 || self.new_is_wrong
    }

    /// Whether it leaves open if something is worse.
    pub fn is_open(&self) -> bool {
        let mut rows = self.cases.iter().flat_map(|case| &case.rows);
        !self.left_out.is_empty() || rows.any(|row| row.finding.is_open())
    }

    /// Whether its cases must name their servers, because the sides do not.
    pub(crate) fn names_servers(&self) -> bool {
        self.new.server.is_none()
    }
}

/// Which servers are compared: BASE's and NEW's of each pair.
fn pairs(base: &Side<'_>, new: &Side<'_>) -> Result<Vec<(String, String)>, Incomparable> {
    if let Some(named) = base.server.or(new.server) {
        let base_id = known(base, base.server.unwrap_or(named))?;
        let new_id = known(new, new.server.unwrap_or(named))?;
        return match base.run.id == new.run.id && base_id == new_id {
            true => Err(Incomparable::Same(base.run.id.clone())),
            false => Ok(vec![(base_id, new_id)]),
        };
    }
    if base.run.id == new.run.id {
        return Err(Incomparable::Same(base.run.id.clone()));
    }
    let both = base.run.servers.iter();
    let both = both.filter(|server| new.record(&server.id).is_some());
    // The ceiling is what the others are held against.
    let (ceilings, others): (Vec<_>, Vec<_>) = both.partition(|server| is_reference(server));
    let compared = if others.is_empty() { ceilings } else { others };
    let pair = |id: &String| (id.clone(), id.clone());
    Ok(compared.iter().map(|server| pair(&server.id)).collect())
}

fn known(side: &Side<'_>, id: &str) -> Result<String, Incomparable> {
    match side.record(id) {
        Some(server) => Ok(server.id.clone()),
        None => Err(Incomparable::Unknown {
            run: side.run.id.clone(),
            server: id.to_owned(),
            known: side.run.servers.iter().map(|one| one.id.clone()).collect(),
        }),
    }
}

/// The servers of a side that the other has not, the ceiling aside.
fn lacking<'a>(side: &Side<'a>, other: &Side<'a>) -> impl Iterator<Item = &'a str> {
    let servers = side.run.servers.iter();
    let gone = servers.filter(|one| !is_reference(one) && other.record(&one.id).is_none());
    gone.map(|server| server.id.as_str())
}

pub(crate) fn tally(cases: &[Case]) -> Tally {
    let rows = cases.iter().flat_map(|case| &case.rows);
    Tally::of(rows.map(|row| row.finding))
}
