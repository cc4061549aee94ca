//! The Java virtual machine writes its perf map on request.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::bounded;

const LONGEST: Duration = Duration::from_secs(15);

/// Asks a virtual machine to write its perf map: `jcmd PID Compiler.perfmap`, since JDK 17.
pub(super) fn write_perf_map(pid: i32) {
    let mut command = Command::new(tool(pid));
    command
        .args([&pid.to_string(), "Compiler.perfmap"])
        .env_remove("JAVA_TOOL_OPTIONS");
    // Without the map, the reason is in `Runtime::why_unnamed`.
    let _ = bounded::run(&mut command, LONGEST);
}

/// The `jcmd` beside the `java` that runs, or else the one on the path.
fn tool(pid: i32) -> PathBuf {
    let java = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let beside = java.with_file_name("jcmd");
    if beside.is_file() {
        beside
    } else {
        PathBuf::from("jcmd")
    }
}
