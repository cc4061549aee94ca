//! Loads in batches: no request runs into the end of a batch or into the work for the one before.

use std::io::Write;
use std::num::NonZeroU64;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::{Duration, Instant};

use prony_load::{Batch, Batches, LoadPlan, run};
use prony_model::{Ended, LoadResult, LoadShape, Outcome};

use super::plans::plan_to;
use super::scripted::{After, ScriptedServer};

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const PAUSE: Duration = Duration::from_millis(3);

/// A load in batches on `server`, and how many requests the server had seen when each batch was over.
fn run_batches(
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
        ..plan_to(server.address(), "GET", &[], b"", 1)
    });
    let result = run(&plan, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let seen = seen.lock().unwrap().clone();
    (result, seen)
}

fn batch(requests: u64) -> Batch {
    Batch {
        requests: NonZeroU64::new(requests).unwrap(),
        pause: PAUSE,
    }
}

#[test]
fn a_batch_is_over_when_the_server_has_had_its_requests_and_no_others() {
    for connections in [1, 3] {
        let server = ScriptedServer::responding(HELLO, After::Keep);
        let (result, seen) = run_batches(server, &[2, 5, 1, 4], |plan| LoadPlan {
            connections,
            ..plan
        });
        assert_eq!(seen, [2, 7, 8, 12]);
        assert_eq!(result.outcomes[Outcome::Ok], 12);
        assert_eq!(result.ended, Ended::Requests);
    }
}

#[test]
fn connections_are_replaced_between_the_requests_of_a_batch() {
    let server = ScriptedServer::responding(HELLO, After::Close);
    let (result, seen) = run_batches(server, &[3, 3], |plan| LoadPlan {
        requests_per_connection: NonZeroU64::new(1),
        ..plan
    });
    assert_eq!(seen, [3, 6]);
    assert_eq!(result.outcomes[Outcome::Ok], 6);
}

#[test]
fn a_request_is_not_sent_before_the_pause_is_over() {
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
    let (result, _) = run_batches(server, &[5, 5], one);
    assert_eq!(result.outcomes[Outcome::Ok], 10);
    let gaps: Vec<Duration> = each.try_iter().collect();
    assert_eq!(gaps.len(), 9);
    assert!(gaps.iter().all(|gap| *gap >= PAUSE), "{gaps:?}");
}

#[test]
fn a_failed_request_counts_as_one_of_its_batch() {
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
    let (result, seen) = run_batches(server, &[4, 2], one);
    assert_eq!(seen.len(), 2);
    assert_eq!(result.outcomes.total(), 6);
    assert_eq!(result.outcomes[Outcome::Ok], 5);
}

#[test]
fn plans_that_contradict_their_batches_are_refused() {
    let address = "127.0.0.1:9".parse().unwrap();
    let batches = Batches {
        first: batch(4),
        next: Arc::new(|_| None),
    };
    let plan = || LoadPlan {
        threads: 1,
        requests: None,
        batches: Some(batches.clone()),
        ..plan_to(address, "GET", &[], b"", 1)
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
