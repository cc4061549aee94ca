//! The integration tests of this crate, in one program.

mod build;
mod server;
mod stale;
mod supervisor;
mod support;
mod toolbox;

/// Not a test of anything: the server of the others.
#[test]
fn test_server() {
    support::serve();
}
