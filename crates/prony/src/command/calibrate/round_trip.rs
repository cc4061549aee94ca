//! The loopback round trip of one byte over TCP, with no work in between.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use prony_model::{CpuAssignment, LatencyHistogram};
use serde::Serialize;

use super::timing::{Percentiles, on_cpus, pin};

/// A byte takes microseconds; only a fault takes this long.
const PATIENCE: Duration = Duration::from_secs(10);
/// Not counted: caches and the connection are cold.
const FIRST: Duration = Duration::from_millis(20);

/// The round-trip time of one byte between two threads that sleep until it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RoundTrips {
    /// Between the server's CPU and the generator's; `None` if they are the same.
    pub(crate) two_cpus: Option<Percentiles>,
    /// Both threads on the generator's CPU.
    pub(crate) one_cpu: Option<Percentiles>,
}

impl RoundTrips {
    /// Measures each for this long.
    pub(crate) fn measure(cpus: &CpuAssignment, each: Duration) -> io::Result<Self> {
        let first = |cpus: &[usize]| cpus.first().map(|&cpu| vec![cpu]).unwrap_or_default();
        let (server, load) = (first(&cpus.server), first(&cpus.load));
        let two_cpus = if server == load {
            None
        } else {
            Percentiles::of(&round_trips(&server, &load, each)?)
        };
        Ok(Self {
            two_cpus,
            one_cpu: Percentiles::of(&round_trips(&load, &load, each)?),
        })
    }
}

fn round_trips(there: &[usize], here: &[usize], each: Duration) -> io::Result<LatencyHistogram> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let near = connection(TcpStream::connect(listener.local_addr()?)?)?;
    let far = connection(listener.accept()?.0)?;
    thread::scope(|scope| {
        let echo = scope.spawn(move || {
            pin(there)?;
            send_back(far)
        });
        let measured = on_cpus(here, move || send_and_time(near, each));
        // The near end is closed by now, which ends the echo.
        let echoed = echo
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the echoing thread panicked")));
        let measured = measured?;
        echoed.map(|()| measured)
    })
}

fn connection(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn send_back(mut stream: TcpStream) -> io::Result<()> {
    let mut byte = [0];
    while stream.read(&mut byte)? > 0 {
        stream.write_all(&byte)?;
    }
    Ok(())
}

fn send_and_time(mut stream: TcpStream, each: Duration) -> io::Result<LatencyHistogram> {
    let mut trips = LatencyHistogram::new();
    let begin = Instant::now();
    let mut byte = [1];
    loop {
        let sent = Instant::now();
        stream.write_all(&byte)?;
        stream.read_exact(&mut byte)?;
        let back = Instant::now();
        let so_far = back - begin;
        if so_far >= FIRST {
            let trip = (back - sent).as_nanos();
            trips.record(u64::try_from(trip).unwrap_or(u64::MAX));
        }
        // A trip during which the machine stood still counts too, and may be the only one.
        if so_far >= FIRST + each {
            return Ok(trips);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(200);

    #[test]
    fn bytes_come_back() {
        let trips = round_trips(&[], &[], SHORT).unwrap();
        assert!(trips.count() > 0 && trips.value_at(0.5) > 0);
    }

    #[test]
    fn one_cpu_has_no_second() {
        let cpu = prony_kernel::allowed_cpus().unwrap()[0];
        let cpus = CpuAssignment {
            server: vec![cpu],
            load: vec![cpu],
        };
        let trips = RoundTrips::measure(&cpus, SHORT).unwrap();
        assert_eq!(trips.two_cpus, None);
        assert!(trips.one_cpu.is_some());
    }
}
