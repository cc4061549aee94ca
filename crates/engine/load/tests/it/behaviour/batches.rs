//! Loads in batches: no request runs into the end of a batch or into the work for the one before.

use std::io::Write;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use prony_load::{Batch, Batches, EventLoopChoice, LoadPlan};
use prony_model::{Ended, Seconds};

use crate::plans::{assert_outcomes, get_from, load, over_one_connection};
use crate::scripted::{After, HELLO, ScriptedServer};

over_each_loop!(
    a_batch_is_over_when_the_server_has_had_its_requests_and_no_others,
    a_request_is_not_sent_before_the_pause_is_over,
    a_failed_request_counts_as_one_of_its_batch
);

const PAUSE: Duration = Duration::from_millis(3);

fn batch(requests: u64) -> Batch {
    Batch {
        requests: NonZeroU64::new(requests).unwrap(),
        pause: PAUSE,
    }
}

/// Runs a load in batches, and checks how many requests the server has seen when each of them is over.
fn run_batches(
    event_loop: EventLoopChoice,
    server: ScriptedServer,
    requests: &'static [u64],
    expected: &str,
    change: impl FnOnce(LoadPlan) -> LoadPlan,
) {
    let server = Arc::new(server);
    let seen: Arc<Mutex<Vec<u64>>> = Arc::default();
    let (counted, counter) = (seen.clone(), server.clone());
    let batches = Batches {
        first: batch(requests[0]),
        next: Arc::new(move |number| {
            let mut counted = counted.lock().unwrap();
            assert_eq!(counted.len(), number);
            counted.push(counter.requests());
            requests.get(number + 1).copied().map(batch)
        }),
    };
    let result = load(&change(get_from(event_loop, server.address(), 1).with(
        |plan| {
            plan.load.threads = 1;
            plan.load.requests = None;
            plan.here.batches = Some(batches);
            plan.load.duration = Some(Seconds::from_secs(60));
        },
    )));
    assert_outcomes(&result, expected);
    assert_eq!(result.ended, Ended::Requests);
    let sums = (1..=requests.len()).map(|batches| requests[..batches].iter().sum());
    assert_eq!(*seen.lock().unwrap(), sums.collect::<Vec<u64>>());
}

fn a_batch_is_over_when_the_server_has_had_its_requests_and_no_others(event_loop: EventLoopChoice) {
    let requests = &[2, 5, 1, 4];
    run_batches(
        event_loop,
        ScriptedServer::hello(),
        requests,
        "12 ok",
        |plan| plan,
    );
    let server = ScriptedServer::hello();
    run_batches(event_loop, server, requests, "12 ok", over_one_connection);
    // Connections are replaced between the requests of a batch.
    let server = ScriptedServer::responding(HELLO, After::Close);
    run_batches(event_loop, server, &[3, 3], "6 ok", |plan| {
        plan.with(|plan| plan.load.requests_per_connection = Some(1))
    });
}

fn a_request_is_not_sent_before_the_pause_is_over(event_loop: EventLoopChoice) {
    let (gaps, each) = mpsc::channel();
    let responded = Mutex::new(None);
    let server = ScriptedServer::start(move |stream, _| {
        let mut responded = responded.lock().unwrap();
        if let Some(before) = *responded {
            let _ = gaps.send(Instant::now() - before);
        }
        // Before the write: the client may have the response before this thread goes on.
        *responded = Some(Instant::now());
        let _ = stream.write_all(HELLO);
        After::Keep
    });
    run_batches(event_loop, server, &[5, 5], "10 ok", over_one_connection);
    let gaps: Vec<Duration> = each.try_iter().collect();
    assert_eq!(gaps.len(), 9);
    assert!(gaps.iter().all(|gap| *gap >= PAUSE), "{gaps:?}");
}

fn a_failed_request_counts_as_one_of_its_batch(event_loop: EventLoopChoice) {
    let server = ScriptedServer::start(|stream, number| {
        let refusal = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";
        let _ = stream.write_all(if number == 1 { refusal } else { HELLO });
        After::Keep
    });
    let expected = "5 ok and 1 wrong_status";
    run_batches(event_loop, server, &[4, 2], expected, over_one_connection);
}
