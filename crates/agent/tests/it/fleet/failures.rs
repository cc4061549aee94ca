//! How loads of fleets fail: loudly, and without a trace.

use prony_fleet::{LaunchError, Limits};

use super::*;

/// How a load ends of which agent 1 gets a signal while it runs.
fn after_signal(to_agent: Signal, event_loop: EventLoopChoice) -> (FleetError, Duration) {
    let server = TestServer::start();
    let fleet = launch(3);
    let plan = LoadPlan {
        duration: Some(LONG),
        event_loop,
        ..server.plan()
    };
    let id = fleet.id().to_owned();
    let (error, ended) = thread::scope(|scope| {
        let load = scope.spawn(|| (run(&fleet, &plan).unwrap_err(), Instant::now()));
        until("a response", || server.count() > 0);
        let signalled = Instant::now();
        signal(&id, 1, to_agent);
        let (error, ended) = load.join().unwrap();
        (error, ended - signalled)
    });
    // The others are gone before the error is reported.
    assert_eq!(processes(&id), []);
    let again = run(&fleet, &plan).unwrap_err();
    assert!(matches!(again, FleetError::Lost(_)), "{again}");
    (error, ended)
}

fn agent_1(error: &FleetError) -> bool {
    let (FleetError::Ended { agent, .. } | FleetError::Silent { agent, .. }) = error else {
        return false;
    };
    agent.index == 1 && agent.host.is_some()
}

#[test]
fn a_killed_agent_is_named_within_three_seconds() {
    for event_loop in LOOPS {
        let (error, after) = after_signal(Signal::SIGKILL, event_loop);
        assert!(agent_1(&error), "{error}");
        assert!(error.to_string().contains("SIGKILL"), "{error}");
        // Cleaning up takes a moment, too.
        assert!(after < Duration::from_secs(3), "{after:?}");
    }
}

#[test]
fn a_stopped_agent_is_silent_and_named() {
    let (error, after) = after_signal(Signal::SIGSTOP, EventLoopChoice::Epoll);
    assert!(matches!(error, FleetError::Silent { .. }), "{error}");
    assert!(agent_1(&error), "{error}");
    assert!(after >= Duration::from_millis(2000), "{after:?}");
    assert!(after < Duration::from_secs(15), "{after:?}");
}

#[test]
fn observers_of_a_load_hear_of_a_silent_agent_before_it_is_lost() {
    let server = TestServer::start();
    let fleet = launch(3);
    let plan = LoadPlan {
        duration: Some(LONG),
        ..server.plan()
    };
    let (mut is_stopped, mut seen) = (false, None);
    let mut observe = |progress: prony_load::Progress| {
        if progress.ok > 0 && !std::mem::replace(&mut is_stopped, true) {
            signal(fleet.id(), 1, Signal::SIGSTOP);
        }
        seen = fleet.silent_agent().or(seen.take());
    };
    let plan = of_all(&fleet, &plan);
    let error = fleet.run(&plan, &AtomicBool::new(false), &mut observe);
    assert!(agent_1(&fleet_error(error.unwrap_err())));
    let seen = seen.unwrap();
    assert_eq!(seen.agent.index, 1);
    assert!(seen.agent.host.is_some());
    assert!(seen.silent > Duration::from_secs(1), "{seen:?}");
    assert_eq!(fleet.silent_agent(), None);
}

#[test]
fn an_agent_that_sigterm_ends_is_named() {
    let (error, _) = after_signal(Signal::SIGTERM, EventLoopChoice::Epoll);
    assert!(agent_1(&error), "{error}");
}

#[test]
fn an_agent_that_is_lost_between_loads_fails_the_next_one() {
    let server = TestServer::start();
    let fleet = launch(2);
    signal(fleet.id(), 1, Signal::SIGKILL);
    until("the loss", || processes(fleet.id()).is_empty());
    let error = run(&fleet, &server.plan_of(10)).unwrap_err();
    assert!(error.to_string().contains("agent 1 on "), "{error}");
    assert_eq!(server.count(), 0);
}

#[test]
fn a_load_that_an_agent_cannot_run_names_the_reason() {
    let server = TestServer::start();
    let fleet = launch(2);
    let plan = LoadPlan {
        // No host has a CPU of that number.
        cpus: vec![1_000_000],
        ..server.plan_of(10)
    };
    let error = run(&fleet, &plan).unwrap_err();
    assert!(matches!(error, FleetError::Failed { .. }), "{error}");
    assert_eq!(processes(fleet.id()), []);
}

fn failed_launch(program: &str, within: Duration) -> FleetError {
    let limits = Limits {
        launch: within,
        ..Limits::default()
    };
    let never = AtomicBool::new(false);
    Fleet::launch_within(&Local::of(program), 2, limits, &never).unwrap_err()
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let error = failed_launch("/nowhere/prony", LONG);
    let expected = "cannot start /nowhere/prony: it is not installed, or not in PATH";
    assert_eq!(error, FleetError::Launch(LaunchError(expected.into())));
}

#[test]
fn a_program_that_is_no_agent_is_named_with_its_last_words() {
    let error = failed_launch("/bin/ls", LONG);
    assert!(matches!(error, FleetError::Ended { .. }), "{error}");
    assert!(error.to_string().contains("its last words: "), "{error}");
}

#[test]
fn agents_that_never_reply_are_named() {
    // It reads its input, and says something only on standard error.
    let folder = std::env::temp_dir().join(format!("prony-agent-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("mute");
    fs::write(
        &program,
        "#!/bin/sh\necho no nodes are free >&2\nexec cat >/dev/null\n",
    )
    .unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, mode).unwrap();
    let error = failed_launch(program.to_str().unwrap(), Duration::from_secs(1));
    fs::remove_dir_all(&folder).unwrap();
    let text = error.to_string();
    assert!(
        text.contains("2 agents were started, and agent 0, agent 1 did not reply within 1 s"),
        "{text}"
    );
    assert!(text.contains("no nodes are free"), "{text}");
}

#[test]
fn an_interrupt_ends_the_launch() {
    let local = Local::of("/bin/cat");
    let error = Fleet::launch(&local, 2, &AtomicBool::new(true)).unwrap_err();
    assert!(
        matches!(error, FleetError::Interrupted | FleetError::Ended { .. }),
        "{error}"
    );
}
