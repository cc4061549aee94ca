//! A server of HTTP/2 that follows a script, as the reference server does over HTTP/1.1.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prony_reference::Responded;
use prony_reference::script::{Script, Timeline};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

/// Starts a server that ends with the test process, and collects the fate of each request.
pub fn serve(
    script: &Script,
    acceptor: Option<TlsAcceptor>,
) -> (SocketAddr, Arc<Mutex<Vec<Responded>>>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .unwrap();
    let address = (Ipv4Addr::LOCALHOST, 0);
    let listener = runtime.block_on(TcpListener::bind(address)).unwrap();
    let address = listener.local_addr().unwrap();
    let queue = Arc::new(Queue::of(script));
    let responded = queue.responded.clone();
    thread::spawn(move || runtime.block_on(accept(listener, acceptor, queue)));
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

async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, queue: Arc<Queue>) {
    while let Ok((stream, _)) = listener.accept().await {
        stream.set_nodelay(true).unwrap();
        let (acceptor, queue) = (acceptor.clone(), queue.clone());
        tokio::spawn(async move {
            match acceptor {
                None => serve_connection(stream, queue).await,
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve_connection(stream, queue).await;
                    }
                }
            }
        });
    }
}

async fn serve_connection<S>(stream: S, queue: Arc<Queue>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |_| {
        let queue = queue.clone();
        async move {
            queue.wait().await;
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"hi"))))
        }
    });
    let builder = http2::Builder::new(TokioExecutor::new());
    // A client that closes in the middle is none of the server's business.
    let _ = builder
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
