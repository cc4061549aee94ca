//! Notes on a run and on its tables, in sentences.

use std::collections::BTreeSet;

use prony_model::{EnoughRounds, percentage};
use prony_present::load::ack_wait;
use prony_present::number::{self, count, duration, exact, ratio, share};
use prony_present::words::{Joined, counted, plural};

use crate::conditions::time;
use crate::flags::wrong_of;
use crate::quiet::Quiet;
use crate::summary::RunSummary;
use crate::table::{RateOrder, ResultTable, RoundsReached, ServerRow};

/// Notes on a table's rows, a sentence each.
pub(crate) fn asides(table: &ResultTable) -> Vec<String> {
    let mut sentences: Vec<String> = too_few_rounds(table).into_iter().collect();
    let enough = table.enough.as_ref().map(rounds_reached);
    sentences.extend(enough.map(|reached| format!("Rounds: {reached}.")));
    for of in [
        outside,
        resent,
        port_waits,
        ack_waits,
        throttled,
        held,
        first_wrong,
    ] {
        sentences.extend(table.rows.iter().filter_map(of));
    }
    sentences
}

/// A note if a table has too few rounds to be ranked, and how many would suffice; `None` if its rounds tell apart at least half
/// of the pairs that nothing else keeps open.
pub(crate) fn too_few_rounds(table: &ResultTable) -> Option<String> {
    let rate_order = table.rate_order()?;
    let order = &rate_order.order;
    let (pairs, ordered) = (order.pairs(), order.separated());
    let wanted = pairs.div_ceil(2);
    if ordered >= wanted {
        return None;
    }
    let rounds = plural(table.rounds, "round");
    let Some(least) = order.least_ratio() else {
        return Some(format!(
            "Too few rounds to rank: {rounds} cannot tell a difference from noise. At least two are needed, and with six or more \
             the intervals are distribution-free (`--rounds 6`)."
        ));
    };
    let advice = match order.rounds_for(wanted) {
        Some(enough) => format!("{enough} rounds would separate half of them (`--rounds {enough}`)."),
        None => "100 rounds would not separate half of them: their differences are smaller than the noise.".to_owned(),
    };
    Some(format!(
        "Too few rounds to rank: at this noise {rounds} order only servers that differ by {} or more; they separate {ordered} of {}. \
         {advice}",
        factor(least),
        exact_pairs(rate_order),
    ))
}

/// The pairs that rounds can order: `3 pairs of servers`, lower bounds aside.
pub(crate) fn exact_pairs(of: &RateOrder) -> String {
    let (pairs, servers) = (of.order.pairs(), of.servers.len());
    let aside = if pairs == servers * servers.saturating_sub(1) / 2 {
        ""
    } else {
        " without a lower bound"
    };
    format!("{} of servers{aside}", plural(pairs, "pair"))
}

/// `12 %`, and from a factor of two up `2.40 times`.
fn factor(least: f64) -> String {
    if least < 2.0 {
        share(least - 1.0)
    } else {
        format!("{} times", ratio(least))
    }
}

/// Why a table has no more rounds: `every comparison is within ±3 % after 12 rounds`.
fn rounds_reached(enough: &RoundsReached) -> String {
    let rounds = plural(enough.rounds as usize, "round");
    let precision = format!("±{}", percentage(enough.precision));
    let widest = match enough.widest {
        Some(widest) => format!("the widest interval is ±{}", share(widest)),
        None => "there was nothing to compare".to_owned(),
    };
    match enough.reason {
        EnoughRounds::Precise if enough.widest.is_none() => {
            format!("there was nothing to compare after {rounds}")
        }
        EnoughRounds::Precise => format!("every comparison is within {precision} after {rounds}"),
        EnoughRounds::Budget => {
            let budget = time(enough.budget_s);
            format!(
                "the budget of {budget} was used up after {rounds}, short of {precision}: {widest}"
            )
        }
        EnoughRounds::MostRounds => {
            format!("the maximum of {rounds} was reached, short of {precision}: {widest}")
        }
        EnoughRounds::Interrupted => {
            format!("stopped after {rounds}, short of {precision}: {widest}")
        }
    }
}

/// Why the rows of an open loop have no rank.
pub(crate) fn unranked(table: &ResultTable) -> Option<String> {
    let lags = table.rows.iter().filter_map(|row| row.figures.open?.lag);
    let of = if lags.into_iter().any(|lag| lag.of_worst_round) {
        "of the worst round, because a round has no histogram of it"
    } else {
        "of all rounds"
    };
    let by_cpu = if table.rows.iter().any(|row| row.cpu_band.is_some()) {
        "; req/CPU s has ranks of its own"
    } else {
        ""
    };
    table.is_open().then(|| {
        format!(
            "No server is ranked by rate, because the load sets it. Rows are in order of median latency, from the scheduled \
             arrival{by_cpu}. Queued requests are those of all rounds; the schedule lag is the generator's own delay, {of}."
        )
    })
}

fn first_wrong(row: &ServerRow) -> Option<String> {
    let wrong = row.figures.first_wrong.as_ref()?;
    Some(format!(
        "First wrong response of {}: {wrong}",
        row.server.id
    ))
}

/// How the row of a server that Prony did not start differs from the others.
fn outside(row: &ServerRow) -> Option<String> {
    let outside = row.server.outside.as_ref()?;
    let costs = match &outside.unmeasured {
        None => "Its CPU time and memory are those of the processes that listen on its port and of their descendants; the peak of \
                 its memory may be older than the load."
            .to_owned(),
        Some(why) => format!("Its CPU time and memory are unknown: {why}."),
    };
    Some(format!(
        "{} already ran at {}: Prony did not build, start or pin it, and does not know its version or its age. All rounds measured \
         the same process, so its intervals do not include how starts differ. {costs}",
        row.server.id, outside.url,
    ))
}

fn resent(row: &ServerRow) -> Option<String> {
    let count = row.figures.resent;
    (count > 0).then(|| {
        format!(
            "{}: {} sent again over a new connection, because the server had closed the old one after a complete response. An \
             orderly close is not an error, and each of these requests counts once.",
            row.server.id,
            counted(count, "request was", "requests were"),
        )
    })
}

fn port_waits(row: &ServerRow) -> Option<String> {
    let waits = row.figures.port_waits;
    let often = if waits == 1 {
        "once".to_owned()
    } else {
        format!("{} times", exact(waits))
    };
    (waits > 0).then(|| {
        format!(
            "{}: {often} a new connection had to wait for a free local port, so its figures also reflect the machine's ports.",
            row.server.id,
        )
    })
}

fn ack_waits(row: &ServerRow) -> Option<String> {
    let share = row.figures.ack_waits?;
    Some(format!("{}: {}.", row.server.id, ack_wait(share)))
}

fn throttled(row: &ServerRow) -> Option<String> {
    let throttled = row.figures.throttled?;
    Some(format!(
        "{}: its {throttled} (worst round), so its figures are those of the quota.",
        row.server.id,
    ))
}

/// What the streams delivered that were held beside the load.
fn held(row: &ServerRow) -> Option<String> {
    let held = row.figures.held?;
    let streams = counted(held.planned, "stream", "streams");
    let events = match held.events.per_s.median {
        1.0 => "1 event".to_owned(),
        rate => format!("{} events", count(rate)),
    };
    let gap = held.events.gap.map_or(String::new(), |gap| {
        let (p50, p99) = (duration(gap.p50_ns), duration(gap.p99_ns));
        format!(", {p50} apart in the median and {p99} at p99 (worst round)")
    });
    Some(format!(
        "{}: the {streams} held beside the load delivered {events} per second{gap}.",
        row.server.id
    ))
}

/// Which servers sent wrong responses under load, and how many; `None` if none did.
pub fn wrong(summary: &RunSummary) -> Option<String> {
    let servers = summary.wrong_servers();
    let counts = |row: &&ServerRow| !row.is_reference() || row.figures.wrong.is_some();
    let rows = summary.rows().filter(counts);
    let all: BTreeSet<&str> = rows.map(|row| row.server.id.as_str()).collect();
    let listed = servers.iter().map(|id| wrong_of_server(summary, id));
    let listed = listed.joined(", ");
    let are = if servers.len() == 1 { "is" } else { "are" };
    // Every response to a Hurl file is checked.
    let is_sampled = |table: &ResultTable| {
        !table.load.flows && table.rows.iter().any(|row| row.figures.wrong.is_some())
    };
    let more = if summary.tables.iter().any(is_sampled) {
        " Prony compares samples of the bodies, so more may be wrong."
    } else {
        ""
    };
    (!servers.is_empty()).then(|| {
        format!(
            "{} of {} servers sent wrong responses under load and {are} not ranked in those tables: {listed}.{more}",
            servers.len(),
            all.len(),
        )
    })
}

/// `bun (hello: 122 of 18,204 responses; page: …)`.
fn wrong_of_server(summary: &RunSummary, id: &str) -> String {
    let in_table = |table: &ResultTable| {
        let wrong = table.row(id)?.figures.wrong?;
        Some(format!("{}: {}", table.name(), wrong_of(wrong)))
    };
    let tables = summary.tables.iter().filter_map(in_table).joined("; ");
    format!("{id} ({tables})")
}

/// A warning about a noisy machine, to read before the figures of a run.
pub(crate) fn noisy(quiet: &Quiet) -> Option<String> {
    quiet.disturbance.is_noisy().then(|| {
        let lost = share(quiet.disturbance.mean_loss);
        let trials = match quiet.noisy {
            0 => "No single trial lost enough to be re-run.".to_owned(),
            _ => noisy_trials(quiet),
        };
        format!(
            "This machine was noisy: on average other programs and the hypervisor took {lost} of the CPU time of server or \
             generator. {trials}"
        )
    })
}

/// How noisy the trials were, a sentence each; empty if there was no trial.
pub(crate) fn quiet(quiet: &Quiet) -> Vec<String> {
    if quiet.disturbance.trials == 0 {
        return Vec::new();
    }
    let noisy = match quiet.noisy {
        0 => format!(
            "None of {} was noisy enough to be re-run.",
            plural(quiet.disturbance.trials, "trial")
        ),
        _ => noisy_trials(quiet),
    };
    let loss = format!(
        "On average other programs and the hypervisor took {} of the CPU time of the server or the generator, whichever lost \
         more.",
        share(quiet.disturbance.mean_loss)
    );
    let about = [noisy].into_iter().chain(basis(quiet));
    about.chain([loss, frequency(quiet)]).collect()
}

/// What [`noisy`] does not say of the trials, a sentence each.
pub(crate) fn beside_noisy(quiet: &Quiet) -> Vec<String> {
    basis(quiet).into_iter().chain([frequency(quiet)]).collect()
}

fn basis(quiet: &Quiet) -> Option<String> {
    let basis = "Figures rest on trials that were not noisy; if every attempt at a round was, they rest on the one that lost the \
                 least CPU time, and the row says so.";
    (quiet.noisy > 0).then(|| basis.to_owned())
}

fn frequency(quiet: &Quiet) -> String {
    match quiet.frequency_mhz {
        Some((low, high)) => {
            let range = number::interval(low, high, |mhz| format!("{mhz:.0} MHz"));
            format!("The CPUs ran at {range}.")
        }
        None => "The frequency of the CPUs is not visible here.".to_owned(),
    }
}

/// `21 of 146 trials, re-runs counted, were noisy (20 were re-run): 12 lost CPU to the hypervisor, 8 to other programs, 3 were
/// still warming up (2 had more than one cause).`
fn noisy_trials(quiet: &Quiet) -> String {
    let mut causes = Vec::new();
    if quiet.by_steal > 0 {
        causes.push(format!("{} lost CPU to the hypervisor", quiet.by_steal));
    }
    if quiet.by_other_programs > 0 {
        let lost = if quiet.by_steal > 0 { "" } else { "lost CPU " };
        causes.push(format!(
            "{} {lost}to other programs",
            quiet.by_other_programs
        ));
    }
    if quiet.by_warm_up > 0 {
        causes.push(counted(
            quiet.by_warm_up as u64,
            "was still warming up",
            "were still warming up",
        ));
    }
    let several = match quiet.by_several {
        0 => String::new(),
        n => format!(" ({n} had more than one cause)"),
    };
    let re_run = match (quiet.again, quiet.noisy) {
        (0, _) => "none was re-run".to_owned(),
        (again, noisy) if again == noisy && noisy > 1 => "all were re-run".to_owned(),
        (again, _) => counted(again as u64, "was re-run", "were re-run"),
    };
    let attempts = match quiet.again {
        0 => "",
        _ => ", re-runs counted,",
    };
    let were = if quiet.noisy == 1 { "was" } else { "were" };
    format!(
        "{} of {}{attempts} {were} noisy ({re_run}): {}{several}.",
        quiet.noisy,
        plural(quiet.disturbance.trials, "trial"),
        causes.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_factors_are_percentages() {
        assert_eq!([1.12, 2.4].map(factor), ["12 %", "2.40 times"]);
    }

    /// What 27 trials show that lost 3 % of their CPU time on average.
    fn lost_a_little() -> Quiet {
        let mut all = Quiet::default();
        (all.disturbance.trials, all.disturbance.mean_loss) = (27, 0.03);
        all
    }

    #[test]
    fn overlapping_causes_are_counted() {
        let mut all = Quiet {
            noisy: 21,
            again: 21,
            by_steal: 12,
            by_other_programs: 8,
            by_warm_up: 3,
            by_several: 2,
            ..Quiet::default()
        };
        all.disturbance.trials = 146;
        assert_eq!(
            noisy_trials(&all),
            "21 of 146 trials, re-runs counted, were noisy (all were re-run): 12 lost CPU to the hypervisor, 8 to other programs, \
             3 were still warming up (2 had more than one cause)."
        );
    }

    #[test]
    fn a_small_loss_in_every_trial_is_told_without_a_contradiction() {
        let all = lost_a_little();
        assert_eq!(
            noisy(&all).unwrap(),
            "This machine was noisy: on average other programs and the hypervisor took 3.0 % of the CPU time of server or \
             generator. No single trial lost enough to be re-run."
        );
        let trials = "None of 27 trials was noisy enough to be re-run.";
        assert_eq!(quiet(&all)[0], trials);
    }

    #[test]
    fn a_noisy_machine_does_not_hide_trials_that_only_warmed_up() {
        let mut all = lost_a_little();
        (all.noisy, all.by_warm_up, all.again) = (2, 2, 2);
        let trials = "2 of 27 trials, re-runs counted, were noisy (all were re-run): 2 were still warming up.";
        assert!(noisy(&all).unwrap().ends_with(trials));
        assert!(beside_noisy(&all)[0].starts_with("Figures rest on trials"));
    }

    #[test]
    fn every_reason_for_the_last_round_is_a_sentence() {
        for (reason, widest, sentence) in [
            (
                EnoughRounds::Precise,
                Some(0.021),
                "every comparison is within ±3 % after 9 rounds",
            ),
            (
                EnoughRounds::Budget,
                Some(0.051),
                "the budget of 10 min was used up after 9 rounds, short of ±3 %: the widest interval is ±5.1 %",
            ),
            (
                EnoughRounds::Interrupted,
                None,
                "stopped after 9 rounds, short of ±3 %: there was nothing to compare",
            ),
        ] {
            let reached = RoundsReached {
                precision: 0.03,
                budget_s: 600.0,
                rounds: 9,
                reason,
                widest,
            };
            assert_eq!(rounds_reached(&reached), sentence);
        }
    }
}
