//! Plans that contradict themselves, or that no machine can run, are refused.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use prony_load::{Batch, Batches, EventLoopChoice, LoadPlan};
use prony_model::{Arrivals, LoadShape, Schedule, Seconds, Stage};
use prony_testkit::contains;
use prony_testkit::table::rows;
use prony_traffic::{Call, HttpVersion};

use crate::plans::{even, get_from, plan_to};
use crate::scenarios::{Step, flows_of};

/// Changes a plan as a word says: `threads=2`.
fn set(plan: &mut LoadPlan, word: &str) {
    let (name, value) = word.split_once('=').unwrap();
    let number = value.parse::<f64>().unwrap();
    let count = number as usize;
    let think_time = Seconds::try_from(number).unwrap();
    let one_a_second = Schedule::constant(Arrivals::Even, 1.0);
    match name {
        "agents" => plan.agents = count,
        "threads" => plan.load.threads = count,
        "connections" => plan.load.connections = count,
        "pipeline" => plan.load.pipeline = count,
        "streams" => plan.load.streams = count,
        "events" => plan.load.events = count == 1,
        "requests" => plan.load.requests = Some(count as u64),
        "warmup" => plan.load.warmup = Seconds::from_secs(count as u64),
        "rate" => plan.load.shape = even(number),
        "closed" => plan.load.shape = LoadShape::UsersClosed { think_time },
        "open" => plan.load.shape = LoadShape::UsersOpen { think_time },
        "burst" => {
            let burst = count as u64;
            plan.load.shape = LoadShape::Rate(Schedule {
                burst,
                ..one_a_second
            });
        }
        "stages" => {
            let stages = vec![Stage::endless(1.0); count];
            plan.load.shape = LoadShape::Rate(Schedule {
                stages,
                ..one_a_second
            });
        }
        _ => panic!("no `{name}`"),
    }
}

/// A load of two requests over fifty connections.
fn plain() -> LoadPlan {
    let address = "127.0.0.1:9".parse().unwrap();
    get_from(EventLoopChoice::Auto, address, 2).with(|plan| {
        plan.load.connections = 50;
        plan.load.max_connections = Some(60);
    })
}

/// In each row, what makes a plan wrong, and a part of the message.
#[track_caller]
fn assert_refused(plan: &LoadPlan, table: &str) {
    assert_eq!(plan.validate(), Ok(()));
    for [words, message] in rows(table) {
        let mut plan = plan.clone();
        words.split(' ').for_each(|word| set(&mut plan, word));
        contains(&plan.validate().expect_err(words).to_string(), message);
    }
}

#[test]
fn plans_beyond_any_machine_are_refused() {
    assert_refused(
        &plain(),
        "pipeline=1001 | 1001 requests in a pipeline are too many: at most 1000
         threads=2000 connections=2000 | 2000 threads are too many: at most 1024
         agents=0 | a load needs at least one agent
         agents=3 threads=2 connections=4 | 3 agents with 2 threads each need at least 6 connections or users, but \
             there are 4: use more of them, or fewer agents
         agents=3 threads=1 connections=2 | 3 agents with 1 thread each need at least 3 connections or users, but \
             there are 2: use more of them, or fewer agents
         agents=10001 threads=1 connections=20000 | 10001 agents are too many: at most 10000
         burst=1000001 | 1000001 requests in a burst are too many: at most 1000000
         stages=1001 | 1001 stages are too many: at most 1000
         rate=1.1e9 | 0 to 1,000 million
         open=0 | the mean think time, to the microsecond, must be more than zero
         open=1e-9 | the mean think time, to the microsecond, must be more than zero",
    );
}

#[test]
fn requests_in_flight_take_a_bounded_memory() {
    let address = "127.0.0.1:9".parse().unwrap();
    let plan = plan_to(
        EventLoopChoice::Auto,
        address,
        "POST",
        &[],
        &[b'b'; 100_000],
        1,
    )
    .with(|plan| {
        plan.load.connections = 50;
        plan.load.pipeline = 1000;
    });
    let error = plan.validate().unwrap_err().to_string();
    contains(&error, "the 512 MiB that requests in flight may take");
    assert!(!error.contains("pipeline"), "{error}");
}

#[test]
fn requests_in_flight_over_http2_are_streams() {
    let message = vec![b'b'; 100_000];
    let call = Call::unary("/a.B/C", "localhost", message);
    let plan = plain().with(|plan| plan.request = call.into());
    assert_refused(
        &plan,
        "pipeline=1001 | 1001 streams per connection are too many: at most 1000
         pipeline=0 | the number of streams per connection must be more than zero
         pipeline=1000 | the 512 MiB that requests in flight may take
         pipeline=2 closed=1 | several streams per connection cannot be combined with users with think time",
    );
}

#[test]
fn plans_that_contradict_their_batches_are_refused() {
    let first = Batch {
        requests: NonZeroU64::MIN,
        pause: Duration::ZERO,
    };
    let next = Arc::new(|_| None);
    let plan = plain().with(|plan| {
        plan.load.threads = 1;
        plan.load.requests = None;
        plan.here.batches = Some(Batches { first, next });
    });
    assert_refused(
        &plan,
        "requests=7 | a number
         threads=2 | threads
         pipeline=2 | pipelining
         warmup=1 | a warm-up
         closed=0.01 | think times",
    );
}

#[test]
fn plans_that_contradict_their_scenario_are_refused() {
    let (request, _) = flows_of("http://127.0.0.1:9/", &[Step::GET], HttpVersion::Http1);
    let plan = plain().with(|plan| plan.request = request);
    assert_refused(
        &plan,
        "pipeline=2 | pipelining cannot be combined with a scenario
         streams=1 | held streams cannot be combined with a scenario
         events=1 | event streams cannot be combined with a scenario",
    );
}
