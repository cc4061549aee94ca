//! The integration tests of this crate, in one program.

mod ab;
mod bad_input;
mod bad_values;
mod calibrate;
mod common;
mod compare;
mod docs;
mod explain;
mod fleet;
mod generators;
mod golden;
mod grpc;
mod hurl_workloads;
mod hygiene;
mod import;
mod kubernetes;
mod load;
mod lost_output;
mod outside;
mod own_requests;
mod project_file;
mod rounds;
mod servers;
mod shell;
mod suites;
mod verify;
mod warm_up;
mod whole_path;
mod wrong_responses;

/// The servers of these tests: the program runs itself again for each.
#[test]
fn test_server() {
    let changes = [
        &ab::CHANGES[..],
        &bad_input::CHANGES,
        &explain::CHANGES,
        &hurl_workloads::CHANGES,
        &hygiene::CHANGES,
        &outside::CHANGES,
        &own_requests::CHANGES,
        &project_file::CHANGES,
        &rounds::CHANGES,
        &servers::CHANGES,
        &verify::CHANGES,
        &warm_up::CHANGES,
        &wrong_responses::CHANGES,
    ];
    prony_testkit::server::serve_if_asked(&changes.concat());
}
