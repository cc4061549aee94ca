//! A trial's load made by another load generator.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use prony_driver::{Arrivals, DriveError, DriverResult, End, Load, Reported, Resources, Tool};
use prony_model::{
    Arrivals as RecordedArrivals, Ended, GeneratorCost, LatencyHistogram, LoadResult, LoadShape,
    LoadSpec, Outcome, Outcomes, Schedule, Target, WarmupResult, WrongResponse,
};

use crate::workload::{Request, Workload};

/// Above this share of its time a generator's thread may have been the limit, as in the load engine.
const BUSY: f64 = 0.9;
/// A timeout that is never reached; tools want one.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);

/// Why a driver does not support the load of a measure.
#[derive(Debug)]
pub struct CannotDrive(String);

impl fmt::Display for CannotDrive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why `tool` cannot put the load `spec` of `workload` on a server; `None` if it can.
pub fn cannot_drive(tool: &Tool, workload: &Workload, spec: &LoadSpec) -> Option<CannotDrive> {
    let load = match load(workload, spec, "127.0.0.1:1") {
        Ok(load) => load,
        Err(why) => return Some(CannotDrive(format!("it does not support {why}"))),
    };
    if let Some(why) = tool.cannot_make(&load) {
        return Some(CannotDrive(why.to_string()));
    }
    let why = tool.cannot_make(&warmup(spec, &load)?)?;
    Some(CannotDrive(format!("{why}, which the warm-up needs")))
}

/// What must be known of a run whose load a driver makes.
pub fn note(tool: &Tool) -> String {
    let note = format!(
        "{} generated the load, not Prony's own engine: responses were counted as that tool counts \
         them and not compared during the load. No latency is shown: merging the percentiles of \
         several rounds takes histograms, which that tool does not report. Prony's engine first \
         warmed each server up until it was steady; that tool then ran the load's own warm-up.",
        tool.name_and_version()
    );
    match &tool.manifest.notes {
        Some(notes) => format!("{note} {notes}"),
        None => note,
    }
}

/// A load in the words of the drivers.
fn load(workload: &Workload, spec: &LoadSpec, host: &str) -> Result<Load, &'static str> {
    let Request::Http { method, path } = &workload.request else {
        return Err("gRPC");
    };
    let arrivals = match &spec.shape {
        LoadShape::Closed => Arrivals::Closed,
        LoadShape::Rate(schedule) => Arrivals::Rate(even_rate(schedule)?),
        LoadShape::UsersClosed { .. } | LoadShape::UsersOpen { .. } => {
            return Err("users with a think time");
        }
    };
    let close = match spec.requests_per_connection {
        None => false,
        Some(1) => true,
        Some(_) => return Err("a new connection every N requests"),
    };
    if spec.streams > 0 {
        return Err("streams beside the load");
    }
    if spec.deadline_s.is_some() {
        return Err("deadlines");
    }
    if spec
        .max_connections
        .is_some_and(|most| most > spec.connections)
    {
        return Err("opening more connections when a rate needs them");
    }
    if spec.spin {
        return Err("busy-waiting (`spin`)");
    }
    if spec.events {
        return Err("counting events");
    }
    if spec.first_byte {
        return Err("the time to the first byte");
    }
    Ok(Load {
        arrivals,
        connections: spec.connections,
        threads: spec.threads,
        end: match (spec.duration_s, spec.requests) {
            (Some(duration), None) => End::After(Duration::from_secs_f64(duration)),
            (None, Some(requests)) => End::Requests(requests),
            _ => {
                return Err("an end by duration or requests, whichever comes first");
            }
        },
        pipeline: spec.pipeline,
        close,
        method: (method != "GET").then(|| method.clone()),
        timeout: Duration::try_from_secs_f64(spec.timeout_s)
            .map_or(LONGEST_TIMEOUT, |timeout| timeout.min(LONGEST_TIMEOUT)),
        ..Load::new(format!("http://{host}{path}"))
    })
}

/// The load before `load` that warms the server up; `None` if there is to be none.
fn warmup(spec: &LoadSpec, load: &Load) -> Option<Load> {
    (spec.warmup_s > 0.0).then(|| Load {
        // Some tools know whole seconds alone, and a warm-up may be longer.
        end: End::After(Duration::from_secs_f64(spec.warmup_s.ceil())),
        ..load.clone()
    })
}

/// The rate of a schedule that is even and the same from beginning to end.
fn even_rate(schedule: &Schedule) -> Result<f64, &'static str> {
    match &schedule.stages[..] {
        _ if schedule.arrivals != RecordedArrivals::Even => Err("Poisson arrivals"),
        _ if schedule.burst > 1 => Err("bursts"),
        [only] if only.from_per_s == only.to_per_s => Ok(only.to_per_s),
        _ => Err("a changing rate"),
    }
}

/// A driver on a server.
pub struct Drive<'a> {
    pub tool: &'a Tool,
    pub workload: &'a Workload,
    pub spec: &'a LoadSpec,
    /// Where the server listens.
    pub host: String,
    pub cpus: &'a [usize],
}

impl Drive<'_> {
    /// Warms the server up and measures.
    ///
    /// # Errors
    /// If the tool fails or `interrupt` is set.
    pub fn run(&self, interrupt: &AtomicBool) -> Result<LoadResult, DriveError> {
        let load = load(self.workload, self.spec, &self.host);
        // What cannot be made is not planned.
        let load = load.map_err(|what| DriveError::CannotMake(what.into()))?;
        let limits = Resources {
            cpus: self.cpus.to_vec(),
            counters: None,
        };
        let warmup = warmup(self.spec, &load)
            .map(|warmup| self.tool.run(&warmup, &limits, interrupt))
            .transpose()?;
        let measured = self.tool.run(&load, &limits, interrupt)?;
        Ok(self.result(&load, warmup.as_ref(), &measured))
    }

    fn result(
        &self,
        load: &Load,
        warmup: Option<&DriverResult>,
        gave: &DriverResult,
    ) -> LoadResult {
        let told = &gave.reported;
        let outcomes = outcomes(told);
        let method = load.method.clone();
        LoadResult {
            target: Target {
                url: load.url.clone(),
                method: method.unwrap_or_else(|| "GET".to_owned()),
                address: self.host.clone(),
            },
            load: self.spec.clone(),
            ended: match load.end {
                End::After(_) => Ended::Duration,
                End::Requests(_) => Ended::Requests,
            },
            duration_s: told.duration_s,
            requests: outcomes.total(),
            outcomes,
            warmup: warmup.map(|warmup| WarmupResult {
                duration_s: warmup.reported.duration_s,
                outcomes: self::outcomes(&warmup.reported),
            }),
            rate_per_s: told.rate_per_s(),
            bytes_read: told.bytes_read.or(told.body_bytes).unwrap_or(0),
            bytes_written: 0,
            connections_opened: 0,
            reconnects: 0,
            resent: 0,
            port_waits: 0,
            open: None,
            statuses: [].into(),
            latency_ns: None,
            first_byte_ns: None,
            events: None,
            streams: None,
            connect_ns: None,
            histogram: LatencyHistogram::new().to_base64(),
            within_stdev: 0.0,
            first_wrong: first_wrong(self.tool, told),
            // No tool shows its responses, so nothing of them can be compared.
            checked: None,
            generator: self.cost(gave),
            timeline: None,
            tcp: None,
            slow_because: None,
        }
    }

    fn cost(&self, gave: &DriverResult) -> GeneratorCost {
        let usage = &gave.usage;
        let available_s = usage.wall_s * self.spec.threads as f64;
        let busy = if available_s > 0.0 {
            usage.cpu_s() / available_s
        } else {
            0.0
        };
        GeneratorCost {
            cpu_user_s: usage.cpu_user_s,
            cpu_system_s: usage.cpu_system_s,
            busy_max: busy,
            event_loop: self.tool.name_and_version(),
            client_limited: busy > BUSY,
            client_limited_by: (busy > BUSY).then(|| {
                format!(
                    "{} was {:.0} % busy",
                    self.tool.manifest.title,
                    busy * 100.0
                )
            }),
            cpus: self.cpus.to_vec(),
            ..GeneratorCost::default()
        }
    }
}

/// The outcome that comes nearest to what a tool calls an error.
fn outcome_of(kind: &str) -> Outcome {
    match kind {
        "connect" => Outcome::Refused,
        "timeout" => Outcome::TimedOut,
        "dropped" => Outcome::Shed,
        // `read`, `write` and errors of an unknown kind: no whole response came.
        _ => {
            let named = Outcome::ALL.into_iter().find(|one| one.name() == kind);
            named.unwrap_or(Outcome::Reset)
        }
    }
}

fn outcomes(told: &Reported) -> Outcomes {
    let mut outcomes = Outcomes::default();
    outcomes[Outcome::Ok] = told.ok;
    outcomes[Outcome::WrongStatus] = told.wrong_status.unwrap_or(0);
    outcomes[Outcome::Unfinished] = told.unfinished.unwrap_or(0);
    for (kind, count) in &told.errors {
        outcomes[outcome_of(kind)] += count;
    }
    outcomes
}

fn first_wrong(tool: &Tool, told: &Reported) -> Option<WrongResponse> {
    let title = &tool.manifest.title;
    let wrong_status = told.wrong_status.filter(|count| *count > 0);
    if let Some(count) = wrong_status {
        return Some(WrongResponse {
            outcome: Outcome::WrongStatus.name().to_owned(),
            detail: format!("{title} reports {count} responses with an unexpected status"),
        });
    }
    let (kind, count) = told.errors.iter().find(|(_, count)| **count > 0)?;
    Some(WrongResponse {
        outcome: outcome_of(kind).name().to_owned(),
        detail: format!("{title} reports {count} `{kind}` errors"),
    })
}

#[cfg(test)]
mod tests;
