//! All of it as JSON, for other programs (`schema/explanation.schema.json`).

use std::collections::BTreeMap;

use prony_model::Explanation;
use prony_stats::Estimate;
use serde_json::{Value, json};

use crate::cost_row::CostRow;
use crate::costs::ServerCosts;
use crate::difference::{CostChange, Difference};
use crate::findings::findings;
use crate::functions::Function;
use crate::header::Header;
use crate::summary::{ExplanationSummary, WorkloadCosts};

/// The `schema` field of the JSON.
pub const EXPLANATION_SCHEMA: &str = "prony-explanation/1";

/// What was measured, round by round, with its medians, intervals and sentences, and the differences that were computed.
pub fn json(
    header: &Header,
    explanations: &[Explanation],
    differences: &[Difference<'_>],
) -> Value {
    let summary = ExplanationSummary::of(explanations);
    let mut document = json!({
        "schema": EXPLANATION_SCHEMA,
        "run": {
            "id": header.run,
            "started_at": header.started_at,
            "prony_version": header.prony_version,
            "command": header.command,
            "machine": header.machine,
        },
        "workloads": summary.workloads.iter().map(|one| workload(one, &summary)).collect::<Vec<_>>(),
        "explanations": explanations,
    });
    if !differences.is_empty() {
        document["differences"] = differences.iter().map(difference).collect();
    }
    document
}

fn workload(of: &WorkloadCosts<'_>, summary: &ExplanationSummary<'_>) -> Value {
    json!({
        "workload": of.workload,
        "load": of.load,
        "unit": of.unit,
        "servers": of.servers.iter().map(server).collect::<Vec<_>>(),
        "findings": findings(of),
        "unavailable": unavailable(of, summary),
    })
}

fn unavailable(of: &WorkloadCosts<'_>, summary: &ExplanationSummary<'_>) -> Vec<Value> {
    let concerned = |reason| {
        let servers = of
            .servers
            .iter()
            .filter(move |server| server.of.unavailable.contains(reason));
        servers.map(ServerCosts::server).collect::<Vec<_>>()
    };
    let reasons = summary
        .absent
        .iter()
        .map(|absent| (&absent.reason, concerned(&absent.reason)));
    let reasons = reasons.filter(|(_, servers)| !servers.is_empty());
    reasons
        .map(|(reason, servers)| {
            json!({
                "what": reason.what,
                "why": reason.why,
                "remedy": reason.remedy,
                "servers": servers,
            })
        })
        .collect()
}

fn server(of: &ServerCosts<'_>) -> Value {
    let figures: BTreeMap<&str, Value> = of
        .figures
        .iter()
        .map(|(figure, one)| (figure.name(), estimate(one)))
        .collect();
    let calls: BTreeMap<&str, Value> = of
        .system_calls
        .iter()
        .map(|(name, one)| (*name, estimate(one)))
        .collect();
    json!({
        "server": of.server(),
        "rounds": of.of.rounds.len(),
        "figures": figures,
        "system_calls": calls,
        "tracing_cost": of.tracing_cost.as_ref().map(estimate),
        "functions": of.functions.iter().map(function).collect::<Vec<_>>(),
    })
}

/// A single round has no interval.
fn estimate(of: &Estimate) -> Value {
    let end = |end: f64| (of.n > 1).then_some(end);
    json!({ "median": of.median, "low": end(of.low), "high": end(of.high), "rounds": of.n })
}

fn function(of: &Function<'_>) -> Value {
    json!({
        "name": of.frame.name,
        "module": of.frame.module,
        "kind": of.frame.kind,
        "self_share": of.self_share,
        "cpu_s": of.cpu_s,
    })
}

fn difference(of: &Difference<'_>) -> Value {
    json!({
        "workload": of.before.workload,
        "before": of.before.server,
        "after": of.after.server,
        "costs": of.costs.iter().filter_map(cost).collect::<Vec<_>>(),
        "functions": of.functions,
    })
}

/// A figure or system call. That of all other system calls together is only for tables.
fn cost(of: &CostChange<'_>) -> Option<Value> {
    let (kind, name) = match &of.row {
        CostRow::Figure(figure) => ("figure", figure.name()),
        CostRow::Call(name) => ("system-call", *name),
        CostRow::OtherCalls { .. } => return None,
    };
    // The figures are in the unit of their row.
    let in_units = |one: &Estimate| {
        let scale = of.row.scale();
        estimate(&Estimate {
            median: one.median / scale,
            low: one.low / scale,
            high: one.high / scale,
            ..*one
        })
    };
    Some(json!({
        "kind": kind,
        "name": name,
        "before": of.before.as_ref().map(in_units),
        "after": of.after.as_ref().map(in_units),
        "change": of.change,
        "certain": of.is_clear(),
    }))
}

#[cfg(test)]
mod tests;
