//! The Java virtual machine writes its perf map on request.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const LONGEST: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(20);

/// Asks a virtual machine to write its perf map: `jcmd PID Compiler.perfmap`, since JDK 17.
pub(super) fn write_perf_map(pid: i32) -> io::Result<()> {
    let child = Command::new(tool(pid))
        .args([&pid.to_string(), "Compiler.perfmap"])
        .env_remove("JAVA_TOOL_OPTIONS")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    wait(child)
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

fn wait(mut child: Child) -> io::Result<()> {
    let start = Instant::now();
    while start.elapsed() < LONGEST {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(io::Error::other(format!("jcmd: {status}"))),
            None => sleep(POLL),
        }
    }
    child.kill()?;
    child.wait()?;
    Err(io::ErrorKind::TimedOut.into())
}
