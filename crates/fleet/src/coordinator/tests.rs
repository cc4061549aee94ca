use prony_testkit::{contains, starts_with};
use proptest::prelude::*;

use super::*;
use crate::frame::Framer;

/// A fleet with agents whose clocks differ by whole seconds, without processes or waiting.
struct Lab {
    coordinator: Coordinator<u64>,
    framers: Vec<Framer>,
    now: Duration,
}

fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

/// The agent's clock minus that of the fleet.
fn offset(agent: usize) -> Duration {
    Duration::from_secs(100 * (agent as u64 + 1))
}

impl Lab {
    fn new(agents: usize) -> Self {
        Self {
            coordinator: Coordinator::new("lab", agents, Limits::default()),
            framers: (0..agents)
                .map(|it| Framer::new("lab", it, it as u64))
                .collect(),
            now: Duration::ZERO,
        }
    }

    /// A fleet of which every agent has replied.
    fn launched(agents: usize) -> Self {
        let mut lab = Self::new(agents);
        lab.reply_to_all(&[]);
        assert!(lab.coordinator.hosts().is_some());
        lab
    }

    /// A fleet whose agents prepare a load.
    fn preparing(agents: usize) -> Self {
        let mut lab = Self::launched(agents);
        lab.coordinator.begin(lab.now, agents, None);
        lab
    }

    /// A fleet whose load has begun.
    fn running(agents: usize, longest: Option<Duration>) -> Self {
        let mut lab = Self::launched(agents);
        lab.coordinator.begin(lab.now, agents, longest);
        (0..agents).for_each(|agent| lab.ready(agent).unwrap());
        lab.reply_until_start();
        lab
    }

    fn agents(&self) -> usize {
        self.framers.len()
    }

    fn lines(&mut self, agent: usize, message: &AgentMessage<u64>) -> Vec<String> {
        let text = serde_json::to_string(message).unwrap();
        self.framers[agent].lines(&text).unwrap()
    }

    fn say(&mut self, agent: usize, message: AgentMessage<u64>) -> Result<(), FleetError> {
        for line in self.lines(agent, &message) {
            self.coordinator.take(self.now, Event::Line(line))?;
        }
        Ok(())
    }

    fn pong(&mut self, agent: usize, number: u64) -> Result<(), FleetError> {
        self.pong_of(VERSION, agent, number)
    }

    fn pong_of(&mut self, version: &str, agent: usize, number: u64) -> Result<(), FleetError> {
        let clock_ns = (self.now + offset(agent)).as_nanos() as u64;
        let host = Host {
            name: format!("node-{agent}"),
            cpus: 4,
            version: version.into(),
        };
        let pong = AgentMessage::Pong {
            number,
            clock_ns,
            host,
        };
        self.say(agent, pong)
    }

    fn ready(&mut self, agent: usize) -> Result<(), FleetError> {
        self.say(agent, AgentMessage::Ready { load: 1 })
    }

    fn result(&mut self, agent: usize, part: u64) -> Result<(), FleetError> {
        let (load, part) = (1, Box::new(part));
        self.say(agent, AgentMessage::Result { load, part })
    }

    fn progress(&mut self, agent: usize, progress: Progress) -> Result<(), FleetError> {
        let (load, progress) = (1, Box::new(progress));
        self.say(agent, AgentMessage::Running { load, progress })
    }

    fn happens(&mut self, event: Event) -> Result<(), FleetError> {
        self.coordinator.take(self.now, event)
    }

    fn note(&mut self, agent: Option<usize>, text: &str) {
        let text = text.into();
        self.happens(Event::Note { agent, text }).unwrap();
    }

    /// Sends what is due; every agent but the silent ones replies to pings. Gives the other messages.
    fn turn(&mut self, silent: &[usize]) -> Result<Vec<FleetMessage>, FleetError> {
        let mut others = Vec::new();
        for message in self.coordinator.tick(self.now)? {
            let FleetMessage::Ping { number } = message else {
                others.push(message);
                continue;
            };
            for agent in (0..self.agents()).filter(|agent| !silent.contains(agent)) {
                self.pong(agent, number)?;
            }
        }
        Ok(others)
    }

    fn reply_to_all(&mut self, silent: &[usize]) -> Vec<FleetMessage> {
        self.turn(silent).unwrap()
    }

    fn reply_until_start(&mut self) -> Vec<u64> {
        for _ in 0..20 {
            for message in self.reply_to_all(&[]) {
                if let FleetMessage::Start { at_ns, load: 1 } = message {
                    return at_ns;
                }
            }
        }
        panic!("no start");
    }

    /// Time passes in steps, in which all agents but the silent ones reply; ends with the first error.
    fn pass(&mut self, time: Duration, silent: &[usize]) -> Result<(), FleetError> {
        let end = self.now + time;
        while self.now < end {
            self.now += ms(100);
            self.turn(silent)?;
        }
        Ok(())
    }
}

fn error<T: std::fmt::Debug>(result: Result<T, FleetError>) -> String {
    result.unwrap_err().to_string()
}

/// It is an error that says all of this.
#[track_caller]
fn fails<T: std::fmt::Debug>(result: Result<T, FleetError>, parts: &[&str]) {
    let text = error(result);
    parts.iter().for_each(|part| contains(&text, part));
}

fn name(index: usize) -> AgentName {
    let host = Some(format!("node-{index}"));
    AgentName { index, host }
}

#[test]
fn the_fleet_is_there_when_every_agent_has_replied() {
    let mut lab = Lab::new(3);
    assert_eq!(lab.coordinator.hosts(), None);
    lab.pass(ms(2000), &[1]).unwrap();
    assert_eq!(lab.coordinator.hosts(), None);
    lab.pass(ms(1000), &[]).unwrap();
    let hosts = lab.coordinator.hosts().unwrap().into_iter();
    let names: Vec<String> = hosts.map(|host| host.name.clone()).collect();
    assert_eq!(names, ["node-0", "node-1", "node-2"]);
}

#[test]
fn agents_that_are_not_placed_are_named_with_the_schedulers_words() {
    let mut lab = Lab::new(3);
    lab.note(None, "0/2 nodes are available");
    let result = lab.pass(ms(70_000), &[1, 2]);
    assert!(matches!(result, Err(FleetError::NotPlaced { .. })));
    fails(
        result,
        &[
            "3 agents were started",
            "agent 1, agent 2 did not reply within 60 s",
            "0/2 nodes are available",
        ],
    );
    assert!(lab.now > ms(60_000));
}

#[test]
fn no_load_starts_before_every_agent_is_ready() {
    let mut lab = Lab::preparing(3);
    for agent in [2, 0] {
        lab.ready(agent).unwrap();
    }
    for _ in 0..50 {
        lab.now += ms(100);
        assert!(lab.reply_to_all(&[]).is_empty());
    }
    lab.ready(1).unwrap();
    let at_ns = lab.reply_until_start();
    // Each on its own clock, and all at one instant ahead.
    let instant = |(agent, at)| Duration::from_nanos(at) - offset(agent);
    let instants: Vec<Duration> = at_ns.into_iter().enumerate().map(instant).collect();
    assert_eq!(instants, [instants[0]; 3]);
    assert!(instants[0] >= lab.now + LEAD, "{instants:?}");
}

#[test]
fn the_first_agents_share_a_load_and_the_others_stay_in_touch() {
    let mut lab = Lab::launched(3);
    lab.coordinator.begin(lab.now, 2, Some(ms(1000)));
    for agent in [1, 0] {
        lab.ready(agent).unwrap();
    }
    assert_eq!(lab.reply_until_start().len(), 2);
    for agent in [0, 1] {
        lab.result(agent, 7).unwrap();
    }
    assert_eq!(lab.coordinator.parts().unwrap().len(), 2);
    // One that is silent is lost also if it has no part of the load.
    lab.coordinator.begin(lab.now, 2, None);
    let silent = lab.pass(ms(20_000), &[2]);
    starts_with(&error(silent), "agent 2 on node-2 has sent nothing");
}

#[test]
fn an_agent_without_a_part_is_neither_awaited_nor_heard() {
    let mut lab = Lab::launched(3);
    lab.coordinator.begin(lab.now, 2, None);
    lab.ready(0).unwrap();
    let late = lab.pass(ms(100_000), &[]);
    starts_with(&error(late), "agent 1 on node-1 had not prepared");
    fails(lab.ready(2), &["a ready signal of load 1"]);
}

#[test]
fn no_load_starts_before_every_clock_is_known() {
    let mut lab = Lab::preparing(2);
    (0..2).for_each(|agent| lab.ready(agent).unwrap());
    for _ in 0..20 {
        lab.now += ms(50);
        assert!(lab.reply_to_all(&[1]).is_empty());
    }
}

#[test]
fn parts_come_in_the_order_of_the_agents() {
    let mut lab = Lab::running(3, Some(ms(1000)));
    for agent in [1, 2, 0] {
        assert!(lab.coordinator.parts().is_none());
        lab.result(agent, 10 + agent as u64).unwrap();
    }
    let parts = lab.coordinator.parts().unwrap();
    let numbers: Vec<u64> = parts.iter().map(|it| it.part).collect();
    assert_eq!(numbers, [10, 11, 12]);
    assert_eq!(parts[2].host, "node-2");
    assert_eq!(parts[2].clock.offset_ns, offset(2).as_nanos() as i64);
    // And the next load gets a number of its own.
    assert_eq!(lab.coordinator.begin(lab.now, lab.agents(), None), 2);
}

#[test]
fn messages_that_do_not_belong_to_the_load_are_refused() {
    let mut lab = Lab::running(2, None);
    lab.result(0, 1).unwrap();
    let expected = "agent 0 on node-0 sent a second result, which does not belong to this load";
    starts_with(&error(lab.result(0, 1)), expected);
    let (load, part) = (7, Box::new(1));
    let of_another = AgentMessage::Result { load, part };
    let mut lab = Lab::running(2, None);
    fails(lab.say(0, of_another), &["a result of load 7"]);
    let early = Lab::preparing(2).result(1, 1);
    fails(early, &["a result before the load began"]);
}

#[test]
fn an_agent_that_cannot_share_the_load_is_named() {
    let old = Lab::new(2).pong_of("0.0.7", 1, 0);
    let old = error(old);
    starts_with(&old, "agent 1 on node-1 runs Prony 0.0.7");
    contains(&old, VERSION);
    let mut lab = Lab::running(2, None);
    lab.framers[1] = Framer::new("lab", 1, 77);
    let restarted = "as agent 1: the scheduler restarted it (node-1)";
    fails(lab.pong(1, 0), &[restarted]);
    let (load, reason) = (1, "no io_uring".into());
    let failed = AgentMessage::Failed { load, reason };
    let failed = Lab::preparing(2).say(1, failed);
    let expected = "agent 1 on node-1 cannot run its part of the load: no io_uring";
    assert_eq!(failed.unwrap_err().to_string(), expected);
}

#[test]
fn a_damaged_missing_or_foreign_line_is_refused() {
    let mut lab = Lab::running(2, None);
    let (load, part) = (1, Box::new(3));
    let line = lab.lines(1, &AgentMessage::Result { load, part }).concat();
    let damaged = line.replace("\"part\":3", "\"part\":4");
    assert_ne!(line, damaged);
    let result = lab.happens(Event::Line(damaged));
    fails(result, &["of agent 1 arrived damaged (node-1)"]);

    let mut lab = Lab::running(2, None);
    lab.lines(1, &AgentMessage::Ready { load: 1 });
    fails(lab.result(1, 1), &["of agent 1 is missing (node-1)"]);

    let mut lab = Lab::running(2, None);
    lab.framers[0] = Framer::new("other", 0, 0);
    fails(lab.ready(0), &["of another fleet (other) sent a message"]);
}

#[test]
fn a_silent_agent_is_lost_after_three_seconds() {
    // Idle, and with a load.
    for mut lab in [Lab::launched(3), Lab::running(3, None)] {
        let began = lab.now;
        let error = lab.pass(ms(20_000), &[1]).unwrap_err();
        assert!(matches!(&error, FleetError::Silent { agent, .. } if *agent == name(1)));
        let after = lab.now - began;
        assert!(after > ms(3000) && after <= ms(3200), "{after:?}");
    }
}

#[test]
fn progress_and_lines_of_a_long_result_show_that_an_agent_lives() {
    let mut lab = Lab::running(2, None);
    for _ in 0..10 {
        lab.now += ms(2000);
        lab.pong(0, 0).unwrap();
        lab.progress(1, Progress::default()).unwrap();
        lab.coordinator.tick(lab.now).unwrap();
    }
}

#[test]
fn an_agent_is_named_after_a_second_of_silence() {
    let mut lab = Lab::running(3, None);
    assert_eq!(lab.coordinator.silent_agent(lab.now), None);
    lab.now += ms(900);
    for agent in [0, 2] {
        lab.progress(agent, Progress::default()).unwrap();
    }
    assert_eq!(lab.coordinator.silent_agent(lab.now), None);
    lab.now += ms(200);
    let silent = lab.coordinator.silent_agent(lab.now).unwrap();
    assert_eq!((silent.agent, silent.silent), (name(1), ms(1100)));
    lab.pong(1, 0).unwrap();
    assert_eq!(lab.coordinator.silent_agent(lab.now), None);
}

#[test]
fn a_standstill_of_this_process_is_no_silence_of_the_agents() {
    let mut lab = Lab::running(2, None);
    lab.now += ms(20_000);
    lab.coordinator.tick(lab.now).unwrap();
    assert!(lab.pass(ms(10_000), &[0]).is_err());
}

#[test]
fn an_agent_that_hangs_is_noticed_although_this_process_stands_still_again_and_again() {
    let mut lab = Lab::running(2, None);
    lab.now += ms(2000);
    lab.coordinator.tick(lab.now).unwrap();
    lab.pong(0, 0).unwrap();
    lab.now += ms(2000);
    let noticed = lab.coordinator.tick(lab.now).and_then(|_| {
        lab.now += ms(2000);
        lab.coordinator.tick(lab.now)
    });
    let error = noticed.unwrap_err();
    assert!(matches!(error, FleetError::Silent { agent, .. } if agent == name(1)));
}

#[test]
fn a_slow_reply_does_not_hold_up_the_start() {
    let mut lab = Lab::preparing(2);
    (0..2).for_each(|agent| lab.ready(agent).unwrap());
    // Agent 1 replies to the first ping of the comparison after the fleet has sent another one.
    let mut pings = Vec::new();
    for _ in 0..3 {
        for message in lab.coordinator.tick(lab.now).unwrap() {
            let FleetMessage::Ping { number } = message else {
                panic!("only pings are due");
            };
            lab.pong(0, number).unwrap();
            pings.push(number);
        }
        lab.now += ms(700);
    }
    assert!(pings.len() > 1);
    for number in pings {
        lab.pong(1, number).unwrap();
    }
    assert_eq!(lab.reply_until_start().len(), 2);
}

#[test]
fn clocks_that_are_not_compared_in_time_end_the_load() {
    let mut lab = Lab::preparing(2);
    (0..2).for_each(|agent| lab.ready(agent).unwrap());
    let limit = Limits::default().prepare;
    let mut outcome = Ok(());
    while outcome.is_ok() && lab.now < 2 * limit {
        // It lives, but replies to no ping.
        lab.say(1, AgentMessage::Receiving).unwrap();
        outcome = lab.pass(ms(1000), &[1]);
    }
    starts_with(&error(outcome), "agent 1 on node-1 had not prepared");
}

#[test]
fn an_agent_that_ends_is_named_with_its_last_words() {
    let mut lab = Lab::running(2, None);
    for number in 0..9 {
        lab.note(Some(1), &format!("note {number}"));
    }
    let (agent, reason) = (Some(1), "signal 9".into());
    let ended = lab.happens(Event::Ended { agent, reason });
    let expected = "agent 1 on node-1 was lost: signal 9; its last words: note 4 | note 5";
    starts_with(&error(ended), expected);
}

#[test]
fn agents_that_are_not_ready_in_time_are_named() {
    let mut lab = Lab::preparing(3);
    lab.ready(1).unwrap();
    let expected = "agent 0 on node-0, agent 2 on node-2 had not prepared the load within 60 s";
    starts_with(&error(lab.pass(ms(100_000), &[])), expected);
}

#[test]
fn a_result_that_does_not_come_in_time_is_missed() {
    let mut lab = Lab::running(2, Some(ms(5000)));
    lab.result(0, 1).unwrap();
    let began = lab.now;
    let error = lab.pass(ms(100_000), &[]).unwrap_err();
    let expected = "agent 1 on node-1 sent no result within 30 s of the end of the load";
    assert_eq!(error.to_string(), expected);
    assert!(lab.now - began > ms(35_000));
}

#[test]
fn a_stop_is_sent_once_and_its_results_count() {
    // Before the start as well as after it.
    for mut lab in [Lab::preparing(2), Lab::running(2, None)] {
        lab.coordinator.stop(lab.now);
        let messages = lab.reply_to_all(&[]);
        assert!(matches!(messages[..], [FleetMessage::Stop { load: 1 }]));
        lab.coordinator.stop(lab.now);
        assert!(lab.reply_to_all(&[]).is_empty());
        for agent in 0..2 {
            lab.result(agent, 1).unwrap();
        }
        assert!(lab.coordinator.parts().is_some());
    }
}

#[test]
fn progress_is_summed_over_agents() {
    let progress = |at_s, ok, errors, p50_ns, p99_ns| Progress {
        at_s,
        measuring: true,
        ok,
        errors,
        bytes_read: 10 * ok,
        p50_ns,
        p99_ns,
        ..Progress::default()
    };
    let mut lab = Lab::running(2, None);
    lab.progress(0, progress(1.0, 10, 0, 5, 7)).unwrap();
    lab.progress(1, progress(2.0, 11, 1, 4, 8)).unwrap();
    let expected = progress(1.5, 21, 1, 5, 8);
    assert_eq!(lab.coordinator.progress(), Some(expected));
}

#[test]
fn counts_beyond_any_load_do_not_overflow() {
    let most = Progress {
        ok: u64::MAX,
        errors: u64::MAX - 1,
        bytes_read: u64::MAX,
        ..Progress::default()
    };
    let mut lab = Lab::running(2, None);
    (0..2).for_each(|agent| lab.progress(agent, most.clone()).unwrap());
    let sum = lab.coordinator.progress().unwrap();
    assert_eq!([sum.ok, sum.errors, sum.bytes_read], [u64::MAX; 3]);
}

/// What an agent of the random test does next.
#[derive(Clone, Debug)]
enum Act {
    Pong(usize),
    Ready(usize),
    Progress(usize),
    Result(usize),
    Stop,
    Wait(u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        (0usize..3).prop_map(Act::Pong),
        (0usize..3).prop_map(Act::Ready),
        (0usize..3).prop_map(Act::Progress),
        (0usize..3).prop_map(Act::Result),
        Just(Act::Stop),
        (0u64..1500).prop_map(Act::Wait),
    ];
    proptest::collection::vec(act, 0..60)
}

proptest! {
    /// Whatever agents do in whatever order: a start follows only on every ready signal, and there are parts only if each
    /// agent has sent exactly one result.
    #[test]
    fn no_order_of_events_breaks_the_barrier_or_the_merge(acts in acts()) {
        let mut lab = Lab::launched(3);
        lab.coordinator.begin(lab.now, lab.agents(), Some(ms(5000)));
        let (mut ready, mut results, mut last_ping) = ([false; 3], [0; 3], 0);
        for act in acts {
            let taken = match act {
                Act::Pong(agent) => lab.pong(agent, last_ping),
                Act::Ready(agent) => {
                    ready[agent] = true;
                    lab.ready(agent)
                }
                Act::Progress(agent) => lab.progress(agent, Progress::default()),
                Act::Result(agent) => {
                    results[agent] += 1;
                    lab.result(agent, 1)
                }
                Act::Stop => {
                    lab.coordinator.stop(lab.now);
                    Ok(())
                }
                Act::Wait(time) => {
                    lab.now += ms(time);
                    Ok(())
                }
            };
            let Ok(messages) = taken.and_then(|()| lab.coordinator.tick(lab.now)) else {
                // The fleet is lost, and nothing is reported.
                return Ok(());
            };
            for message in messages {
                match message {
                    FleetMessage::Ping { number } => last_ping = number,
                    FleetMessage::Start { .. } => prop_assert_eq!(ready, [true; 3]),
                    _ => {}
                }
            }
            if lab.coordinator.parts().is_some() {
                prop_assert_eq!(results, [1; 3]);
                return Ok(());
            }
        }
    }
}
