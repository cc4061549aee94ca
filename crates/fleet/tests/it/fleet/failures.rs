//! How loads of fleets fail: loudly, and without a trace.

use prony_fleet::{LaunchError, SilentAgent};
use prony_model::Seconds;
use prony_testkit::processes::{await_none, write_script};

use super::*;

/// How a load ends of which agent 1 gets a signal while it runs, and the last silent agent that its observer saw.
fn after_signal(
    to_agent: Signal,
    event_loop: EventLoopChoice,
    limits: Limits,
) -> (FleetError, Option<SilentAgent>) {
    let server = TestServer::start();
    let fleet = launch_within(3, limits);
    let plan = server.plan().with(|plan| {
        plan.load.duration = Some(Seconds(LONG));
        plan.here.event_loop = event_loop;
    });
    let (mut is_signalled, mut seen) = (false, None);
    let mut observe = |progress: prony_load::Progress| {
        if progress.ok > 0 && !std::mem::replace(&mut is_signalled, true) {
            signal(fleet.id(), 1, to_agent);
        }
        seen = fleet.silent_agent().or(seen.take());
    };
    let (of_all, never) = (of_all(&fleet, &plan), AtomicBool::new(false));
    let error = fleet_error(fleet.run(&of_all, &never, &mut observe).unwrap_err());
    // The others are gone before the error is reported.
    assert!(processes::with(fleet.id()).is_empty());
    assert_eq!(fleet.silent_agent(), None);
    let again = self::run(&fleet, &plan).unwrap_err();
    assert!(matches!(again, FleetError::Lost(_)), "{again}");
    let (FleetError::Ended { agent, .. } | FleetError::Silent { agent, .. }) = &error else {
        panic!("{error}");
    };
    assert!(agent.index == 1 && agent.host.is_some(), "{error}");
    (error, seen)
}

#[test]
fn an_agent_that_a_signal_ends_is_named() {
    for event_loop in LOOPS {
        let (error, _) = after_signal(Signal::SIGKILL, event_loop, patient());
        // It is not its silence that is noticed.
        assert!(matches!(error, FleetError::Ended { .. }), "{error}");
        contains(&error.to_string(), "SIGKILL");
    }
    after_signal(Signal::SIGTERM, EventLoopChoice::Epoll, patient());
}

#[test]
fn a_stopped_agent_is_silent_and_named_and_observers_hear_of_it_before() {
    // Agents send something every half second, and observers hear of a silence of one second.
    let limits = Limits {
        silence: Duration::from_secs(3),
        ..patient()
    };
    let (error, seen) = after_signal(Signal::SIGSTOP, EventLoopChoice::Epoll, limits);
    assert!(matches!(error, FleetError::Silent { .. }), "{error}");
    let seen = seen.unwrap();
    assert!(seen.agent.index == 1 && seen.agent.host.is_some());
    assert!(seen.silent > Duration::from_secs(1), "{seen:?}");
}

#[test]
fn an_agent_that_is_lost_between_loads_fails_the_next_one() {
    let server = TestServer::start();
    let fleet = launch(2);
    signal(fleet.id(), 1, Signal::SIGKILL);
    await_none(fleet.id());
    let error = run(&fleet, &server.plan_of(10)).unwrap_err();
    contains(&error.to_string(), "agent 1 on ");
    assert_eq!(server.count(), 0);
}

#[test]
fn a_load_that_an_agent_cannot_run_names_the_reason() {
    let server = TestServer::start();
    let fleet = launch(2);
    let plan = server.plan_of(10).with(|plan| {
        // No host has a CPU of that number.
        plan.here.cpus = vec![1_000_000];
    });
    let error = run(&fleet, &plan).unwrap_err();
    assert!(matches!(error, FleetError::Faulty { .. }), "{error}");
    assert!(processes::with(fleet.id()).is_empty());
}

fn failed_launch(program: &str, within: Duration) -> FleetError {
    let limits = Limits {
        launch: within,
        ..Limits::default()
    };
    launch_of(&Local::of(program), 2, limits).unwrap_err()
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
    contains(&error.to_string(), "its last words: ");
}

#[test]
fn agents_that_never_reply_are_named() {
    // It reads its input, and says something only on standard error.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("mute");
    write_script(&program, "echo no nodes are free >&2\nexec cat >/dev/null");
    let error = failed_launch(program.to_str().unwrap(), Duration::from_secs(3)).to_string();
    let expected = "2 agents were started, and agent 0, agent 1 did not reply within 3 s";
    contains(&error, expected);
    contains(&error, "no nodes are free");
}

#[test]
fn an_interrupt_ends_the_launch() {
    let local = Local::of("/bin/cat");
    let (limits, stopped) = (Limits::default(), AtomicBool::new(true));
    let error = Fleet::launch(&local, 2, limits, &stopped, &mut |_, _| {}).unwrap_err();
    assert!(
        matches!(error, FleetError::Interrupted | FleetError::Ended { .. }),
        "{error}"
    );
}
