//! What a program says of itself.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::path::is_program;
use super::table::Toolchain;
use super::version::Version;

/// How long a program may take to say something of itself; more than a slow one needs on a busy machine.
const RESPONSE_TIME: Duration = Duration::from_secs(30);

/// How often it is looked at whether it has.
const PAUSE: Duration = Duration::from_millis(5);

/// The version that a toolchain's program prints, with the variables `env`.
pub fn version(program: &Path, tool: &Toolchain, env: &[(OsString, OsString)]) -> Option<Version> {
    let output = output(program, tool.version_args, env)?;
    if !output.status.success() && !tool.fails_with_version {
        return None;
    }
    version_in(&output)
}

/// The version that a command prints, unless it fails.
pub fn version_of_command(program: &Path, arguments: &[String]) -> Option<Version> {
    let output = output(program, arguments, &[])?;
    output.status.success().then(|| version_in(&output))?
}

fn version_in(output: &Output) -> Option<Version> {
    Version::find(&String::from_utf8_lossy(&output.stdout))
        .or_else(|| Version::find(&String::from_utf8_lossy(&output.stderr)))
}

/// The program behind a stand-in; the path itself where it does not say.
pub fn itself(program: &Path, tool: &Toolchain) -> PathBuf {
    let said = match tool.itself_args {
        [] => None,
        args => output(program, args, &[]),
    };
    let said = said.and_then(|output| String::from_utf8(output.stdout).ok());
    match said.map(|text| PathBuf::from(text.trim())) {
        Some(real) if real.is_absolute() && is_program(&real) => real,
        _ => program.to_owned(),
    }
}

fn output<S: AsRef<OsStr>>(
    program: &Path,
    args: &[S],
    env: &[(OsString, OsString)],
) -> Option<Output> {
    let child = Command::new(program)
        .args(args)
        .envs(env.iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn();
    output_within(child.ok()?, RESPONSE_TIME)
}

/// What a program prints, unless it takes longer than `time` or prints more than fits into a pipe: then
/// it is killed.
fn output_within(mut child: Child, time: Duration) -> Option<Output> {
    let until = Instant::now() + time;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() >= until {
            let group = i32::try_from(child.id()).map(Pid::from_raw);
            // It may have ended just now.
            let _ = group.map(|group| killpg(group, Signal::SIGKILL));
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(PAUSE);
    }
    child.wait_with_output().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &'static str) -> Toolchain {
        Toolchain {
            version_args: Box::leak(Box::new(["-c", script])),
            ..Toolchain::PLAIN
        }
    }

    fn said(tool: &Toolchain) -> Option<String> {
        version(Path::new("/bin/sh"), tool, &[]).map(|version| version.to_string())
    }

    #[test]
    fn what_a_program_prints_as_it_fails_is_no_version() {
        let trace = "echo 'ruby 3.1.2: cannot load such file (LoadError)' >&2; exit 1";
        assert_eq!(said(&shell(trace)), None);
        let wrk = Toolchain {
            fails_with_version: true,
            ..shell("echo wrk 4.1.0; exit 1")
        };
        assert_eq!(said(&wrk).as_deref(), Some("4.1.0"));
    }

    #[test]
    fn a_program_that_says_nothing_is_not_waited_for() {
        let sleeper = Command::new("sleep").arg("600").process_group(0).spawn();
        assert!(output_within(sleeper.unwrap(), Duration::from_millis(20)).is_none());
    }

    #[test]
    fn standard_error_is_read_where_standard_output_has_none() {
        let java = "echo 'openjdk version \"17.0.15\"' >&2";
        assert_eq!(said(&shell(java)).as_deref(), Some("17.0.15"));
        let both = "echo 'WARNING in 9.9' >&2; echo mvn 3.8.7";
        assert_eq!(said(&shell(both)).as_deref(), Some("3.8.7"));
    }

    #[test]
    fn a_program_is_asked_with_the_variables_given() {
        let env = [("HOME_OF_IT".into(), "/jdk-1.5".into())];
        let tool = shell("echo $HOME_OF_IT");
        let version = version(Path::new("/bin/sh"), &tool, &env).unwrap();
        assert_eq!(version.to_string(), "1.5");
    }
}
