//! The result of a load for a pull request (Markdown) and for a CI system (JUnit XML).

use std::iter;

use prony_model::objective::Judged;
use prony_model::{LoadResult, Outcome};
use prony_present::junit::{Case, CaseResult, xml};
use prony_present::load;
use prony_present::number::{duration, exact, exact_rate};
use prony_present::page::{Block, Page};
use prony_present::table::{Cell, Colour, Column, Row, Table, Weight};

use super::load_summary::{client_limited, server_throttled, time_measured};
use super::objectives::{figure, interval, overall, reason};
use super::requested;

/// A short Markdown: the objectives first, the summary folded away.
pub(crate) fn markdown(result: &LoadResult, judged: &[Judged], summary: &str) -> String {
    let target = requested(&result.target, &result.load);
    let mut intro = vec![Block::Text(format!("{target}: {}", figures(result)))];
    if !judged.is_empty() {
        let rows = judged.iter().map(|one| (one, Row::default()));
        intro.push(Block::Table(Table::of(&OBJECTIVES, rows)));
    }
    let warnings = [
        load::outages(result).map(|outages| format!("OUTAGE: {outages}")),
        client_limited(result),
        server_throttled(result),
    ];
    let warnings = warnings.into_iter().flatten();
    intro.extend(warnings.map(|text| Block::Callout(Weight::Warning, text)));
    let summary = Block::Code(summary.to_owned());
    intro.push(Block::Fold("Summary".into(), vec![summary]));
    let page = Page {
        title: if judged.is_empty() {
            format!("Prony: {}", exact_rate(result.rate_per_s))
        } else {
            format!("Prony objectives: {}", overall(judged))
        },
        intro,
        ..Page::default()
    };
    page.comment()
}

const OBJECTIVES: [Column<Judged>; 4] = [
    Column::words("verdict", |one| {
        Cell::text(one.verdict.name()).colour(one.is_missed().then_some(Colour::Bad))
    }),
    Column::words("objective", |one| {
        Cell::text(format!("{:#}", one.objective))
    }),
    Column::words("figure", |one| Cell::text(figure(one))),
    Column::words("interval", |one| {
        Cell::text(interval(one).unwrap_or_default())
    }),
];

/// `1,000 ok responses and 2 errors in 10 s, 100/s, p50 1 ms, p99 3 ms`.
fn figures(result: &LoadResult) -> String {
    let (ok, errors) = (result.outcomes[Outcome::Ok], result.outcomes.errors());
    let [ok, errors] = [ok, errors].map(exact);
    let (time, rate) = (time_measured(result), exact_rate(result.rate_per_s));
    let mut text = format!("{ok} ok responses and {errors} errors in {time}, {rate}");
    if let Some(latency) = &result.latency_ns {
        let [p50, p99] = [latency.p50, latency.p99].map(|ns| duration(ns as f64));
        text += &format!(", p50 {p50}, p99 {p99}");
    }
    text
}

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
pub(crate) fn junit(result: &LoadResult, judged: &[Judged], is_measured: bool) -> String {
    let class = requested(&result.target, &result.load);
    let failed = |message: String| CaseResult::failed(message.clone(), message);
    let figures = figures(result);
    let whole = if is_measured {
        CaseResult::Passed
    } else {
        failed(none_ok(result))
    };
    let load = Case {
        seconds: Some(result.duration_s),
        output: match load::outages(result) {
            Some(outages) => format!("{figures}; {outages}"),
            None => figures,
        },
        ..Case::of(&class, "load", whole)
    };
    let objectives = judged.iter().map(|one| {
        let output = format!("{}: {}", one.verdict.name(), reason(one));
        let result = if one.is_missed() {
            failed(output.clone())
        } else {
            CaseResult::Passed
        };
        let case = Case::of(&class, format!("{:#}", one.objective), result);
        Case { output, ..case }
    });
    let cases: Vec<Case> = iter::once(load).chain(objectives).collect();
    xml("prony load", &cases)
}
