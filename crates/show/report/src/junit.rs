//! A run as JUnit XML, for a CI system: a test case for each server and workload.

use std::collections::BTreeSet;

use prony_model::{Run, ServerRecord, ServerStatus, TrialRecord, TrialResult, VerifyVerdict};
use prony_present::junit::{Case, CaseResult, xml};
use prony_present::words::plural;

/// The workloads of each server: verified, measured, and without a wrong response. A server that was not built or started
/// has a single case.
pub fn junit(run: &Run, trials: &[TrialRecord]) -> String {
    let servers = run.servers.iter();
    let cases = servers.flat_map(|server| of_server(server, trials));
    xml(&run.suite, &cases.collect::<Vec<_>>())
}

fn of_server(server: &ServerRecord, trials: &[TrialRecord]) -> Vec<Case> {
    let whole = |name: &str, result| vec![Case::of(&server.id, name, result)];
    match &server.status {
        ServerStatus::Ready => {}
        ServerStatus::Skipped { missing, install } => {
            let message = format!("{missing} is not installed: {install}");
            return whole("build", CaseResult::skipped(message));
        }
        ServerStatus::BuildFailed { output } => {
            return whole("build", CaseResult::failed("the build failed", output));
        }
        ServerStatus::StartFailed { reason } | ServerStatus::Unreachable { reason } => {
            let message = reason.lines().next().unwrap_or("it did not start");
            return whole("start", CaseResult::failed(message, reason));
        }
    }
    let own = trials.iter().filter(|one| one.trial.server == server.id);
    let own: Vec<&TrialRecord> = own.collect();
    let verified = server.verified.iter().map(|one| one.workload.as_str());
    let loaded = own.iter().map(|record| record.trial.workload.as_str());
    let workloads: BTreeSet<&str> = verified.chain(loaded).collect();
    let workloads = workloads.into_iter();
    workloads
        .map(|workload| of_workload(server, workload, &own))
        .collect()
}

fn of_workload(server: &ServerRecord, workload: &str, own: &[&TrialRecord]) -> Case {
    let trials = own.iter().filter(|one| one.trial.workload == workload);
    let trials: Vec<&TrialRecord> = trials.copied().collect();
    let result = unverified(server, workload)
        .or_else(|| wrong(&trials))
        .or_else(|| not_measured(&trials));
    let measured = trials.iter().filter_map(|record| record.measurement());
    let seconds: f64 = measured.clone().map(|trial| trial.load.duration_s).sum();
    let count = measured.count();
    Case {
        seconds: Some(seconds),
        output: format!("{} measured", plural(count, "trial")),
        ..Case::of(&server.id, workload, result.unwrap_or(CaseResult::Passed))
    }
}

fn unverified(server: &ServerRecord, workload: &str) -> Option<CaseResult> {
    let mut verified = server.verified.iter();
    match &verified.find(|one| one.workload == workload)?.verdict {
        VerifyVerdict::Right => None,
        VerifyVerdict::Wrong { expected, received } => Some(CaseResult::failed(
            "the response is not the expected one",
            format!("expected: {expected}\nreceived: {received}"),
        )),
    }
}

fn wrong(trials: &[&TrialRecord]) -> Option<CaseResult> {
    let measured = trials.iter().filter_map(|record| record.measurement());
    let wrong: u64 = measured.clone().map(|trial| trial.wrong()).sum();
    let mut first = measured.filter_map(|trial| trial.first_wrong());
    let details = first.next().unwrap_or_default();
    let message = format!("{} wrong under load", plural(wrong as usize, "response"));
    (wrong > 0).then(|| CaseResult::failed(message, details))
}

fn not_measured(trials: &[&TrialRecord]) -> Option<CaseResult> {
    let failures = trials.iter().filter_map(|record| match &record.result {
        TrialResult::Measured(_) => None,
        TrialResult::Failed { message, .. } => Some(message),
    });
    let count = failures.clone().count();
    if trials.is_empty() {
        return Some(CaseResult::skipped("it was not measured"));
    }
    let details = failures.into_iter().next()?;
    let message = format!("{} of {} failed", count, plural(trials.len(), "trial"));
    Some(CaseResult::failed(message, details))
}

#[cfg(test)]
mod tests {
    use prony_model::{Outcome, VerifyResult, sample};
    use prony_testkit::page;
    use roxmltree::Document;

    use super::*;

    /// Each case of a kind, with its server, its name and its message.
    fn messages(xml: &str, kind: &str) -> Vec<String> {
        let document = Document::parse(xml).unwrap();
        let of = |node: roxmltree::Node<'_, '_>| {
            let case = node.parent().unwrap();
            let [class, name] = ["classname", "name"].map(|it| case.attribute(it).unwrap());
            let message = node.attribute("message").unwrap_or_default();
            format!("{class} {name}: {message}")
        };
        page::all(document.root(), kind)
            .into_iter()
            .map(of)
            .collect()
    }

    #[test]
    fn each_server_and_workload_has_its_verdict() {
        let mut run = sample::run("r");
        for server in &mut run.servers {
            server.verified.clear();
        }
        let good = sample::measured("go-nethttp", 1);
        let mut bad = sample::measured("bun", 1);
        if let TrialResult::Measured(measured) = &mut bad.result {
            measured.load.outcomes[Outcome::WrongBody] = 3;
        }
        let xml = junit(&run, &[good, bad]);
        let expected = [
            "bun hello: 3 responses wrong under load",
            "rust-axum build: the build failed",
        ];
        assert_eq!(messages(&xml, "failure"), expected);
        assert_eq!(messages(&xml, "skipped").len(), 1);
    }

    #[test]
    fn verification_comes_before_what_was_measured() {
        let mut run = sample::run("r");
        run.servers.truncate(1);
        let wrong = VerifyVerdict::Wrong {
            expected: "a".into(),
            received: "b".into(),
        };
        for (verdict, kind, message) in [
            (
                wrong,
                "failure",
                "go-nethttp w: the response is not the expected one",
            ),
            (
                VerifyVerdict::Right,
                "skipped",
                "go-nethttp w: it was not measured",
            ),
        ] {
            let workload = "w".into();
            run.servers[0].verified = vec![VerifyResult { workload, verdict }];
            assert_eq!(messages(&junit(&run, &[]), kind), [message]);
        }
    }
}
