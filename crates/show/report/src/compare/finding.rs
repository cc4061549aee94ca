//! The possible results of a comparison.

use prony_present::table::Colour;
use prony_present::words::Joined;
use prony_stats::Verdict;
use serde::Serialize;

prony_model::named! {
    /// The result for one metric of one case, the most important first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum Finding {
        /// NEW is worse, by at least the threshold.
        Worse = "worse",
        /// NEW is better, by at least the threshold.
        Improved = "improved",
        /// Too few rounds, no figures, or an interval so wide that it may hide a change as large as the threshold.
        Inconclusive = "inconclusive",
        /// The figures of a side are a lower bound, or of wrong responses, so the change is unknown.
        Limited = "not comparable",
        /// There is no change; one as large as the threshold would have been seen.
        NoChangeSeen = "no change seen",
    }
}

impl Finding {
    pub const fn colour(self) -> Colour {
        match self {
            Finding::Worse => Colour::Bad,
            Finding::Improved => Colour::Good,
            Finding::Inconclusive | Finding::Limited => Colour::Warning,
            Finding::NoChangeSeen => Colour::Soft,
        }
    }

    /// Whether it leaves open what changed.
    pub const fn is_open(self) -> bool {
        matches!(self, Finding::Inconclusive | Finding::Limited)
    }
}

impl From<Verdict> for Finding {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Improved => Finding::Improved,
            Verdict::Worse => Finding::Worse,
            Verdict::NoChangeSeen => Finding::NoChangeSeen,
            Verdict::Inconclusive => Finding::Inconclusive,
        }
    }
}

/// How many comparisons have each finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub struct Tally {
    /// Worse.
    pub worse: usize,
    /// Improved.
    pub improved: usize,
    /// Inconclusive.
    pub(crate) inconclusive: usize,
    /// Limited by the generator.
    pub limited: usize,
    /// No change seen.
    pub(crate) no_change_seen: usize,
    /// Whether NEW sent wrong responses, which is worse whatever BASE sent. The row of errors has their number.
    #[serde(skip)]
    pub new_is_wrong: bool,
}

/// The words beside the counts if NEW sent wrong responses.
pub(super) const NEW_IS_WRONG: &str = "NEW sent wrong responses";

impl Tally {
    /// Counts these findings.
    pub fn of(findings: impl IntoIterator<Item = Finding>) -> Self {
        let mut tally = Self::default();
        for finding in findings {
            *tally.slot(finding) += 1;
        }
        tally
    }

    /// The number of comparisons.
    pub fn total(&self) -> usize {
        Finding::ALL.map(|finding| self.count(finding)).iter().sum()
    }

    /// The number of comparisons with this finding.
    pub fn count(&self, finding: Finding) -> usize {
        let mut tally = *self;
        *tally.slot(finding)
    }

    /// The counts in words: `1 worse, 3 no change seen`.
    pub fn words(&self) -> String {
        let wrong = (self.new_is_wrong && self.worse == 0).then(|| NEW_IS_WRONG.to_owned());
        let counts = Finding::ALL.into_iter().filter_map(|finding| {
            let count = self.count(finding);
            (count > 0).then(|| format!("{count} {}", finding.name()))
        });
        wrong.into_iter().chain(counts).joined(", ")
    }

    /// The most important finding among them: worse also if NEW sent wrong responses.
    pub fn overall(&self) -> Finding {
        if self.new_is_wrong {
            return Finding::Worse;
        }
        let mut found = Finding::ALL.into_iter().filter(|one| self.count(*one) > 0);
        found.next().unwrap_or(Finding::Inconclusive)
    }

    fn slot(&mut self, finding: Finding) -> &mut usize {
        match finding {
            Finding::Worse => &mut self.worse,
            Finding::Improved => &mut self.improved,
            Finding::Inconclusive => &mut self.inconclusive,
            Finding::Limited => &mut self.limited,
            Finding::NoChangeSeen => &mut self.no_change_seen,
        }
    }
}
