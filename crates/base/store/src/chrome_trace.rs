//! The trace of a load in the Trace Event Format, which Perfetto and Chrome show.
//!
//! Each thread of the load is a process, and each of its connections a thread of that process. If several requests are in
//! flight over a connection, it has as many threads, so that no two slices of one overlap.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;

use prony_model::{LoadTrace, Outcome, ThreadTrace, TracedRequest};
use serde::Serialize;

/// A request that is sent within this time of its due time did not wait: timers are that late.
const SHORTEST_WAIT_NS: u64 = 100_000;

/// Writes the trace as JSON.
///
/// # Errors
/// If the writer fails.
pub fn write_chrome_trace(trace: &LoadTrace, mut out: impl Write) -> io::Result<()> {
    let mut events = Events::default();
    for (thread, traced) in trace.threads.iter().enumerate() {
        events.add_thread(thread, traced, &trace.names);
    }
    let document = Document {
        display_time_unit: "ms",
        trace_events: &events.all,
    };
    serde_json::to_writer(&mut out, &document)?;
    writeln!(out)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    display_time_unit: &'static str,
    trace_events: &'a [Event],
}

/// Times are in microseconds.
#[derive(Default, Serialize)]
struct Event {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    ph: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    pid: usize,
    tid: usize,
    #[serde(skip_serializing_if = "Arguments::is_empty")]
    args: Arguments,
}

impl Event {
    fn on(track: Track, name: String, ph: &'static str, at_ns: u64) -> Self {
        Self {
            name,
            ph,
            ts: microseconds(at_ns),
            pid: track.pid,
            tid: track.tid,
            ..Self::default()
        }
    }
}

#[derive(Default, PartialEq, Serialize)]
struct Arguments {
    /// The name of a process or thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// What is shown beside the name of a process.
    #[serde(skip_serializing_if = "Option::is_none")]
    labels: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    grpc_status: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_bytes: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resent: bool,
}

impl Arguments {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn of(request: &TracedRequest) -> Self {
        let response = request.response;
        Self {
            outcome: Some(request.outcome.name()),
            status: response.map(|it| it.status),
            grpc_status: response.and_then(|it| it.rpc_status),
            body_bytes: response.map(|it| it.body_bytes),
            resent: request.is_resent,
            ..Self::default()
        }
    }
}

/// A track: the process and the thread of events. No two tracks have the same thread, because Perfetto takes those of the
/// same number for the same thread.
#[derive(Clone, Copy)]
struct Track {
    pid: usize,
    tid: usize,
}

#[derive(Default)]
struct Events {
    all: Vec<Event>,
    tracks: usize,
    waits: usize,
}

impl Events {
    fn add_thread(&mut self, thread: usize, traced: &ThreadTrace, names: &[String]) {
        let pid = thread + 1;
        let phases = self.track(pid, "phases".into());
        let label = match traced.every {
            1 => "every request".into(),
            every => format!("one request in {every}"),
        };
        self.describe("process_name", phases, |args| {
            args.name = Some(format!("load thread {pid}"));
        });
        self.describe("process_labels", phases, |args| args.labels = Some(label));
        for phase in &traced.phases {
            let name = if phase.is_measured {
                "measured"
            } else {
                "warm-up"
            };
            let times = phase.from_ns..phase.to_ns;
            self.slice(phases, name.into(), "phase", times, Arguments::default());
        }
        let mut lanes = Lanes::default();
        let mut requests: Vec<&TracedRequest> = traced.requests.iter().collect();
        requests.sort_by_key(|it| (it.connection, it.sent_ns, it.ended_ns));
        for request in requests {
            let name = name(request, names);
            self.add_wait(phases, request, &name);
            if let Some(sent) = request.sent_ns {
                let track = lanes.take(request.connection, sent..request.ended_ns, |title| {
                    self.track(pid, title)
                });
                self.add_request(track, request, name, sent);
            }
        }
    }

    fn add_request(&mut self, track: Track, request: &TracedRequest, name: String, sent: u64) {
        let times = sent..request.ended_ns;
        self.slice(track, name, "request", times, Arguments::of(request));
        // The first byte of a short response is also its last one.
        if let Some(first_byte) = request.first_byte_ns.filter(|&at| at < request.ended_ns) {
            let times = sent..first_byte;
            let name = "to first byte".into();
            self.slice(track, name, "request", times, Arguments::default());
        }
    }

    /// Adds the time until a request was sent, if it was sent noticeably later than due, or never. Waits overlap, so they
    /// have no track of their own.
    fn add_wait(&mut self, track: Track, request: &TracedRequest, name: &str) {
        let from = request.due_ns.unwrap_or(request.begun_ns);
        let to = request.sent_ns.unwrap_or(request.ended_ns);
        let waited = to.saturating_sub(from);
        let is_shown = match request.sent_ns {
            Some(_) => request.due_ns.is_some() && waited >= SHORTEST_WAIT_NS,
            None => waited > 0,
        };
        if !is_shown {
            return;
        }
        let id = format!("{:#x}", self.waits);
        self.waits += 1;
        for (ph, at) in [("b", from), ("e", to)] {
            let args = match (ph, request.sent_ns) {
                ("b", None) => Arguments::of(request),
                _ => Arguments::default(),
            };
            self.all.push(Event {
                cat: Some("queued"),
                id: Some(id.clone()),
                args,
                ..Event::on(track, format!("queued {name}"), ph, at)
            });
        }
    }

    fn slice(
        &mut self,
        track: Track,
        name: String,
        cat: &'static str,
        times: Range<u64>,
        args: Arguments,
    ) {
        self.all.push(Event {
            cat: Some(cat),
            dur: Some(microseconds(times.end.saturating_sub(times.start))),
            args,
            ..Event::on(track, name, "X", times.start)
        });
    }

    /// Adds a track with this title.
    fn track(&mut self, pid: usize, title: String) -> Track {
        self.tracks += 1;
        let track = Track {
            pid,
            tid: self.tracks,
        };
        self.describe("thread_name", track, |args| args.name = Some(title));
        track
    }

    fn describe(&mut self, what: &str, track: Track, with: impl FnOnce(&mut Arguments)) {
        let mut args = Arguments::default();
        with(&mut args);
        self.all.push(Event {
            args,
            ..Event::on(track, what.into(), "M", 0)
        });
    }
}

/// The tracks of each connection: as many as requests are in flight at a time.
#[derive(Default)]
struct Lanes(BTreeMap<usize, Vec<Lane>>);

struct Lane {
    track: Track,
    /// When its last slice ends.
    ends: u64,
}

impl Lanes {
    /// The track of a slice, which begins no earlier than those before it.
    fn take(
        &mut self,
        connection: usize,
        times: Range<u64>,
        new: impl FnOnce(String) -> Track,
    ) -> Track {
        let lanes = self.0.entry(connection).or_default();
        if let Some(lane) = lanes.iter_mut().find(|lane| lane.ends <= times.start) {
            lane.ends = times.end;
            return lane.track;
        }
        let number = connection + 1;
        let title = match lanes.len() {
            0 => format!("connection {number}"),
            lanes => format!("connection {number}, lane {}", lanes + 1),
        };
        let track = new(title);
        lanes.push(Lane {
            track,
            ends: times.end,
        });
        track
    }
}

/// The name of a request, with its outcome if that is not ok: viewers colour slices by name.
fn name(request: &TracedRequest, names: &[String]) -> String {
    let name = names.get(request.number).map_or("request", String::as_str);
    match request.outcome {
        Outcome::Ok => name.to_owned(),
        outcome => format!("{name} ({})", outcome.name()),
    }
}

fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use prony_model::{TracedPhase, TracedResponse};
    use serde_json::{Value, json};

    use super::*;

    fn request(connection: usize, sent: u64, ended: u64) -> TracedRequest {
        TracedRequest {
            number: 0,
            connection,
            due_ns: None,
            begun_ns: sent,
            sent_ns: Some(sent),
            first_byte_ns: None,
            ended_ns: ended,
            outcome: Outcome::Ok,
            is_resent: false,
            response: None,
        }
    }

    fn written(requests: Vec<TracedRequest>) -> Vec<Value> {
        let measured = TracedPhase {
            is_measured: true,
            from_ns: 0,
            to_ns: 9000,
        };
        let thread = ThreadTrace {
            phases: vec![measured],
            every: 4,
            requests,
        };
        let trace = LoadTrace {
            names: vec!["GET /a".into()],
            threads: vec![thread],
        };
        let mut text = Vec::new();
        write_chrome_trace(&trace, &mut text).unwrap();
        let document: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(document["displayTimeUnit"], "ms");
        document["traceEvents"].as_array().unwrap().clone()
    }

    fn of<'a>(events: &'a [Value], category: &str) -> Vec<&'a Value> {
        let is = |event: &&Value| event["cat"] == category;
        events.iter().filter(is).collect()
    }

    #[test]
    fn a_request_is_a_slice_on_the_track_of_its_connection() {
        let events = written(vec![TracedRequest {
            first_byte_ns: Some(2500),
            response: Some(TracedResponse {
                status: 200,
                rpc_status: Some(0),
                body_bytes: 12,
            }),
            ..request(6, 1500, 4001)
        }]);
        let [whole, first_byte] = of(&events, "request")[..] else {
            panic!("{events:?}");
        };
        let expected = json!({"name": "GET /a", "cat": "request", "ph": "X", "ts": 1.5, "dur": 2.501, "pid": 1, "tid": 2,
            "args": {"outcome": "ok", "status": 200, "grpc_status": 0, "body_bytes": 12}});
        assert_eq!(*whole, expected);
        let expected = json!({"name": "to first byte", "cat": "request", "ph": "X", "ts": 1.5, "dur": 1.0, "pid": 1, "tid": 2});
        assert_eq!(*first_byte, expected);
        let named = events.iter().filter(|it| it["ph"] == "M");
        let named = named.map(|it| json!([it["name"], it["tid"], it["args"]]));
        let expected = [
            json!(["thread_name", 1, {"name": "phases"}]),
            json!(["process_name", 1, {"name": "load thread 1"}]),
            json!(["process_labels", 1, {"labels": "one request in 4"}]),
            json!(["thread_name", 2, {"name": "connection 7"}]),
        ];
        assert_eq!(named.collect::<Vec<_>>(), expected);
        let phase = of(&events, "phase")[0];
        assert_eq!(
            json!([phase["name"], phase["dur"]]),
            json!(["measured", 9.0])
        );
    }

    #[test]
    fn a_response_that_arrives_at_once_has_no_slice_of_its_own() {
        let events = written(vec![TracedRequest {
            first_byte_ns: Some(40),
            ..request(0, 10, 40)
        }]);
        assert_eq!(of(&events, "request").len(), 1);
    }

    #[test]
    fn requests_in_flight_together_have_lanes_and_the_first_free_one_is_used() {
        let times = [(0, 10), (2, 6), (4, 9), (6, 8), (10, 12)];
        let mut requests: Vec<_> = times.map(|(from, to)| request(0, from, to)).into();
        requests.reverse();
        requests.push(request(1, 3, 5));
        let events = written(requests);
        let tracks = of(&events, "request").into_iter().map(|it| &it["tid"]);
        assert_eq!(tracks.collect::<Vec<_>>(), [2, 3, 4, 3, 2, 5]);
        let mut names = events.iter().map(|it| &it["args"]["name"]);
        assert!(names.any(|name| name == "connection 1, lane 3"));
    }

    #[test]
    fn the_wait_of_a_request_is_an_asynchronous_slice() {
        let never_sent = TracedRequest {
            sent_ns: None,
            outcome: Outcome::TimedOut,
            ..request(0, 5000, 8000)
        };
        let due = TracedRequest {
            due_ns: Some(1000),
            ..request(0, 101_000, 108_000)
        };
        let at_once = TracedRequest {
            due_ns: Some(1001),
            ..due
        };
        let events = written(vec![never_sent, due, at_once]);
        let queued = of(&events, "queued");
        let waits = queued.iter().map(|it| {
            json!([
                it["ph"],
                it["id"],
                it["ts"],
                it["name"],
                it["args"]["outcome"]
            ])
        });
        let expected = [
            json!(["b", "0x0", 5.0, "queued GET /a (timed_out)", "timed_out"]),
            json!(["e", "0x0", 8.0, "queued GET /a (timed_out)", null]),
            json!(["b", "0x1", 1.0, "queued GET /a", null]),
            json!(["e", "0x1", 101.0, "queued GET /a", null]),
        ];
        assert_eq!(waits.collect::<Vec<_>>(), expected);
        assert_eq!(of(&events, "request").len(), 2);
    }
}
