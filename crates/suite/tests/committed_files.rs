//! The suites and workloads of the repository itself.

use std::path::{Path, PathBuf};

use prony_suite::{RightAnswer, Suite, Workloads};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_workload_has_a_right_answer() {
    let folder = repository().join("workloads");
    let workloads = Workloads::read(&folder).unwrap();
    assert!(workloads.iter().count() >= 7);
    for workload in workloads.iter() {
        let right = RightAnswer::new(workload, &folder.join("assets")).unwrap();
        assert_eq!(right.is_drawn(), workload.id == "quote");
    }
}

#[test]
fn every_suite_names_workloads_that_there_are() {
    let workloads = Workloads::read(&repository().join("workloads")).unwrap();
    let folder = repository().join("suites");
    let ids = Suite::ids(&folder).unwrap();
    assert!(ids.contains(&"tour".to_owned()));
    for id in ids {
        let suite = Suite::read(&folder, &id).unwrap();
        workloads.select(suite.workloads()).unwrap();
    }
}
