//! The objectives of a load and their verdicts, in words.

use prony_model::objective::{Evidence, Judged, Objective, Verdict};
use prony_model::percentage;
use prony_present::number::{self, duration, exact_rate, seconds};
use prony_stats::cases_to_show;

pub(crate) fn lines(judged: &[Judged]) -> Vec<String> {
    if judged.is_empty() {
        return Vec::new();
    }
    let heading = format!("Objectives:   {}", overall(judged));
    let lines = judged.iter().map(|one| {
        let verdict = one.verdict.name();
        format!("  {verdict:<9}  {:#}: {}", one.objective, reason(one))
    });
    std::iter::once(heading).chain(lines).collect()
}

/// `all 3 met`, `1 of 3 missed`, or `none missed, 2 of 3 not clear`.
pub(crate) fn overall(judged: &[Judged]) -> String {
    let count = judged.len();
    let number = |is: fn(&Judged) -> bool| judged.iter().filter(|one| is(one)).count();
    let missed = number(Judged::is_missed);
    let unclear = number(|one| one.verdict == Verdict::NotClear && one.holds);
    match (missed, unclear) {
        (0, 0) => format!("all {count} met"),
        (0, _) => format!("none missed, {unclear} of {count} not clear"),
        _ => format!("{missed} of {count} missed"),
    }
}

/// The figure, its interval, and what it means for the verdict.
pub(crate) fn reason(judged: &Judged) -> String {
    let mut text = figure(judged);
    if let Some(interval) = interval(judged) {
        text += &format!(" ({interval})");
    }
    if let Some(outage) = judged.outage {
        let length = seconds(outage.length_s);
        text += &format!("; no response was ok for {length}, in which it did not hold");
    }
    if judged.verdict == Verdict::NotClear {
        let needed = judged.evidence.as_ref().and_then(|it| needed(judged, it));
        let needed = needed.as_deref();
        text += match (&judged.evidence, judged.holds) {
            (None, true) => "; too little was measured for an interval",
            (None, false) => {
                "; too little was measured for an interval, and its figure counts as missed"
            }
            (Some(_), true) => needed.unwrap_or("; a longer load narrows the interval"),
            (Some(_), false) => "; the figure of the whole load counts as missed",
        };
    }
    let because = judged.missed_because.as_ref();
    if let Some(because) = because.filter(|_| depends_on_the_generator(&judged.objective)) {
        text += &format!("; the generator may be the cause, and the server faster: {because}");
    }
    text
}

/// How many requests it takes to show a share below the limit, if none of them was on the wrong side.
fn needed(judged: &Judged, evidence: &Evidence) -> Option<String> {
    let limit = share(evidence.limit);
    let needed = cases_to_show(evidence.limit).filter(|_| evidence.estimate == 0.0)?;
    let needed = number::exact(needed);
    match judged.objective {
        Objective::Errors { .. } => Some(format!(
            "; too few requests: it takes {needed} without an error to show that less than {limit} fail"
        )),
        Objective::Latency { .. } => Some(format!(
            "; too few responses: it takes {needed}, none of {}, to show that less than {limit} take that long",
            too_long(&judged.objective)
        )),
        Objective::Rate { .. } => None,
    }
}

fn depends_on_the_generator(objective: &Objective) -> bool {
    !matches!(objective, Objective::Errors { .. })
}

/// The figure of the whole load: `42.1 ms`.
pub(crate) fn figure(judged: &Judged) -> String {
    match (judged.figure, &judged.objective) {
        (None, Objective::Latency { .. }) => "no response was ok".into(),
        (None, _) => number::NONE.into(),
        (Some(figure), objective) => shown(objective, figure),
    }
}

/// `95 % interval 41–43 ms`; for a percentile that of the share of slower responses.
pub(crate) fn interval(judged: &Judged) -> Option<String> {
    let Evidence {
        estimate,
        low,
        high,
        limit,
        ..
    } = judged.evidence?;
    let objective = &judged.objective;
    Some(match objective.percentile() {
        None => format!(
            "95 % interval {}",
            between(low, high, |it| shown(objective, it))
        ),
        Some(_) => format!(
            "{} took {}, 95 % interval {}, allowed {}",
            share(estimate),
            too_long(objective),
            between(low, high, share),
            share(limit)
        ),
    })
}

/// `50ms or longer`.
fn too_long(objective: &Objective) -> String {
    let limit = objective.limit_text();
    match objective {
        Objective::Latency { limit: of, .. } if of.inclusive => format!("longer than {limit}"),
        _ => format!("{limit} or longer"),
    }
}

fn between(low: f64, high: f64, shown: impl Fn(f64) -> String) -> String {
    format!("{} to {}", shown(low), shown(high))
}

fn shown(objective: &Objective, figure: f64) -> String {
    match objective {
        Objective::Latency { .. } => duration(figure),
        Objective::Errors { .. } => share(figure),
        Objective::Rate { .. } => exact_rate(figure),
    }
}

/// Three significant digits: 0.0999 % must not look like 0.1 %.
fn share(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 {
        return "0 %".into();
    }
    let digits = 2 - percent.abs().log10().floor() as i32;
    let scale = 10_f64.powi(digits.clamp(0, 9));
    percentage((percent * scale).round() / scale / 100.0)
}

#[cfg(test)]
mod tests {
    use prony_model::Outage;
    use prony_model::objective::Objectives;

    use super::*;

    fn judged(text: &str, figure: f64, verdict: Verdict, low: f64, high: f64) -> Judged {
        let objective = text.parse::<Objectives>().unwrap().all()[0];
        Judged {
            objective,
            limit: objective.limit(),
            figure: Some(figure),
            outage: None,
            holds: objective.is_met_by(figure),
            verdict,
            evidence: Some(Evidence {
                estimate: (low + high) / 2.0,
                low,
                high,
                limit: objective
                    .percentile()
                    .map_or(objective.limit(), |percentile| percentile.share_beyond()),
                batches: 20,
            }),
            client_limited: false,
            missed_because: None,
        }
    }

    #[test]
    fn each_objective_has_a_line_with_figure_limit_and_verdict() {
        let limited = Judged {
            client_limited: true,
            missed_because: Some("connections waited 3 times for a free local port".into()),
            ..judged("mean<1ms", 2e6, Verdict::Missed, 1.9e6, 2.1e6)
        };
        let short = Judged {
            evidence: None,
            ..judged("rate>5k/s", 5100.0, Verdict::NotClear, 0.0, 0.0)
        };
        let outage = Outage {
            from_s: 3.0,
            length_s: 9.0,
        };
        let dead = Judged {
            outage: Some(outage),
            holds: false,
            ..judged("errors<1%", 0.002_83, Verdict::Missed, 0.001, 0.004)
        };
        let all = [
            judged("p99<50ms", 42e6, Verdict::Met, 0.003, 0.005),
            judged("errors<=0.1%", 0.001_049, Verdict::NotClear, 0.0, 0.002),
            limited,
            short,
            dead,
        ];
        let expected = "\
Objectives:   3 of 5 missed
  met        p99 < 50ms: 42.0 ms (0.4 % took 50ms or longer, 95 % interval 0.3 % to 0.5 %, allowed 1 %)
  not clear  errors <= 0.1%: 0.105 % (95 % interval 0 % to 0.2 %); the figure of the whole load counts as missed
  missed     mean < 1ms: 2.00 ms (95 % interval 1.90 ms to 2.10 ms); the generator may be the cause, and the server \
         faster: connections waited 3 times for a free local port
  not clear  rate > 5k/s: 5,100/s; too little was measured for an interval
  missed     errors < 1%: 0.283 % (95 % interval 0.1 % to 0.4 %); no response was ok for 9 s, in which it did not hold";
        assert_eq!(lines(&all).join("\n"), expected.replace("          ", " "));
        assert!(lines(&[]).is_empty());
    }

    #[test]
    fn without_any_error_it_says_how_many_requests_it_takes() {
        for (text, figure, expected) in [
            (
                "errors<0.1%",
                0.0,
                "0 % (95 % interval 0 % to 0.151 %); too few requests: it takes 3,838 without an error to show that less than \
                 0.1 % fail",
            ),
            (
                "p99.9<50ms",
                42e6,
                "42.0 ms (0 % took 50ms or longer, 95 % interval 0 % to 0.151 %, allowed 0.1 %); too few responses: it takes \
                 3,838, none of 50ms or longer, to show that less than 0.1 % take that long",
            ),
        ] {
            let mut unclear = judged(text, figure, Verdict::NotClear, 0.0, 0.001_514);
            unclear.evidence.as_mut().unwrap().estimate = 0.0;
            assert_eq!(reason(&unclear), expected);
        }
    }

    #[test]
    fn the_overall_verdict_counts() {
        let met = || judged("p99<50ms", 42e6, Verdict::Met, 0.003, 0.005);
        let unclear = judged("p99<50ms", 42e6, Verdict::NotClear, 0.003, 0.02);
        assert_eq!(overall(&[met(), met()]), "all 2 met");
        assert_eq!(overall(&[met(), unclear]), "none missed, 1 of 2 not clear");
    }
}
