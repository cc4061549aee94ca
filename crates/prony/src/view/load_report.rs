//! The result of a load for a pull request (Markdown) and for a CI system (JUnit XML).

use prony_model::{LoadResult, Outcome};
use prony_objective::Judged;
use prony_present::junit::{Case, CaseResult, Report, Suite};
use prony_present::load;
use prony_present::markdown::{escaped, fenced};
use prony_present::number::{duration, exact, exact_rate};

use super::load_summary::time_measured;
use super::objectives::{figure, interval, overall, reason};
use super::requested;

/// A short Markdown: the objectives first, the summary folded away.
pub fn markdown(result: &LoadResult, judged: &[Judged], summary: &str) -> String {
    let title = match judged.is_empty() {
        true => exact_rate(result.rate_per_s),
        false => overall(judged),
    };
    let what = if judged.is_empty() { "" } else { " objectives" };
    let target = escaped(&requested(&result.target, &result.load));
    let mut out = format!(
        "### Prony{what}: {title}\n\n{target}: {}\n\n",
        escaped(&figures(result))
    );
    if !judged.is_empty() {
        out += "| verdict | objective | figure | interval |\n|---|---|---|---|\n";
        out.extend(judged.iter().map(row));
        out.push('\n');
    }
    if let Some(outages) = load::outages(result) {
        out += &format!("**OUTAGE:** {}\n\n", escaped(&outages));
    }
    if result.generator.client_limited {
        out += "**CLIENT-LIMITED:** the generator may have been the bottleneck, so the server may be faster than shown.\n\n";
    }
    if let Some(throttled) = result.server_stopped() {
        out += &format!(
            "**SERVER THROTTLED:** its {throttled}. The figures are those of the quota.\n\n"
        );
    }
    let summary = fenced(summary);
    out + &format!("<details><summary>Summary</summary>\n\n{summary}\n</details>\n")
}

fn row(judged: &Judged) -> String {
    let verdict = match judged.is_missed() {
        true => format!("**{}**", judged.verdict.name()),
        false => judged.verdict.name().to_owned(),
    };
    let objective = escaped(&format!("{:#}", judged.objective));
    let (figure, interval) = (escaped(&figure(judged)), interval(judged));
    let interval = escaped(&interval.unwrap_or_default());
    format!("| {verdict} | {objective} | {figure} | {interval} |\n")
}

/// `1,000 ok responses and 2 errors in 10 s, 100/s, p50 1 ms, p99 3 ms`.
fn figures(result: &LoadResult) -> String {
    let (ok, errors) = (result.outcomes[Outcome::Ok], result.outcomes.errors());
    let mut text = format!(
        "{} ok responses and {} errors in {}, {}",
        exact(ok),
        exact(errors),
        time_measured(result),
        exact_rate(result.rate_per_s)
    );
    if let Some(latency) = &result.latency_ns {
        let [p50, p99] = [latency.p50, latency.p99].map(|ns| duration(ns as f64));
        text += &format!(", p50 {p50}, p99 {p99}");
    }
    text
}

/// Why there are no figures.
fn none_ok(result: &LoadResult) -> String {
    let flows = result.flows.as_ref();
    let flows = flows.filter(|_| result.outcomes[Outcome::Ok] > 0);
    match (flows, &result.first_wrong) {
        (Some(flows), _) => format!("no flow was ok: {}", flows.why_none_ok()),
        (None, Some(wrong)) => format!("no response was ok: {}", wrong.detail),
        (None, None) => "no response was ok".into(),
    }
}

/// A test case for each objective, and one for whether any response or flow was ok.
pub fn junit(result: &LoadResult, judged: &[Judged], is_measured: bool) -> String {
    let class = requested(&result.target, &result.load);
    let failed = |message: String| CaseResult::Failed {
        details: message.clone(),
        message,
    };
    let load = Case {
        class: class.clone(),
        name: "load".into(),
        seconds: Some(result.duration_s),
        result: match is_measured {
            true => CaseResult::Passed,
            false => failed(none_ok(result)),
        },
        output: match load::outages(result) {
            Some(outages) => format!("{}; {outages}", figures(result)),
            None => figures(result),
        },
    };
    let objectives = judged.iter().map(|one| Case {
        class: class.clone(),
        name: format!("{:#}", one.objective),
        seconds: None,
        result: match one.is_missed() {
            true => failed(format!("{}: {}", one.verdict.name(), reason(one))),
            false => CaseResult::Passed,
        },
        output: format!("{}: {}", one.verdict.name(), reason(one)),
    });
    let suite = Suite {
        name: "prony load".into(),
        cases: std::iter::once(load).chain(objectives).collect(),
    };
    Report {
        suites: vec![suite],
    }
    .xml()
}
