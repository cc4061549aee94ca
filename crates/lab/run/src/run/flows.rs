//! Goes through scenarios without a load.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use prony_load::{LoadPlan, negotiate};
use prony_model::{FlowEntry, LoadResult, Outcome, Seconds, WrongResponse};
use prony_traffic::{Mismatch, Traffic};

use super::process::Target;
use super::verify::{Fault, Verified, is_unavailable};
use crate::scenario::PreparedScenario;

/// How long a flow may take while there is no load.
const LONGEST_FLOW: Duration = Duration::from_secs(60);

/// Goes through the scenario `flows` times, over one connection as long as the server keeps it open. Ends early if
/// `interrupt` is set.
pub(super) fn go_through(
    scenario: &PreparedScenario,
    target: &Target,
    flows: u32,
    timeout: Duration,
    interrupt: &AtomicBool,
) -> Result<Verified, Fault> {
    let no_response = |error: &dyn ToString| Fault::NoResponse(error.to_string());
    connect(target, timeout).map_err(Fault::NoResponse)?;
    let content = scenario.at(&target.authority);
    let content = content.map_err(|error| no_response(&error))?;
    let url = content.server().as_str().to_owned();
    let plan = LoadPlan::new(
        target.address.into(),
        url,
        Traffic::flows_of(content, scenario.http()),
    )
    .with(|plan| {
        plan.load.requests = Some(flows.into());
        plan.load.duration = Some(Seconds(LONGEST_FLOW * flows));
        plan.load.timeout = Seconds(timeout);
        plan.tls = target.client.clone();
    });
    let stop = AtomicBool::new(false);
    let result = prony_load::run(&plan, &stop, &mut |_| {
        stop.store(interrupt.load(Relaxed), Relaxed);
    });
    let result = result.map_err(|error| no_response(&error))?;
    judge(scenario.file(), flows, &result)?;
    Ok(Verified {
        requests: result.requests as usize,
        kept_open: result.reconnects == 0,
    })
}

/// Sees whether the server listens, and whether it is trusted: the error of that says more than the one of a flow.
fn connect(target: &Target, timeout: Duration) -> Result<(), String> {
    match &target.client {
        None => TcpStream::connect_timeout(&target.address, timeout)
            .map(drop)
            .map_err(|error| format!("cannot connect to {}: {error}", target.address)),
        Some(client) => negotiate(&target.address.into(), client, timeout)
            .map(drop)
            .map_err(|error| target.explain(&error)),
    }
}

/// What was wrong with a load that has no other purpose than these `requested` flows.
fn judge(file: &str, requested: u32, result: &LoadResult) -> Result<(), Fault> {
    let Some(flows) = &result.flows else {
        return Ok(());
    };
    let mut entries = flows.entries.iter();
    if let Some((entry, wrong)) = entries.find_map(|one| Some((one, one.first_wrong.as_ref()?))) {
        let is_unavailable = result.statuses.keys().any(|&status| is_unavailable(status));
        return Err(match fault_of(file, entry, wrong) {
            Fault::Wrong(mismatch) if is_unavailable => Fault::Unavailable(mismatch),
            fault => fault,
        });
    }
    match &flows.first_failure {
        Some(reason) => Err(Fault::Wrong(Mismatch {
            expected: format!("responses with the values that {file} needs for its next request"),
            received: reason.clone(),
        })),
        None if flows.ok < requested.into() => Err(Fault::NoResponse(format!(
            "{} of {requested} flows through {file} ended within {} s",
            flows.ok,
            (LONGEST_FLOW * requested).as_secs()
        ))),
        None => Ok(()),
    }
}

fn fault_of(file: &str, entry: &FlowEntry, wrong: &WrongResponse) -> Fault {
    let (name, detail) = (&entry.name, &wrong.detail);
    let is_wrong = |outcome: &Outcome| outcome.is_wrong() && outcome.name() == wrong.outcome;
    if !Outcome::ALL.iter().any(is_wrong) {
        return Fault::NoResponse(format!("{name}: {detail}"));
    }
    Fault::Wrong(Mismatch {
        expected: format!("a response to {name} as in {file}"),
        received: detail.clone(),
    })
}

#[cfg(test)]
mod tests {
    use prony_model::{Flows, LatencyHistogram};

    use super::*;
    use crate::run::testing::measurement;

    fn load(ok: u64) -> LoadResult {
        let flows = Flows {
            ok,
            failed: 0,
            unfinished: 2 - ok,
            first_failure: None,
            entries: Vec::new(),
            ..prony_model::sample::flows(&LatencyHistogram::new())
        };
        LoadResult {
            flows: Some(flows),
            ..measurement(0.0).load
        }
    }

    #[test]
    fn every_flow_must_be_ok() {
        for ok in [0, 1] {
            let Err(Fault::NoResponse(reason)) = judge("a.hurl", 2, &load(ok)) else {
                panic!("{ok} flows of 2 are accepted");
            };
            let expected = format!("{ok} of 2 flows through a.hurl ended within 120 s");
            assert_eq!(reason, expected);
        }
        assert!(judge("a.hurl", 2, &load(2)).is_ok());
    }
}
