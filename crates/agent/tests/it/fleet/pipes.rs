//! An agent whose fleet is gone ends by itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use super::*;

struct Alone {
    child: Child,
    input: Option<ChildStdin>,
}

impl Alone {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_prony-agent"))
            .args(["agent", "--fleet", "alone", "--index", "0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        Self { child, input }
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn next_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::with_capacity(1, self.child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        line
    }

    /// Its exit status and its standard error.
    fn end(mut self) -> (ExitStatus, String) {
        until("the end", || self.child.try_wait().unwrap().is_some());
        let mut text = String::new();
        self.child
            .stderr
            .as_mut()
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        (self.child.wait().unwrap(), text)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_ping_has_its_reply_at_once() {
    let mut agent = Alone::start();
    agent.send(r#"{"ping":{"number":7}}"#);
    let line = agent.next_line();
    assert!(line.starts_with("prony alone 0 "), "{line}");
    assert!(
        line.contains(r#"{"pong":{"number":7,"clock_ns":"#),
        "{line}"
    );
    agent.send(r#""end""#);
    let (status, errors) = agent.end();
    assert!(status.success(), "{errors}");
    assert_eq!(errors, "");
}

#[test]
fn an_agent_whose_input_closes_ends() {
    let mut agent = Alone::start();
    agent.input = None;
    let (status, errors) = agent.end();
    assert_eq!(status.code(), Some(1));
    assert_eq!(
        errors,
        "error: agent 0: standard input has closed: the fleet is gone\n"
    );
}

#[test]
fn an_agent_whose_input_is_silent_ends() {
    let began = Instant::now();
    let (status, errors) = Alone::start().end();
    assert_eq!(status.code(), Some(1));
    assert!(errors.contains("silent for 10 s"), "{errors}");
    assert!(began.elapsed() >= Duration::from_secs(10));
}

#[test]
fn an_agent_whose_output_nobody_reads_ends() {
    let mut agent = Alone::start();
    let mut input = agent.input.take().unwrap();
    // More replies than the pipe has room for. Later pings stay in the other pipe.
    let pings = thread::spawn(move || {
        while input.write_all(b"{\"ping\":{\"number\":1}}\n").is_ok() {
            thread::sleep(Duration::from_micros(100));
        }
    });
    let (status, errors) = agent.end();
    assert_eq!(status.code(), Some(1));
    assert!(
        errors.contains("nobody has read standard output for 10 s"),
        "{errors}"
    );
    pings.join().unwrap();
}

#[test]
fn a_line_that_is_no_message_ends_the_agent() {
    for line in [
        "hello",
        "{}",
        r#"{"ping":{}}"#,
        r#"{"start":{"load":3,"at_ns":[1]}}"#,
    ] {
        let mut agent = Alone::start();
        agent.send(line);
        let (status, errors) = agent.end();
        assert_eq!(status.code(), Some(1), "{line}");
        assert!(errors.starts_with("error: agent 0: "), "{line}: {errors}");
    }
}

#[test]
fn sigterm_ends_an_agent() {
    let mut agent = Alone::start();
    agent.send(r#"{"ping":{"number":7}}"#);
    agent.next_line();
    kill(Pid::from_raw(agent.child.id() as i32), Signal::SIGTERM).unwrap();
    let (status, _) = agent.end();
    assert!(!status.success());
}

/// The file to which the fleet of [`when_the_fleet_is_killed_no_agent_is_left`] writes its id.
const ID_FILE: &str = "PRONY_TEST_FLEET_ID_FILE";

#[test]
fn when_the_fleet_is_killed_no_agent_is_left() {
    // The test starts itself again as the fleet that it kills.
    if let Ok(file) = std::env::var(ID_FILE) {
        let server = TestServer::start();
        let fleet = launch(3);
        let plan = LoadPlan {
            duration: Some(LONG),
            ..server.plan()
        };
        thread::scope(|scope| {
            scope.spawn(|| {
                until("a response", || server.count() > 0);
                fs::write(file, fleet.id()).unwrap();
            });
            let _ = run(&fleet, &plan);
        });
        return;
    }
    let file = std::env::temp_dir().join(format!("prony-fleet-id-{}", std::process::id()));
    let mut fleet = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "pipes::when_the_fleet_is_killed_no_agent_is_left",
        ])
        .env(ID_FILE, &file)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("the load", || {
        fs::read_to_string(&file).is_ok_and(|id| !id.is_empty())
    });
    let id = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert_eq!(processes(&id).len(), 3);
    fleet.kill().unwrap();
    fleet.wait().unwrap();
    until("the end of every agent", || processes(&id).is_empty());
}
