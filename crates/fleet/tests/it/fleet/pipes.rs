//! An agent whose fleet is gone ends by itself.

use prony_model::Seconds;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};

use prony_fleet::agent::{AgentError, Limits, Options, run as run_agent};
use prony_testkit::processes::{Killed, await_none};

use super::*;

/// An agent without a fleet.
struct Alone {
    child: Killed,
    input: Option<ChildStdin>,
}

impl Alone {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony-agent"));
        command.args(["agent", "--fleet", "alone", "--index", "0"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let child = Killed(child);
        Self { child, input }
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn next_line(&mut self) -> String {
        let mut line = String::new();
        let output = self.child.0.stdout.as_mut().unwrap();
        BufReader::with_capacity(1, output)
            .read_line(&mut line)
            .unwrap();
        line
    }

    /// Its exit status and its standard error.
    fn end(mut self) -> (ExitStatus, String) {
        let status = until("the end", || self.child.0.try_wait().unwrap());
        let errors = io::read_to_string(self.child.0.stderr.take().unwrap());
        (status, errors.unwrap())
    }
}

#[test]
fn a_ping_has_its_reply_at_once() {
    let mut agent = Alone::start();
    agent.send(r#"{"ping":{"number":7}}"#);
    let line = agent.next_line();
    assert!(line.starts_with("prony alone 0 "), "{line}");
    contains(&line, r#"{"pong":{"number":7,"clock_ns":"#);
    agent.send(r#""end""#);
    let (status, errors) = agent.end();
    assert_eq!((status.code(), &*errors), (Some(0), ""));
}

#[test]
fn an_agent_whose_input_closes_ends() {
    let mut agent = Alone::start();
    agent.input = None;
    let (status, errors) = agent.end();
    let expected = "error: agent 0: standard input has closed: the fleet is gone\n";
    assert_eq!((status.code(), &*errors), (Some(1), expected));
}

/// Long enough for an agent that is heard and read, and short enough for a test.
const LIMIT: Duration = Duration::from_millis(300);

/// Why an agent in this process ends whose fleet is these pipes.
fn ended(limits: Limits, input: io::PipeReader, output: io::PipeWriter) -> AgentError {
    let options = Options {
        fleet: "alone".into(),
        index: 0,
    };
    run_agent(&options, limits, input, output).unwrap_err()
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
    let usual = AgentError::Silent(Limits::default().silence);
    contains(&usual.to_string(), "silent for 10 s");
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
    contains(&usual, "nobody has read standard output for 10 s");
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
    kill(Pid::from_raw(agent.child.0.id() as i32), Signal::SIGTERM).unwrap();
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
        let plan = server
            .plan()
            .with(|plan| plan.load.duration = Some(Seconds(LONG)));
        thread::scope(|scope| {
            scope.spawn(|| {
                until("a response", || (server.count() > 0).then_some(()));
                fs::write(file, fleet.id()).unwrap();
            });
            let _ = run(&fleet, &plan);
        });
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("id");
    let test = concat!(
        module_path!(),
        "::when_the_fleet_is_killed_no_agent_is_left"
    );
    let mut fleet = Command::new(std::env::current_exe().unwrap());
    fleet.args(["--exact", test.split_once("::").unwrap().1]);
    fleet.env(ID_FILE, &file).stdout(Stdio::null());
    let fleet = Killed(fleet.spawn().unwrap());
    let id = until("the load", || {
        let id = fs::read_to_string(&file).ok();
        id.filter(|id| !id.is_empty())
    });
    assert_eq!(processes::with(&id).len(), 3);
    drop(fleet);
    await_none(&id);
}
