//! Cycles and instructions of a command, counted by `perf stat` where the machine can.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;

/// Two modes of two events.
const EVENTS: &str = "cycles:u,cycles:k,instructions:u,instructions:k";

/// `perf stat`, which counts here.
#[derive(Clone, Debug)]
pub struct Counters(());

/// What was counted over a command and all that it started, in user mode and in the kernel together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// CPU cycles.
    pub cycles: u64,
    /// Instructions.
    pub instructions: u64,
}

impl Counters {
    /// Tries them once; `None` where there is no `perf`, or it may not or cannot count.
    pub fn probe() -> Option<Counters> {
        let tried = Command::new("perf")
            .args(["stat", "-x,", "-e", EVENTS, "--", "true"])
            .stdin(Stdio::null())
            .output()
            .ok()?;
        let counted = read(&String::from_utf8_lossy(&tried.stderr));
        (tried.status.success() && counted.is_some()).then_some(Counters(()))
    }

    /// The words before a command that have it counted; the figures go to `file`.
    pub(crate) fn prefix(&self, file: &Path) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["perf", "stat", "-x,", "-e", EVENTS, "-o"]
            .map(OsString::from)
            .into();
        words.push(file.into());
        words.push("--".into());
        words
    }
}

/// What `perf stat -x,` wrote; `None` where an event was not counted.
pub(crate) fn read(text: &str) -> Option<Counts> {
    let event = |name: &str| {
        text.lines().find_map(|line| {
            let mut fields = line.split(',');
            let count = fields.next()?.parse::<u64>().ok()?;
            (fields.nth(1)? == name).then_some(count)
        })
    };
    Some(Counts {
        cycles: event("cycles:u")? + event("cycles:k")?,
        instructions: event("instructions:u")? + event("instructions:k")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_perf_writes_is_read() {
        let counted = "# started on a day\n\n\
             100,,cycles:u,5000,100.00,,\n\
             20,,cycles:k,5000,100.00,,\n\
             300,,instructions:u,5000,100.00,3.00,insn per cycle\n\
             4,,instructions:k,5000,100.00,,\n";
        assert_eq!(
            read(counted),
            Some(Counts {
                cycles: 120,
                instructions: 304
            })
        );
        let refused = counted.replace("20,,cycles:k", "<not supported>,,cycles:k");
        assert_eq!(read(&refused), None);
        assert_eq!(read(""), None);
    }
}
