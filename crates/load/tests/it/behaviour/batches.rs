//! Loads in batches: no request runs into the end of a batch or into the work for the one before.

use std::io::Write;
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::{Duration, Instant};

use prony_load::{Batch, Batches, EventLoopChoice, LoadPlan};
use prony_model::{Ended, LoadResult, LoadShape, Outcome};

use crate::plans::{assert_outcome, get_from, load};
use crate::scripted::{After, ScriptedServer};

over_each_loop!(
    a_batch_is_over_when_the_server_has_had_its_requests_and_no_others,
    connections_are_replaced_between_the_requests_of_a_batch,
    a_request_is_not_sent_before_the_pause_is_over,
    a_failed_request_counts_as_one_of_its_batch
);

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const PAUSE: Duration = Duration::from_millis(3);

/// A load in batches on `server`, and how many requests the server had seen when each batch was over.
fn run_batches(
    event_loop: EventLoopChoice,
    server: ScriptedServer,
    requests: &'static [u64],
    change: impl FnOnce(LoadPlan) -> LoadPlan,
) -> (LoadResult, Vec<u64>) {
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
    let plan = change(LoadPlan {
        threads: 1,
        requests: None,
        batches: Some(batches),
        duration: Some(Duration::from_secs(60)),
        ..get_from(event_loop, server.address(), 1)
    });
    let result = load(&plan);
    let seen = seen.lock().unwrap().clone();
    (result, seen)
}

fn batch(requests: u64) -> Batch {
    Batch {
        requests: NonZeroU64::new(requests).unwrap(),
        pause: PAUSE,
    }
}

fn a_batch_is_over_when_the_server_has_had_its_requests_and_no_others(event_loop: EventLoopChoice) {
    for connections in [1, 3] {
        let server = ScriptedServer::responding(HELLO, After::Keep);
        let (result, seen) = run_batches(event_loop, server, &[2, 5, 1, 4], |plan| LoadPlan {
            connections,
            ..plan
        });
        assert_eq!(seen, [2, 7, 8, 12]);
        assert_outcome(&result, Outcome::Ok, 12);
        assert_eq!(result.ended, Ended::Requests);
    }
}

fn connections_are_replaced_between_the_requests_of_a_batch(event_loop: EventLoopChoice) {
    let server = ScriptedServer::responding(HELLO, After::Close);
    let (result, seen) = run_batches(event_loop, server, &[3, 3], |plan| LoadPlan {
        requests_per_connection: NonZeroU64::new(1),
        ..plan
    });
    assert_eq!(seen, [3, 6]);
    assert_outcome(&result, Outcome::Ok, 6);
}

fn a_request_is_not_sent_before_the_pause_is_over(event_loop: EventLoopChoice) {
    let (gaps, each) = mpsc::channel();
    let responded: OnceLock<Mutex<Instant>> = OnceLock::new();
    let server = ScriptedServer::start(move |stream, _| {
        let now = Instant::now();
        if let Some(before) = responded.get() {
            let _ = gaps.send(now - *before.lock().unwrap());
        }
        // Before the write: the client may have the response before this thread goes on.
        *responded.get_or_init(|| Mutex::new(now)).lock().unwrap() = Instant::now();
        let _ = stream.write_all(HELLO);
        After::Keep
    });
    let one = |plan| LoadPlan {
        connections: 1,
        ..plan
    };
    let (result, _) = run_batches(event_loop, server, &[5, 5], one);
    assert_outcome(&result, Outcome::Ok, 10);
    let gaps: Vec<Duration> = each.try_iter().collect();
    assert_eq!(gaps.len(), 9);
    assert!(gaps.iter().all(|gap| *gap >= PAUSE), "{gaps:?}");
}

fn a_failed_request_counts_as_one_of_its_batch(event_loop: EventLoopChoice) {
    let server = ScriptedServer::start(|stream, number| {
        let refusal = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";
        let _ = match number {
            1 => stream.write_all(refusal),
            _ => stream.write_all(HELLO),
        };
        After::Keep
    });
    let one = |plan| LoadPlan {
        connections: 1,
        ..plan
    };
    let (result, seen) = run_batches(event_loop, server, &[4, 2], one);
    assert_eq!(seen.len(), 2);
    assert_eq!(result.outcomes.total(), 6);
    assert_outcome(&result, Outcome::Ok, 5);
}

#[test]
fn plans_that_contradict_their_batches_are_refused() {
    let event_loop = EventLoopChoice::Auto;
    let address = "127.0.0.1:9".parse().unwrap();
    let batches = Batches {
        first: batch(4),
        next: Arc::new(|_| None),
    };
    let plan = || LoadPlan {
        threads: 1,
        requests: None,
        batches: Some(batches.clone()),
        ..get_from(event_loop, address, 1)
    };
    assert_eq!(plan().validate(), Ok(()));
    let think_time_s = 0.01;
    let refused = [
        (
            "a number",
            LoadPlan {
                requests: Some(7),
                ..plan()
            },
        ),
        (
            "threads",
            LoadPlan {
                threads: 2,
                ..plan()
            },
        ),
        (
            "pipelining",
            LoadPlan {
                pipeline: 2,
                ..plan()
            },
        ),
        (
            "a warm-up",
            LoadPlan {
                warmup: PAUSE,
                ..plan()
            },
        ),
        (
            "think times",
            LoadPlan {
                shape: LoadShape::UsersClosed { think_time_s },
                ..plan()
            },
        ),
    ];
    for (what, plan) in refused {
        let error = plan.validate().unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}
