//! An agent whose fleet is gone ends by itself.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use prony_agent::{AgentError, AllKinds, Limits, Options, run as run_agent};

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
        until("the end", || self.child.try_wait().unwrap());
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

/// Long enough for an agent that is heard and read, and short enough for a test.
const LIMIT: Duration = Duration::from_millis(300);

/// Why an agent in this process ends whose fleet is these pipes.
fn ended(limits: Limits, input: io::PipeReader, output: io::PipeWriter) -> AgentError {
    let options = Options {
        fleet: "alone".into(),
        index: 0,
    };
    run_agent(&options, limits, input, output, Arc::new(AllKinds)).unwrap_err()
}

#[test]
fn an_agent_whose_input_is_silent_ends() {
    let (input, _fleet) = io::pipe().unwrap();
    let (_reader, output) = io::pipe().unwrap();
    let limits = Limits {
        silence: LIMIT,
        ..Limits::default()
    };
    assert_eq!(ended(limits, input, output), AgentError::Silent(LIMIT));
    let usual = AgentError::Silent(Limits::default().silence).to_string();
    assert!(usual.contains("silent for 10 s"), "{usual}");
}

#[test]
fn an_agent_whose_output_nobody_reads_ends() {
    let (input, mut fleet) = io::pipe().unwrap();
    let (reader, output) = io::pipe().unwrap();
    // More replies than the pipe has room for. Later pings stay in the other pipe.
    let pings =
        thread::spawn(move || while fleet.write_all(b"{\"ping\":{\"number\":1}}\n").is_ok() {});
    let limits = Limits {
        stuck: LIMIT,
        ..Limits::default()
    };
    assert_eq!(ended(limits, input, output), AgentError::Stuck(LIMIT));
    let usual = AgentError::Stuck(Limits::default().stuck).to_string();
    let expected = "nobody has read standard output for 10 s";
    assert!(usual.contains(expected), "{usual}");
    // Its threads end now.
    drop(reader);
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
                server.await_response();
                fs::write(file, fleet.id()).unwrap();
            });
            let _ = run(&fleet, &plan);
        });
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("id");
    let mut fleet = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            concat!(
                module_path!(),
                "::when_the_fleet_is_killed_no_agent_is_left"
            )
            .split_once("::")
            .unwrap()
            .1,
        ])
        .env(ID_FILE, &file)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let id = until("the load", || {
        let id = fs::read_to_string(&file).ok();
        id.filter(|id| !id.is_empty())
    });
    assert_eq!(processes(&id).len(), 3);
    fleet.kill().unwrap();
    fleet.wait().unwrap();
    until_none_is_left(&id);
}
