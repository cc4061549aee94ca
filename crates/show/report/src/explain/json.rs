//! All of it as JSON, for other programs (`schema/explanation.schema.json`).

use std::collections::BTreeMap;

use prony_model::{CostFigure, CostUnit, Explanation, LoadSpec, Unavailable};
use prony_stats::Estimate;
use serde::Serialize;
use serde_json::{Value, json};

use crate::explain::cost_row::CostRow;
use crate::explain::costs::ServerCosts;
use crate::explain::difference::{CostChange, Difference, FunctionChange, MeasuredChange};
use crate::explain::findings::findings;
use crate::explain::functions::Function;
use crate::explain::header::Header;
use crate::explain::summary::{ExplanationSummary, WorkloadCosts};

/// The `schema` field of the JSON.
pub const EXPLANATION_SCHEMA: &str = "prony-explanation/1";

/// What `prony explain --json` writes.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplanationDocument<'a> {
    #[cfg_attr(feature = "schema", schemars(extend("const" = EXPLANATION_SCHEMA)))]
    schema: &'static str,
    /// What was run, and where.
    run: &'a Header,
    /// The results by workload and load: medians over rounds, and what stands out.
    workloads: Vec<WorkloadDocument<'a>>,
    /// What was measured, round by round, with the profiles.
    explanations: &'a [Explanation],
    /// What differs between two servers; absent if no difference was computed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differences: Vec<DifferenceDocument<'a>>,
}

/// The servers that were measured with one workload under one load.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct WorkloadDocument<'a> {
    /// The workload's id.
    workload: &'a str,
    /// The load.
    load: &'a LoadSpec,
    /// What figures are divided by.
    unit: CostUnit,
    /// The servers, in the order in which they were requested.
    servers: Vec<ServerDocument<'a>>,
    /// What stands out, in sentences; each difference is one that the intervals support.
    findings: Vec<String>,
    /// What could not be measured.
    unavailable: Vec<UnavailableDocument<'a>>,
}

/// What could not be measured on some servers.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct UnavailableDocument<'a> {
    /// What.
    what: &'a str,
    /// Why not.
    why: &'a str,
    /// The command that changes this; `None` if there is none.
    remedy: Option<&'a str>,
    /// The servers that it concerns.
    servers: Vec<&'a str>,
}

/// The figures of one server.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ServerDocument<'a> {
    /// The server's id.
    server: &'a str,
    /// How many rounds were measured.
    rounds: usize,
    /// For each request (or event), except for threads. A figure that could not be measured is absent.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "prony_model::NamedFields<CostFigure, Rounds>")
    )]
    figures: BTreeMap<CostFigure, Rounds>,
    /// System calls for each request (or event), by name.
    system_calls: BTreeMap<&'a str, Rounds>,
    /// How much more CPU time a request took while system calls were counted, as a share; `None` if unknown.
    tracing_cost: Option<Rounds>,
    /// The functions that used most CPU time, the heaviest first.
    functions: &'a [Function<'a>],
}

/// The median over rounds and its 95 % interval.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Rounds {
    /// The median.
    median: f64,
    /// The lower end of the interval; `None` for a single round.
    low: Option<f64>,
    /// The upper end of the interval; `None` for a single round.
    high: Option<f64>,
    /// How many rounds have the figure.
    rounds: usize,
}

/// What differs between two servers with the same workload.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct DifferenceDocument<'a> {
    /// The workload's id.
    workload: &'a str,
    /// The server that the other is compared with.
    before: &'a str,
    /// The other server.
    after: &'a str,
    /// The figures and the frequent system calls.
    costs: Vec<CostDocument<'a>>,
    /// The functions whose own CPU time changed by more than the noise of their samples, those that grew most first.
    functions: &'a [FunctionChange],
}

/// A figure or system call.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct CostDocument<'a> {
    kind: CostKind,
    /// The figure, as in a server's figures, or the system call.
    name: &'a str,
    /// Before; `None` if it could not be measured.
    before: Option<Rounds>,
    /// After; `None` if it could not be measured.
    after: Option<Rounds>,
    /// How it changed; `None` without two rounds of each, or if a round is not above 0.
    change: Option<MeasuredChange>,
    /// Whether it certainly changed: the corrected p-value is below 0.05.
    certain: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
enum CostKind {
    Figure,
    SystemCall,
}

/// What was measured, round by round, with its medians, intervals and sentences, and the differences that were computed.
pub fn json(
    header: &Header,
    explanations: &[Explanation],
    differences: &[Difference<'_>],
) -> Value {
    let summary = ExplanationSummary::of(explanations);
    let workloads = summary.workloads.iter();
    json!(ExplanationDocument {
        schema: EXPLANATION_SCHEMA,
        run: header,
        workloads: workloads.map(|one| workload(one, &summary)).collect(),
        explanations,
        differences: differences.iter().map(difference).collect(),
    })
}

fn workload<'a>(
    of: &'a WorkloadCosts<'a>,
    summary: &'a ExplanationSummary<'a>,
) -> WorkloadDocument<'a> {
    let reasons = summary.absent.iter().map(|absent| &absent.reason);
    let unavailable = reasons.map(|reason| unavailable(of, reason));
    WorkloadDocument {
        workload: of.workload,
        load: of.load,
        unit: of.unit,
        servers: of.servers.iter().map(server).collect(),
        findings: findings(of),
        unavailable: unavailable.filter(|one| !one.servers.is_empty()).collect(),
    }
}

fn unavailable<'a>(of: &WorkloadCosts<'a>, reason: &'a Unavailable) -> UnavailableDocument<'a> {
    let servers = of.servers.iter();
    let concerned = servers.filter(|server| server.of.unavailable.contains(reason));
    UnavailableDocument {
        what: &reason.what,
        why: &reason.why,
        remedy: reason.remedy.as_deref(),
        servers: concerned.map(ServerCosts::server).collect(),
    }
}

fn server<'a>(of: &'a ServerCosts<'a>) -> ServerDocument<'a> {
    let figures = of.figures.iter();
    let calls = of.system_calls.iter();
    ServerDocument {
        server: of.server(),
        rounds: of.of.rounds.len(),
        figures: figures.map(|(name, one)| (*name, one.into())).collect(),
        system_calls: calls.map(|(name, one)| (*name, one.into())).collect(),
        tracing_cost: of.tracing_cost.as_ref().map(Rounds::from),
        functions: &of.functions,
    }
}

/// A single round has no interval.
impl From<&Estimate> for Rounds {
    fn from(of: &Estimate) -> Self {
        let end = |end: f64| (of.n > 1).then_some(end);
        Self {
            median: of.median,
            low: end(of.low),
            high: end(of.high),
            rounds: of.n,
        }
    }
}

fn difference<'a>(of: &'a Difference<'a>) -> DifferenceDocument<'a> {
    DifferenceDocument {
        workload: &of.before.workload,
        before: &of.before.server,
        after: &of.after.server,
        costs: of.costs.iter().filter_map(cost).collect(),
        functions: &of.functions,
    }
}

/// A figure or system call. That of all other system calls together is only for tables.
fn cost<'a>(of: &'a CostChange<'a>) -> Option<CostDocument<'a>> {
    let (kind, name) = match &of.row {
        CostRow::Figure(figure) => (CostKind::Figure, figure.name()),
        CostRow::Call(name) => (CostKind::SystemCall, *name),
        CostRow::OtherCalls { .. } => return None,
    };
    // The figures are in the unit of their row.
    let in_units = |one: &Estimate| {
        let scale = of.row.scale();
        Rounds::from(&Estimate {
            median: one.median / scale,
            low: one.low / scale,
            high: one.high / scale,
            ..*one
        })
    };
    Some(CostDocument {
        kind,
        name,
        before: of.before.as_ref().map(in_units),
        after: of.after.as_ref().map(in_units),
        change: of.change,
        certain: of.is_clear(),
    })
}

#[cfg(test)]
mod tests {
    use prony_model::sample;

    use super::*;
    use crate::explain::difference::difference;

    #[test]
    fn figures_keep_the_units_of_the_model_and_a_single_round_has_no_interval() {
        let explanations = ["bun", "go-nethttp"].map(sample::explanation);
        let found = difference(&explanations[0], &explanations[1]).unwrap();
        let header = Header::from(&sample::run("r"));
        let document = json(&header, &explanations, &[found]);
        let growth = 16.0 * 1.05;
        let costs = &document["differences"][0]["costs"];
        let mut costs = costs.as_array().unwrap().iter();
        let found = costs.find(|cost| cost["name"] == "heap-growth").unwrap();
        let median = found["before"]["median"].as_f64().unwrap();
        assert!((median - growth).abs() < 1e-9, "{median}");

        let mut least = sample::explanation("bun");
        least.rounds.truncate(1);
        let document = json(&header, &[least], &[]);
        let cpu = &document["workloads"][0]["servers"][0]["figures"]["cpu"];
        let one_round = json!({"median": 1.0, "low": null, "high": null, "rounds": 1});
        assert_eq!(*cpu, one_round);
    }
}
