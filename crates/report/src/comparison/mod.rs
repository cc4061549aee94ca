//! What can be said of a run: a table for each workload and load, and who is missing from it and why.

mod absence;
mod figures;
mod table;

use prony_record::{LoadSpec, Run, TrialRecord};

pub use absence::{Absence, Why};
pub use figures::{Figures, Percentile};

/// A run, compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// A table for each workload and load, in the suite's order.
    pub tables: Vec<Table>,
    /// Who is missing from which table, and why.
    pub absences: Vec<Absence>,
}

/// How the subjects did under one load on one workload.
#[derive(Clone, Debug)]
pub struct Table {
    /// The workload's id.
    pub workload: String,
    /// The load.
    pub load: LoadSpec,
    /// The ranked rows by band and median, then the unranked ones by median.
    pub rows: Vec<Row>,
}

/// One subject's row.
#[derive(Clone, Debug)]
pub struct Row {
    /// The subject.
    pub subject: SubjectLabel,
    /// Its rank, or why it has none.
    pub standing: Standing,
    /// Its figures.
    pub figures: Figures,
    /// Ok answers a second as a share of the reference server's, medians both; `None` where the
    /// reference server did not take part, and for itself.
    pub share_of_ceiling: Option<f64>,
}

/// A row's rank, or why it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Its rank, from 1: one more than the rows whose whole interval lies above.
    Ranked(usize),
    /// It is the reference server: a limit of the machine, not a competitor.
    Reference,
    /// In at least one round the generator was the limit, so the figure is the generator's.
    ClientLimited,
    /// Answers under load were wrong, so its rate is of something else.
    WrongAnswers,
}

/// What is told of a subject wherever it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubjectLabel {
    /// Its id.
    pub id: String,
    /// Programming language.
    pub language: String,
    /// Framework or library.
    pub framework: String,
    /// The version, as found.
    pub version: Option<String>,
    /// `stdlib`, `framework`, `tuned` or `reference`.
    pub class: String,
    /// Size of what its build made, in bytes.
    pub artefact_bytes: Option<u64>,
}

impl Comparison {
    /// Compares the trials of a run.
    pub fn of(run: &Run, trials: &[TrialRecord]) -> Comparison {
        let tables = table::tables(run, trials);
        let absences = absence::absences(run, trials, &tables);
        Comparison { tables, absences }
    }

    /// The numbers of rounds that the rows rest on, ascending, each once.
    pub fn round_counts(&self) -> Vec<usize> {
        let rows = self.tables.iter().flat_map(|table| &table.rows);
        let mut counts: Vec<_> = rows.map(|row| row.figures.rate.n).collect();
        counts.sort_unstable();
        counts.dedup();
        counts
    }
}

impl Table {
    /// The reference server's row, where it took part.
    pub fn ceiling(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.is_reference())
    }
}

impl Row {
    /// Its rank, from 1; `None` where it is not ranked.
    pub fn rank(&self) -> Option<usize> {
        match self.standing {
            Standing::Ranked(rank) => Some(rank),
            _ => None,
        }
    }

    /// Whether it is the reference server (which may be client-limited besides).
    pub fn is_reference(&self) -> bool {
        self.subject.is_reference()
    }

    /// What the reader must know of this row, a few words each.
    pub fn flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        match self.standing {
            Standing::Ranked(_) => {}
            Standing::Reference => flags.push("reference".to_owned()),
            Standing::ClientLimited => flags.push("client-limited".to_owned()),
            Standing::WrongAnswers => flags.push("wrong answers".to_owned()),
        }
        flags.extend(self.figures.flags());
        flags
    }
}

impl SubjectLabel {
    /// Whether it is a reference server.
    pub fn is_reference(&self) -> bool {
        self.class == "reference"
    }

    /// Language, framework and version in a line, nothing said twice.
    pub fn title(&self) -> String {
        let mut words = vec![self.language.as_str()];
        if !self.framework.eq_ignore_ascii_case(&self.language) {
            words.push(&self.framework);
        }
        words.extend(self.version.as_deref());
        words.retain(|word| !word.is_empty());
        words.join(" ")
    }
}

impl From<&prony_record::SubjectRecord> for SubjectLabel {
    fn from(record: &prony_record::SubjectRecord) -> Self {
        Self {
            id: record.id.clone(),
            language: record.language.clone(),
            framework: record.framework.clone(),
            version: record.version.clone(),
            class: record.class.clone(),
            artefact_bytes: record.artefact_bytes,
        }
    }
}
