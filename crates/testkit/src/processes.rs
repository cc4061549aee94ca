//! Processes: their ends, and those that carry a token in their command line.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command};
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

/// A child that is killed and reaped when it is dropped.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether a process runs; a zombie does not.
pub fn is_alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, state)| !state.starts_with('Z'))
    })
}

/// The kernel ids of a process's threads.
pub fn threads_of(pid: impl Display) -> io::Result<BTreeSet<i32>> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"))?.flatten();
    Ok(entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect())
}

/// Waits for as many process ids in a file, one a line.
pub fn ids_in(file: &Path, count: usize) -> Vec<i32> {
    until("the process ids", || {
        let text = fs::read_to_string(file).ok()?;
        let whole = text.lines().take(text.matches('\n').count());
        let ids: Vec<i32> = whole.filter_map(|line| line.parse().ok()).collect();
        (ids.len() >= count).then_some(ids)
    })
}

/// Writes a shell script that can be executed. Another process writes it: a file that is open for writing here may be
/// inherited by a child of another test, and then it cannot be executed.
pub fn write_script(file: &Path, text: &str) {
    let write =
        "mkdir -p \"${0%/*}\" && printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod +x \"$0\"";
    let mut command = Command::new("sh");
    command.args(["-c", write]).arg(file).arg(text);
    assert!(command.status().unwrap().success());
}

/// Copies a program that can be executed: another process writes it, as in [`write_script`].
pub fn copy_program(program: impl AsRef<Path>, to: &Path) {
    let mut copy = Command::new("cp");
    copy.arg("-p").arg(program.as_ref()).arg(to);
    assert!(copy.status().unwrap().success());
}
