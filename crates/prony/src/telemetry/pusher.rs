//! Pushes the figures to an OpenTelemetry receiver. Whatever happens to a push, the load goes on.

use std::convert::Infallible;
use std::error::Error;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender, TryRecvError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use prony_live::telemetry::otlp;
use prony_load::tls::{Offer, TlsClient, TlsSettings};
use prony_load::{Endpoint, exchange};
use prony_present::words::counted;
use prony_traffic::{HttpUrl, HttpVersion, RequestParts, Response, Scheme};

use super::Shared;

const EVERY: Duration = Duration::from_secs(1);
/// How long a connection, or a response, may take.
const TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct Receiver {
    url: HttpUrl,
    tls: Option<TlsClient>,
}

impl Receiver {
    /// The one at this URL, to which the path of metrics is added.
    pub(super) fn at(url: &str) -> Result<Self, Box<dyn Error>> {
        is_of_a_receiver(url)?;
        let base: HttpUrl = url.parse()?;
        if url.contains(['?', '#']) {
            let path = otlp::PATH;
            return Err(
                format!("`{url}` ends in a query or fragment, but {path} follows it").into(),
            );
        }
        let path = base.path().trim_end_matches('/');
        let path = path.strip_suffix(otlp::PATH).unwrap_or(path);
        let url = base.with_path(&format!("{path}{}", otlp::PATH))?;
        let tls = match url.scheme() {
            Scheme::Http => None,
            Scheme::Https => {
                let offer = Offer::Only(HttpVersion::Http1);
                Some(TlsSettings::default().client(url.host(), offer)?)
            }
        };
        Ok(Self { url, tls })
    }

    /// Sends one body. `endpoint` is where the last one went.
    fn send(&self, endpoint: &mut Option<Endpoint>, body: &[u8]) -> Result<(), Box<dyn Error>> {
        let found = match endpoint.take() {
            Some(found) => found,
            None => Endpoint::of(&self.url, TIMEOUT)?,
        };
        let headers = [
            format!("Content-Type: {}", otlp::CONTENT_TYPE),
            "Connection: close".into(),
        ];
        let request = RequestParts::new("POST", &self.url, &headers, body)?.into();
        let response = exchange(&found, &request, self.tls.as_ref(), TIMEOUT)?;
        taken(&response)?;
        *endpoint = Some(found);
        Ok(())
    }
}

/// Whether a URL may be that of a receiver. What the URL of a load says of these mistakes would mislead here.
fn is_of_a_receiver(url: &str) -> Result<(), &'static str> {
    let scheme = url.split_once(':').map(|(scheme, _)| scheme);
    let authority = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    match scheme {
        _ if url.trim().is_empty() => Err(WRITE),
        Some(scheme) if url.contains("://") && !is_http(scheme) => Err(WRITE),
        _ if authority.contains('@') => Err(
            "Prony sends no user name to a receiver; push to a Collector without a password, which passes the figures on",
        ),
        _ => Ok(()),
    }
}

const WRITE: &str =
    "Prony pushes over HTTP, usually to port 4318: write for instance http://localhost:4318";

fn is_http(scheme: &str) -> bool {
    [Scheme::Http, Scheme::Https]
        .iter()
        .any(|it| it.name().eq_ignore_ascii_case(scheme))
}

fn taken(response: &Response) -> Result<(), String> {
    match response.status {
        200..=299 => otlp::rejection(&response.body).map_or(Ok(()), Err),
        status => Err(format!("it responded with status {status}")),
    }
}

/// The thread that pushes while the load runs. If this is dropped, nobody waits for the last push.
pub(crate) struct Pusher {
    /// The thread ends, after a last push, when this is dropped.
    running: Option<Sender<Infallible>>,
    thread: JoinHandle<Pushes>,
    first_failure: mpsc::Receiver<String>,
    url: String,
}

#[derive(Default)]
struct Pushes {
    all: u64,
    failed: u64,
}

impl Pusher {
    pub(super) fn start(receiver: Receiver, shared: Shared, cpus: Vec<usize>) -> io::Result<Self> {
        let (running, ended) = mpsc::channel();
        let (failures, first_failure) = mpsc::channel();
        let url = receiver.url.as_str().to_owned();
        let mut pushing = Pushing {
            receiver,
            shared,
            begun: SystemTime::now(),
            endpoint: None,
            failures,
            pushes: Pushes::default(),
        };
        let thread = Builder::new().name("otlp".into()).spawn(move || {
            // Where it cannot be pinned, it runs where the system puts it.
            let _ = prony_kernel::pin_current_thread(&cpus);
            pushing.run(&ended);
            pushing.pushes
        })?;
        Ok(Self {
            running: Some(running),
            thread,
            first_failure,
            url,
        })
    }

    /// What to say about the first push that failed, once.
    pub(super) fn first_failure(&self) -> Option<String> {
        let error = self.first_failure.try_recv().ok()?;
        let url = &self.url;
        Some(format!(
            "OTLP     the load goes on, but a push to {url} failed: {error}"
        ))
    }

    /// Lets the thread push a last time, without waiting for that.
    pub(super) fn end(mut self) -> Self {
        self.running = None;
        self
    }

    /// Waits for the last push. Returns what to say about pushes that failed.
    pub(crate) fn wait(self) -> Option<String> {
        let Pushes { all, failed } = self.thread.join().ok()?;
        if failed == 0 {
            return None;
        }
        let of = counted(all, "push", "pushes");
        let error = self.first_failure.try_recv();
        let error = error.map_or(String::new(), |untold| format!(": {untold}"));
        Some(format!(
            "OTLP     {failed} of {of} to {} failed{error}",
            self.url
        ))
    }
}

struct Pushing {
    receiver: Receiver,
    shared: Shared,
    begun: SystemTime,
    endpoint: Option<Endpoint>,
    failures: Sender<String>,
    pushes: Pushes,
}

impl Pushing {
    /// Pushes until `ended` is disconnected, and once more, unless the receiver has just let that wait in vain.
    fn run(&mut self, ended: &mpsc::Receiver<Infallible>) {
        let mut next = Instant::now() + EVERY;
        let until = |next: Instant| next.saturating_duration_since(Instant::now());
        while ended.recv_timeout(until(next)) == Err(RecvTimeoutError::Timeout) {
            let begun = Instant::now();
            let is_taken = self.push();
            let timed_out = !is_taken && begun.elapsed() >= TIMEOUT;
            if timed_out && ended.try_recv() == Err(TryRecvError::Disconnected) {
                return;
            }
            // After a slow push some are left out.
            next = (next + EVERY).max(Instant::now());
        }
        self.push();
    }

    fn push(&mut self) -> bool {
        let figures = self.shared.copied();
        let now = SystemTime::now();
        let body = otlp::request(&self.shared.resource, &figures, self.begun, now);
        self.pushes.all += 1;
        let Err(error) = self.receiver.send(&mut self.endpoint, &body) else {
            return true;
        };
        self.pushes.failed += 1;
        if self.pushes.failed == 1 {
            // The load may have ended by now; then it is read at its end, if anybody waits for that.
            let _ = self.failures.send(error.to_string());
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::table::rows;

    #[test]
    fn the_path_of_metrics_follows_the_url() {
        for [url, expected] in rows(
            "
            http://h:4318 | http://h:4318/v1/metrics
            http://h:4318/ | http://h:4318/v1/metrics
            http://h/a/otlp/ | http://h/a/otlp/v1/metrics
            http://h:4318/v1/metrics | http://h:4318/v1/metrics
            http://h/a/v1/metrics/ | http://h/a/v1/metrics
        ",
        ) {
            assert_eq!(Receiver::at(url).unwrap().url.as_str(), expected);
        }
    }

    #[test]
    fn a_wrong_url_is_refused() {
        for [wrong, why] in rows(
            r#"
            localhost:4318 | did you mean
            grpc://h:4317 | pushes over HTTP
            "" | pushes over HTTP
            http://u:p@h:4318 | sends no user name
            http://h/?a=b | query
            http://h/#a | fragment
        "#,
        ) {
            let error = Receiver::at(wrong).err().unwrap().to_string();
            assert!(error.contains(why) && !error.contains("-H "), "{error}");
        }
    }
}
