//! A server of HTTP/2 that follows a script, as the reference server does over HTTP/1.1.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Response;
use prony_model::Protocol;
use prony_reference::Responded;
use prony_reference::script::{Script, Timeline};
use prony_testkit::certificate::Certificate;
use tokio::sync::oneshot;

use crate::every_wire::server;

/// Starts a server that ends with the test process, and collects the fate of each request.
pub(super) fn serve(
    script: &Script,
    protocol: Protocol,
) -> (SocketAddr, Arc<Mutex<Vec<Responded>>>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_io()
        .build()
        .unwrap();
    let queue = Arc::new(Queue::of(script));
    let responded = queue.responded.clone();
    let respond = move |_| {
        let queue = queue.clone();
        async move {
            queue.wait().await;
            let body = Full::new(Bytes::from_static(b"hi"));
            Ok(Response::new(body.boxed()))
        }
    };
    let address = server::serve(&runtime, protocol, &Certificate::new(), respond);
    std::mem::forget(runtime);
    (address, responded)
}

/// The one queue of all requests.
struct Queue {
    arrivals: Mutex<Arrivals>,
    responded: Arc<Mutex<Vec<Responded>>>,
}

struct Arrivals {
    timeline: Timeline,
    /// The first arrival.
    begun: Option<Instant>,
    alarms: Sender<Alarm>,
}

/// When a response is due, and who waits for that.
type Alarm = (Instant, oneshot::Sender<()>);

impl Queue {
    fn of(script: &Script) -> Self {
        let (alarms, due) = channel();
        thread::spawn(move || ring(&due));
        let arrivals = Arrivals {
            timeline: script.timeline(),
            begun: None,
            alarms,
        };
        Self {
            arrivals: Mutex::new(arrivals),
            responded: Arc::default(),
        }
    }

    /// Waits until the response to a request that has just arrived is due.
    async fn wait(&self) {
        let (begun, arrived, due, alarm) = self.arrive();
        alarm.await.unwrap();
        let now = begun.elapsed();
        self.responded.lock().unwrap().push(Responded {
            arrived,
            due,
            send_began: now,
            // Only hyper knows when it sends: somewhat later.
            left: now,
        });
    }

    fn arrive(&self) -> (Instant, Duration, Duration, oneshot::Receiver<()>) {
        let mut arrivals = self.arrivals.lock().unwrap();
        let begun = *arrivals.begun.get_or_insert_with(Instant::now);
        let arrived = begun.elapsed();
        let due = arrivals.timeline.response_due(arrived);
        let (rings, alarm) = oneshot::channel();
        arrivals.alarms.send((begun + due, rings)).unwrap();
        (begun, arrived, due, alarm)
    }
}

/// Tokio's own timers are late by up to a millisecond.
fn ring(alarms: &Receiver<Alarm>) {
    for (due, waiting) in alarms {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        // The client may be gone.
        let _ = waiting.send(());
    }
}
