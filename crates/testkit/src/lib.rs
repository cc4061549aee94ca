//! What the tests of Prony's crates share: servers inside the test, certificates, and waiting for what must come.

pub mod alone;
#[cfg(test)]
mod architecture;
pub mod certificate;
pub mod connections;
mod golden;
pub mod page;
pub mod processes;
pub mod recorder;
pub mod running;
#[cfg(feature = "schema")]
pub mod schema;
pub mod server;
pub mod slow_acceptor;
pub mod table;
pub mod tls_server;

pub use insta;

use std::thread;
use std::time::{Duration, Instant};

/// Far longer than anything in a test takes unless there is a fault.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for something that happens unless there is a fault.
///
/// # Panics
///
/// After [`PATIENCE`], with `what`.
#[track_caller]
pub fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let give_up = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < give_up, "{what} did not come");
        thread::sleep(Duration::from_millis(5));
    }
}

/// # Panics
///
/// If `part` is no part of `text`, with both.
#[track_caller]
pub fn contains(text: &str, part: &str) {
    assert!(text.contains(part), "no `{part}` in {text}");
}

/// # Panics
///
/// If `text` does not start with `start`, with both.
#[track_caller]
pub fn starts_with(text: &str, start: &str) {
    assert!(text.starts_with(start), "not `{start}`, but {text}");
}

/// # Panics
///
/// If `part` is a part of `text`, with both.
#[track_caller]
pub fn lacks(text: &str, part: &str) {
    assert!(!text.contains(part), "`{part}` in {text}");
}
