//! `prony reference`: the reference server, which the server `ceiling` runs, or a slow one whose true latencies are known.

use std::error::Error;
use std::io;
use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use clap::Args;
use prony_model::LatencyHistogram;
use prony_reference::script::{
    Freeze, Latencies, Script, Service, even_arrivals, poisson_arrivals,
};
use prony_reference::{Config, ReferenceError, ScriptedServer, Work};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::arguments;
use crate::exit::Outcome;

const EXAMPLES: &str = "\
The environment says where it listens and what it serves: HOST, PORT, CPUS and ASSETS (the folder
workloads/assets). With TLS_CERT and TLS_KEY, PEM files of a certificate chain and its key, it
speaks only TLS. It serves HTTP/1.1, HTTP/2 (by ALPN, or by prior knowledge without TLS) and the
gRPC service of workloads/echo.proto.

With --freeze or --service it runs a slow server instead, for HTTP/1.1 without TLS: one queue, whose
requests are served in order of arrival by one or more workers (--workers). Serving a request means
waiting, and uses no CPU. The instant of each response follows from the arrivals, so the true
latencies of a load can be computed: --truth prints them. When stopped, the server prints how late
its responses left.

Examples:
  export HOST=127.0.0.1 PORT=8080 CPUS=1 ASSETS=workloads/assets
  prony reference                                    the reference server
  prony reference --work 20k                         20,000 steps of arithmetic per request
  prony reference --freeze 1s/10s                    frozen for the last second of every ten
  prony reference --service fixed:1ms                takes 1 ms for each request
  prony reference --service fixed:2ms --workers 4    4 at a time: a capacity of 2000/s
  prony reference --service exponential:500us --seed 7
  prony reference --service file:times.txt           one duration per line, over and over
  prony reference --freeze 1s/10s --truth 1000:25s   latencies of 1000 requests/s for 25 s
  prony reference --service fixed:2ms --workers 4 --truth poisson:1700:60s --seed 7";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Freeze for LENGTH at the end of every PERIOD, from the first request on: 1s/10s
    #[arg(long, value_name = "LENGTH/PERIOD")]
    freeze: Option<Freeze>,
    /// Take this long for each request: fixed:1ms, exponential:1ms (the mean) or file:PATH
    #[arg(long, value_name = "TIMES")]
    service: Option<Service>,
    /// Do this many steps of arithmetic for each request, about a nanosecond each, to make the server slower by a
    /// known amount
    #[arg(
        long,
        value_name = "STEPS",
        default_value = "0",
        value_parser = arguments::count,
        conflicts_with_all = ["freeze", "service", "truth"]
    )]
    work: u64,
    /// Serve N requests at a time
    #[arg(long, value_name = "N", value_parser = workers, default_value = "1", requires = "service")]
    workers: NonZeroUsize,
    /// Seed the exponential service times and the random arrivals of --truth; the same number repeats them
    #[arg(long, value_name = "NUMBER", value_parser = arguments::seed, default_value = "0", requires = "service")]
    seed: u64,
    /// Busy-wait while a client is connected, so that waking up delays no response; takes a whole CPU
    #[arg(long)]
    spin: bool,
    /// Print the true latencies of a load at RATE requests per second for DURATION, evenly spaced or at random
    /// (poisson), instead of serving
    #[arg(long, value_name = "[poisson:]RATE:DURATION", value_parser = open_load)]
    truth: Option<OpenLoad>,
}

/// More than any test needs, and few enough for memory.
const MOST_WORKERS: usize = 1_000_000;

#[derive(Clone, Copy)]
struct OpenLoad {
    is_random: bool,
    per_s: f64,
    requests: u64,
}

impl OpenLoad {
    /// Random arrivals use the inverted seed, because random service times use the seed itself.
    fn true_latencies(&self, script: &Script) -> Latencies {
        if self.is_random {
            let arrivals = poisson_arrivals(self.per_s, !script.seed);
            let end = Duration::from_secs_f64(self.requests as f64 / self.per_s);
            script.latencies(arrivals.take_while(|&arrival| arrival < end))
        } else {
            script.latencies(even_arrivals(self.per_s, self.requests))
        }
    }
}

/// Serves until stopped, or prints the true latencies.
pub(super) fn run(arguments: &Arguments) -> Outcome {
    let is_scripted = arguments.freeze.is_some() || arguments.service.is_some();
    let script = Script {
        freeze: arguments.freeze,
        service: arguments.service.clone().unwrap_or_default(),
        workers: arguments.workers,
        seed: arguments.seed,
    };
    if let Some(load) = arguments.truth {
        print_latencies(&load.true_latencies(&script));
    } else if is_scripted {
        serve_scripted(script, arguments.spin)?;
    } else {
        prony_reference::serve(Config {
            work: Work::steps(arguments.work),
            ..Config::from_environment()?
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn serve_scripted(script: Script, spin: bool) -> Result<(), Box<dyn Error>> {
    let mut server = ScriptedServer::bind(&Config::from_environment()?, script)?;
    if spin {
        server = server.spin();
    }
    let log = io::stdout().as_fd().try_clone_to_owned()?;
    let delay = Arc::new(Mutex::new(LatencyHistogram::new()));
    // The first is `None` for a signal, or else the result of the server.
    let (ends, end) = channel();
    forward_signals(ends.clone())?;
    let record = delay.clone();
    thread::spawn(move || {
        let result = server.run(log.into(), |responded| {
            let delay = responded.delay().as_nanos();
            let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
            record.record(u64::try_from(delay).unwrap_or(u64::MAX));
        });
        // Nobody receives it if a signal came first.
        let _ = ends.send(Some(result));
    });
    let end = end.recv();
    print_delay(&delay.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(end.ok().flatten().unwrap_or(Ok(()))?)
}

fn forward_signals(ends: Sender<Option<Result<(), ReferenceError>>>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    thread::spawn(move || {
        signals.forever().next();
        let _ = ends.send(None);
    });
    Ok(())
}

fn print_delay(delay: &LatencyHistogram) {
    let Some(summary) = delay.summary() else {
        errln!("no request was responded to");
        return;
    };
    errln!(
        "responded to {} requests; delay of the responses: p50 {} µs, p90 {} µs, p99 {} µs, p99.9 {} µs, max {} µs",
        delay.count(),
        microseconds(summary.p50),
        microseconds(summary.p90),
        microseconds(summary.p99),
        microseconds(summary.p999),
        microseconds(summary.max),
    );
}

/// Prints the percentiles in microseconds, readable by programs too.
fn print_latencies(latencies: &Latencies) {
    outln!("requests {}", latencies.count());
    for (name, quantile) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)] {
        let latency = latencies.at(quantile).as_nanos() as u64;
        outln!("{name} {} µs", microseconds(latency));
    }
}

fn microseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

fn workers(text: &str) -> Result<NonZeroUsize, String> {
    let count = arguments::positive(text)?;
    let count = NonZeroUsize::new(count).filter(|count| count.get() <= MOST_WORKERS);
    count.ok_or_else(|| "it must be from 1 to 1,000,000".into())
}

fn open_load(text: &str) -> Result<OpenLoad, String> {
    let wrong = || {
        format!(
            "`{text}` is not a load; write requests per second and a duration, for instance \
             1000:25s or poisson:1000:25s"
        )
    };
    let (is_random, load) = match text.strip_prefix("poisson:") {
        Some(load) => (true, load),
        None => (false, text),
    };
    let (rate, duration) = load.split_once(':').ok_or_else(wrong)?;
    let per_s = rate.parse::<f64>().map_err(|_| wrong())?;
    let duration = arguments::some_duration(duration)?;
    // Those that arrive before the duration is over.
    let requests = (per_s * duration.as_secs_f64()).ceil();
    if (1.0..=1e9).contains(&requests) {
        Ok(OpenLoad {
            is_random,
            per_s,
            requests: requests as u64,
        })
    } else {
        Err("the load must have from 1 to 1,000,000,000 requests".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_arrivals_have_the_rate_and_end_with_the_duration() {
        let script = Script::default();
        let load = open_load("poisson:1000:50s").unwrap();
        let count = load.true_latencies(&script).count() as f64;
        // The standard deviation of 50,000 random arrivals is 224.
        assert!((count - 50_000.0).abs() < 1500.0, "{count}");
    }

    #[test]
    fn there_is_at_least_one_worker() {
        assert_eq!(workers("4").unwrap().get(), 4);
        for text in ["0", "-1", "2M", "many"] {
            assert!(workers(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_load_is_parsed_from_its_rate_and_duration() {
        let load = open_load("1000:2500ms").unwrap();
        assert_eq!((load.per_s, load.requests), (1000.0, 2500));
        assert!(!load.is_random);
        assert_eq!(open_load("0.3:10s").unwrap().requests, 3);
        assert!(open_load("poisson:0.3:10s").unwrap().is_random);
        for text in "1000 fast:1s 1000: 1000:0s poisson: even:1000:1s".split(' ') {
            assert!(open_load(text).is_err(), "{text}");
        }
        for text in ["0:1s", "-5:1s", "NaN:1s", "inf:1s", "1e9:2s"] {
            let error = open_load(text).err().unwrap();
            assert!(error.contains("from 1 to"), "{text}: {error}");
        }
    }
}
