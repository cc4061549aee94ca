//! A server whose accept queue overflows: the kernel's counters explain how slow its responses are.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use prony_load::{LoadPlan, run};
use prony_model::{Arrivals, LoadResult, LoadShape, Outcome, Schedule};
use socket2::{Domain, Socket, Type};

use super::plans::plan_to;

/// Takes a connection every `pause`, with a queue of one beside it, and responses one request on each.
struct SlowAcceptor {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl SlowAcceptor {
    fn start(pause: Duration) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        socket.bind(&any.into()).unwrap();
        socket.listen(1).unwrap();
        let listener = TcpListener::from(socket);
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(SeqCst) {
                    return;
                }
                let mut stream = stream.unwrap();
                thread::sleep(pause);
                let timeout = Some(Duration::from_millis(500));
                stream.set_read_timeout(timeout).unwrap();
                // The client may have given up.
                let _ = stream.read(&mut [0; 1024]);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            }
        });
        Self {
            address,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for SlowAcceptor {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        let (connected, done) = mpsc::channel();
        let address = self.address;
        thread::spawn(move || {
            let _ = std::net::TcpStream::connect(address);
            let _ = connected.send(());
        });
        let _ = done.recv_timeout(Duration::from_secs(10));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A new connection for each of 80 requests a second.
fn plan(server: &SlowAcceptor) -> LoadPlan {
    LoadPlan {
        shape: LoadShape::Rate(Schedule::constant(Arrivals::Even, 80.0)),
        connections: 1,
        max_connections: 200,
        threads: 1,
        requests: None,
        requests_per_connection: NonZeroU64::new(1),
        duration: Some(Duration::from_secs(2)),
        ..plan_to(server.address, "GET", &[], b"", 1)
    }
}

fn load(plan: &LoadPlan) -> LoadResult {
    run(plan, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

#[test]
fn an_accept_queue_that_overflows_explains_a_second_of_latency() {
    let server = SlowAcceptor::start(Duration::from_millis(25));
    let result = load(&plan(&server));
    let latency = result.latency_ns.as_ref().unwrap();
    assert!(latency.max > 900_000_000, "{latency:?}");
    let tcp = result.tcp.unwrap();
    assert!(tcp.accept_queue_overflows > 0, "{tcp:?}");
    assert!(tcp.retransmitted_syns > 0 && tcp.timeouts > 0, "{tcp:?}");
    let because = result.slow_because.unwrap();
    assert!(
        because.contains("sent again after waiting 1 s or longer"),
        "{because}"
    );
    assert!(
        because.contains("the server's accept queue overflowed"),
        "{because}"
    );
}

#[test]
fn a_load_that_is_not_slow_has_counts_and_nothing_to_explain() {
    let server = super::scripted::ScriptedServer::responding(
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        super::scripted::After::Keep,
    );
    let result = load(&plan_to(server.address(), "GET", &[], b"", 30));
    assert_eq!(result.outcomes[Outcome::Ok], 30);
    assert!(result.tcp.is_some());
    let latency = result.latency_ns.unwrap();
    // On a machine that is busy a load may be slow, and other programs may have timeouts.
    assert!(result.slow_because.is_none() || latency.max >= 200_000_000);
}
