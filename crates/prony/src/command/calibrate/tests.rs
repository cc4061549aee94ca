//! Golden tests of calibrations of imaginary machines.

use prony_model::{CpuAssignment, Machine};

use super::calibration::Calibration;
use super::conditions::{Conditions, OpenFiles};
use super::engine::{AtRate, Engine, RequestCost, ScheduleLag};
use super::round_trip::RoundTrips;
use super::show;
use super::timing::{Clock, Percentiles, Wakeups};
use crate::tests::golden;

pub(super) fn percentiles(p50: u64) -> Percentiles {
    Percentiles {
        count: 5000,
        p50,
        p99: Some(10 * p50),
        max: 100 * p50,
    }
}

pub(super) fn at(rate_per_s: f64, rate_ratio: f64, limited: Option<&str>) -> AtRate {
    AtRate {
        rate_per_s,
        rate_ratio,
        lag_ns: Some(percentiles(20_000)),
        generator_busy: limited.map_or(0.5, |_| 0.99),
        client_limited_by: limited.map(str::to_owned),
    }
}

/// A machine that shows everything.
pub(super) fn all() -> Calibration {
    let cost = RequestCost {
        user_ns: 1000.0,
        system_ns: 4000.0,
        cycles: Some(20_700.0),
        instructions: Some(13_000.0),
    };
    Calibration {
        clock: Some(Clock {
            read_ns: 21.3,
            step_ns: 1,
        }),
        wakeups: Some(Wakeups {
            asked_ns: 1_000_000,
            sleeping: Some(percentiles(52_000)),
            spinning: Some(percentiles(90)),
        }),
        round_trips: Some(RoundTrips {
            two_cpus: Some(percentiles(30_000)),
            one_cpu: Some(percentiles(9_000)),
        }),
        engine: Some(Engine {
            event_loop: "io_uring".into(),
            duration_s: 2.0,
            rate_per_s: 1e5,
            generator: Some(cost),
            system_calls: Some(2.004),
            generator_busy: 0.95,
            server: Some(cost),
            server_busy: 0.5,
            latency_ns: Some(percentiles(500_000)),
        }),
        schedule_lag: Some(ScheduleLag {
            sleeping: vec![
                at(1e3, 1.0, None),
                at(5e3, 0.9994, None),
                at(2e4, 0.7, Some("a thread was 99 % busy")),
            ],
            spinning: vec![at(1e3, 1.0, None)],
        }),
        conditions: Some(Conditions {
            machine: Machine {
                cpu_model: "Example CPU 3000".into(),
                cpus: 2,
                cpu_quota: None,
                kernel: "6.12.0".into(),
                virtualization: Some("virtual machine (KVM)".into()),
                governor: Some("performance".into()),
                ..Machine::default()
            },
            cpus: CpuAssignment {
                server: vec![0],
                load: vec![1],
            },
            open_files: Some(OpenFiles {
                now: Some(1024),
                most: None,
            }),
            local_ports: Some([32_768, 60_999]),
            energy_is_told: Some(true),
            frequency_mhz: Some((1_800.0, 3_400.0)),
            steal_share: Some(0.034),
        }),
        ..Calibration::default()
    }
}

/// A machine that shows next to nothing, with a single CPU for server and generator.
fn little() -> Option<Calibration> {
    let mut little = all();
    little.clock = None;
    little.wakeups.as_mut()?.spinning = None;
    let trips = little.round_trips.as_mut()?;
    trips.two_cpus = None;
    trips.one_cpu.as_mut()?.p99 = None;
    let engine = little.engine.as_mut()?;
    let cost = engine.generator.as_mut()?;
    (cost.cycles, cost.instructions) = (None, None);
    (engine.system_calls, engine.latency_ns) = (None, None);
    (engine.server, engine.server_busy, engine.generator_busy) = (None, 0.3, 0.2);
    let mut slow = at(1e3, 0.5, None);
    slow.lag_ns = None;
    little.schedule_lag = Some(ScheduleLag {
        sleeping: vec![slow],
        spinning: Vec::new(),
    });
    let seen = little.conditions.as_mut()?;
    (seen.machine.virtualization, seen.machine.governor) = (None, None);
    seen.cpus.load = vec![0];
    (seen.open_files, seen.local_ports, seen.energy_is_told) = (None, None, None);
    (seen.frequency_mhz, seen.steal_share) = (None, None);
    Some(little)
}

#[test]
fn calibrations_are_the_golden_ones() {
    let mut saturated = all();
    if let Some(engine) = &mut saturated.engine {
        (engine.generator_busy, engine.server_busy) = (0.5, 0.99);
    }
    if let Some(seen) = &mut saturated.conditions {
        seen.energy_is_told = Some(false);
    }
    let stopped = Calibration {
        clock: all().clock,
        ..Calibration::default()
    };
    let texts = [
        ("everything", all()),
        ("the reference server is the bottleneck", saturated),
        ("little", little().unwrap()),
        ("stopped after the clock", stopped),
        ("stopped at once", Calibration::default()),
    ];
    let texts = texts.map(|(title, one)| (title, show::text(&one, 80)));
    golden("calibrate", &texts);
}
