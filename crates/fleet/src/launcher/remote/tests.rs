use std::io::Write;
use std::process::{Command, Output, Stdio};

use super::*;

/// Runs the script as a host would, with that standard input.
fn run(script: &str, input: &[u8]) -> Output {
    let mut shell = Command::new("/bin/sh")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A shell that fails at once does not read.
    let _ = shell.stdin.take().unwrap().write_all(input);
    shell.wait_with_output().unwrap()
}

#[test]
fn the_name_of_a_program_reaches_the_shell_as_one_word() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("it's a $program");
    std::os::unix::fs::symlink("/bin/echo", &program).unwrap();
    let program = Program::There(program.display().to_string());
    let output = run(&program.script("f-1", "2"), b"");
    assert_eq!(output.stdout, b"agent --fleet f-1 --index 2\n");
}

#[test]
fn a_sent_program_runs_reads_what_follows_it_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    // A real program, because a script without a name cannot be run.
    let program = Program::sent(Path::new("/bin/cat")).unwrap();
    let script = program
        .script("f", "0")
        .replace("agent --fleet f --index 0", "-");
    let script = format!(
        "export TMPDIR={}; {script}",
        quoted(&folder.path().display().to_string())
    );
    let mut input = program.first().unwrap().to_vec();
    input.extend_from_slice(b"the first message\n");
    let output = run(&script, &input);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.stdout, b"the first message\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_missing_program_says_how_to_get_one() {
    let program = Program::There("/nowhere/prony".into());
    let output = run(&program.script("f", "0"), b"");
    let reason = program.reason(shell_status(output.status), "host1", "fleet.ssh");
    assert_eq!(
        reason,
        "host1 has no program `/nowhere/prony`: install Prony there, or set `program` or `copy = true` in `[fleet.ssh]`"
    );
}

#[test]
fn a_killed_agent_is_reported_with_its_signal() {
    let program = Program::There("prony".into());
    let output = run("sh -c 'kill -KILL $$'; exit $?", b"");
    let reason = program.reason(shell_status(output.status), "host1", "fleet.ssh");
    assert_eq!(reason, "the agent on host1 was ended by SIGKILL");
}
