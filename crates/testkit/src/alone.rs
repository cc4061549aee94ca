//! A test that needs a process of its own: it changes a limit of its process, or measures its memory.

use std::env;
use std::process::Command;

const NAME: &str = "PRONY_TEST_ALONE";

/// Runs this program again for the test of that name alone, with its module, and in that process the test.
///
/// # Panics
///
/// If the test fails, or there is none of that name.
#[track_caller]
pub fn alone(name: &str, test: impl FnOnce()) {
    if env::var_os(NAME).is_some_and(|alone| alone == name) {
        return test();
    }
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "--nocapture", name])
        .env(NAME, name)
        .output()
        .unwrap();
    let (said, ran) = (output.stderr, output.stdout);
    let (said, ran) = (
        String::from_utf8_lossy(&said),
        String::from_utf8_lossy(&ran),
    );
    assert!(output.status.success(), "{said}{ran}");
    assert!(ran.contains("1 passed"), "{ran}");
}
