//! Processes that carry a token in their command line.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::until;

/// A word that no other process has.
pub fn token() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("token-{}-{number}", std::process::id())
}

/// The processes with that word as an argument. An ended one has no command line any more.
pub fn with(token: &str) -> Vec<i32> {
    let has_token = |pid: &i32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| {
            line.split(|&byte| byte == 0)
                .any(|word| word == token.as_bytes())
        })
    };
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(has_token)
        .collect()
}

/// Waits until there is one.
pub fn await_any(token: &str) {
    until("a process", || (!with(token).is_empty()).then_some(()));
}

/// Waits until none is left.
pub fn await_none(token: &str) {
    until("the end of every process", || {
        with(token).is_empty().then_some(())
    });
}
