//! Flags: what the reader must know about a row besides its figures, a few words each.

use prony_model::{Bound, Outcome};
use prony_present::number::{self, exact, seconds, share};
use prony_present::table::{Flag, Weight};
use prony_present::words::{self, Joined, counted, non_empty, plural};

use crate::figures::{
    Attempts, Awaiting, Figures, HeldFigures, OpenFigures, OutageFigures, Percentile, RATE_MADE,
    SentFigures, WarmingFigures, WrongResponses,
};
use crate::table::{ServerRow, Standing};

/// More stolen CPU time than this is worth a flag.
const MOST_STEAL: f64 = 0.02;
/// If the generator's own delay is more than this share of the latency, it is worth a flag.
const MOST_LAG: f64 = 0.2;
/// If a greater share of the requests found every connection busy, it is worth a flag.
const MOST_BUSY: f64 = 0.001;
/// If fewer than this share of the connections were being served at a time, the latency is not that of all.
const LEAST_SERVED: f64 = 0.7;

impl ServerRow {
    /// The flags of this row, a few words each.
    pub fn flags(&self) -> Vec<String> {
        let flags = self.weighted_flags(true).into_iter();
        flags.map(|flag| flag.text).collect()
    }

    /// The flags with their weights; `with_errors` if no column shows the errors.
    pub(crate) fn weighted_flags(&self, with_errors: bool) -> Vec<Flag> {
        self.flags_beside(self.figures.rate.median, with_errors)
    }

    /// The flags with their weights beside `rate`, the one that the table shows.
    pub(crate) fn flags_beside(&self, rate: f64, with_errors: bool) -> Vec<Flag> {
        let mut flags = self.standing_flags(rate);
        if with_errors {
            flags.extend(errors(&self.figures));
        }
        flags.extend(figure_flags(&self.figures));
        flags
    }

    fn standing_flags(&self, rate: f64) -> Vec<Flag> {
        let is_wrong = self.standing == Standing::WrongResponses;
        let standing = is_wrong.then(|| match self.figures.wrong {
            Some(wrong) => bad(format!("wrong responses: {}", wrong_of(wrong))),
            None => bad("wrong responses".to_owned()),
        });
        let mut bounds: Vec<Flag> = self.shown_bounds().map(words::bound).map(warning).collect();
        let is_least = matches!(self.standing, Standing::AtLeast(Some(_)));
        if let Some(last) = bounds.last_mut()
            && is_least
            && self.shown_bounds().any(Bound::binds)
        {
            let things = if self.figures.flows.is_empty() {
                "req"
            } else {
                "flows"
            };
            last.text += &format!(": at least {}", number::rate_of(things, rate));
        }
        let is_paced = bounds.len() < self.bounds.len();
        let pace = is_paced.then(|| note("the users' think time set the pace".to_owned()));
        let outside = self.server.outside.as_ref();
        let outside =
            outside.map(|_| note("already ran: neither started nor pinned by Prony".to_owned()));
        standing
            .into_iter()
            .chain(bounds)
            .chain(pace)
            .chain(outside)
            .collect()
    }
}

fn bad(text: String) -> Flag {
    Flag::of(Weight::Bad, text)
}

fn warning(text: String) -> Flag {
    Flag::of(Weight::Warning, text)
}

fn note(text: String) -> Flag {
    Flag::of(Weight::Note, text)
}

/// The kinds of errors with their counts: `errors: 3 reset, 12 timed out`.
fn errors(figures: &Figures) -> Option<Flag> {
    non_empty(error_words(figures)).map(|words| bad(format!("errors: {words}")))
}

/// The kinds of errors with their counts: `12 timed out`.
pub(crate) fn error_words(figures: &Figures) -> String {
    let counted = |(outcome, count): (Outcome, u64)| {
        let count = number::count(count as f64);
        format!("{count} {}", words::outcome(outcome))
    };
    figures.errors().into_iter().map(counted).joined(", ")
}

/// `122 of 18,204 responses`.
pub(crate) fn wrong_of(wrong: WrongResponses) -> String {
    format!(
        "{} of {}",
        exact(wrong.wrong),
        counted(wrong.of, "response", "responses")
    )
}

fn figure_flags(figures: &Figures) -> Vec<Flag> {
    let mut flags = Vec::new();
    if figures.failed_rounds > 0 {
        flags.push(bad(format!(
            "{} failed",
            plural(figures.failed_rounds, "round")
        )));
    }
    flags.extend(figures.outages.map(outages).map(bad));
    flags.extend(attempts(&figures.attempts));
    flags.extend(warming(&figures.warming).into_iter().map(note));
    if let Some(rho) = figures.follows_noise {
        let rho = format!("{rho:.2}").replace('-', "−");
        flags.push(warning(format!(
            "follows the noise (rank correlation {rho})"
        )));
    }
    if figures.unreadable_histograms > 0 {
        let left_out = counted(
            figures.unreadable_histograms as u64,
            "round's latency is left out",
            "rounds' latencies are left out",
        );
        flags.push(warning(format!("{left_out} (unreadable)")));
    }
    flags.extend(figures.awaiting.and_then(starving).map(warning));
    if let Some(open) = &figures.open {
        let flagged = schedule(open, figures.percentile(Percentile::P50));
        flags.extend(flagged.into_iter().map(warning));
    }
    flags.extend(figures.held.and_then(lost_streams).map(warning));
    if figures.steal_share >= MOST_STEAL {
        let stolen = share(figures.steal_share);
        flags.push(warning(format!(
            "the hypervisor took {stolen} of the CPU in one round"
        )));
    }
    flags
}

fn outages(outages: OutageFigures) -> String {
    let [from, length] = [outages.longest.from_s, outages.longest.length_s].map(seconds);
    match outages.rounds {
        1 => format!("in 1 round no response was ok for {length}, from {from} on"),
        rounds => format!("in {rounds} rounds no response was ok for up to {length}"),
    }
}

fn attempts(attempts: &Attempts) -> Vec<Flag> {
    let mut flags = Vec::new();
    if attempts.noisy > 0 {
        let noisy = counted(
            attempts.noisy as u64,
            "trial was noisy",
            "trials were noisy",
        );
        flags.push(note(match attempts.again {
            0 => format!("{noisy}, none re-run"),
            n => format!("{noisy}, {n} re-run"),
        }));
    }
    if let Some(warmup) = attempts.longer_warmup {
        let time = number::duration(warmup.as_nanos() as f64);
        flags.push(note(format!("warm-up lengthened to {time}")));
    }
    if attempts.rounds_on_noisy > 0 {
        let rounds = counted(
            attempts.rounds_on_noisy as u64,
            "round rests on its least noisy trial",
            "rounds rest on their least noisy trials",
        );
        flags.push(warning(format!(
            "{rounds} ({})",
            attempts.causes.join(", ")
        )));
    }
    flags
}

fn warming(warming: &WarmingFigures) -> Vec<String> {
    let mut flags = Vec::new();
    if warming.kept {
        let after = warming.time_to_warm_ns.map(|warm| match warm.median {
            0.0 => " (warm at once)".to_owned(),
            ns => format!(" (took {} to warm up)", number::duration(ns)),
        });
        flags.push(format!(
            "kept running between rounds{}",
            after.unwrap_or_default()
        ));
    }
    if warming.restarts > 0 {
        flags.push(match warming.restarts {
            1 => "its process was replaced once".to_owned(),
            n => format!("its process was replaced {n} times"),
        });
    }
    flags
}

/// A flag for a closed loop in which few connections were served at a time, so the latency is only theirs.
fn starving(awaiting: Awaiting) -> Option<String> {
    let served = awaiting.mean.round();
    if awaiting.possible == 1 || served >= LEAST_SERVED * awaiting.possible as f64 {
        return None;
    }
    let others = if awaiting.reconnecting {
        "the others were reconnecting, which no latency includes"
    } else {
        "the others starved, so real latencies are worse than shown"
    };
    let possible = exact(awaiting.possible as u64);
    Some(format!(
        "only about {served} of {possible} {} were served at a time: {others}",
        awaiting.of
    ))
}

fn schedule(open: &OpenFigures, median_latency_ns: Option<f64>) -> Vec<String> {
    let mut flags = Vec::new();
    if let Some(figures) = open.sent {
        if figures.rate_ratio < RATE_MADE {
            let sent = figures.rate_ratio_text();
            flags.push(format!(
                "the rate was not reached: in one round only {sent} of the due requests were sent"
            ));
        }
        let busy = figures.bound_hits as f64 / figures.due as f64;
        if busy > MOST_BUSY {
            flags.push(format!(
                "{} of requests found every connection busy",
                share(busy)
            ));
        }
    }
    if let (Some(lag), Some(latency)) = (open.lag, median_latency_ns)
        && lag.p50_ns > MOST_LAG * latency
    {
        let (lag, latency) = (number::duration(lag.p50_ns), number::duration(latency));
        flags.push(format!(
            "the generator's own delay (median {lag}) is more than a fifth of the median latency ({latency})"
        ));
    }
    flags
}

impl SentFigures {
    /// The share of due requests that were sent, never rounded up to all of them: `99.8 %`.
    pub fn rate_ratio_text(&self) -> String {
        if self.rate_ratio >= RATE_MADE {
            "100 %".to_owned()
        } else {
            format!("{:.1} %", (self.rate_ratio * 1000.0).floor() / 10.0)
        }
    }
}

fn lost_streams(held: HeldFigures) -> Option<String> {
    (held.open_at_end < held.planned).then(|| {
        let (open, all) = (exact(held.open_at_end), exact(held.planned));
        format!("{open} of {all} held streams were open at the end")
    })
}

#[cfg(test)]
mod tests {
    use prony_model::Outage;
    use prony_stats::Estimate;

    use super::*;

    #[test]
    fn an_outage_is_flagged_with_its_length() {
        let flag = |rounds| {
            let longest = Outage {
                from_s: 1.0,
                length_s: 2.5,
            };
            outages(OutageFigures { rounds, longest })
        };
        assert_eq!(
            flag(1),
            "in 1 round no response was ok for 2.5 s, from 1 s on"
        );
        assert_eq!(flag(3), "in 3 rounds no response was ok for up to 2.5 s");
    }

    #[test]
    fn a_kept_server_has_its_time_to_warm() {
        let kept_after = |seconds: Option<f64>| {
            warming(&WarmingFigures {
                time_to_warm_ns: seconds.and_then(|s| Estimate::of(&[s * 1e9])),
                kept: true,
                ..WarmingFigures::default()
            })
        };
        for (seconds, flag) in [
            (
                Some(3.5),
                "kept running between rounds (took 3.50 s to warm up)",
            ),
            (Some(0.0), "kept running between rounds (warm at once)"),
            (None, "kept running between rounds"),
        ] {
            assert_eq!(kept_after(seconds), [flag]);
        }
    }
}
