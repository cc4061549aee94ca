//! Golden tests of calibrations of imaginary machines.

use prony_model::{CpuAssignment, Machine};

use super::calibration::Calibration;
use super::conditions::{Conditions, OpenFiles};
use super::engine::{AtRate, Engine, RequestCost, ScheduleLag};
use super::round_trip::RoundTrips;
use super::show;
use super::timing::{Clock, Percentiles, Wakeups};
use crate::tests::golden;

fn percentiles(p50: u64) -> Percentiles {
    Percentiles {
        count: 5000,
        p50,
        p99: Some(10 * p50),
        max: 100 * p50,
    }
}

fn at(rate_per_s: f64, rate_ratio: f64, limited: Option<&str>) -> AtRate {
    AtRate {
        rate_per_s,
        rate_ratio,
        lag_ns: Some(percentiles(20_000)),
        generator_busy: limited.map_or(0.5, |_| 0.99),
        client_limited_by: limited.map(str::to_owned),
    }
}

/// A machine that shows everything.
fn all() -> Calibration {
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
fn little() -> Calibration {
    let full = all();
    Calibration {
        wakeups: full.wakeups.map(|wakeups| Wakeups {
            spinning: None,
            ..wakeups
        }),
        round_trips: Some(RoundTrips {
            two_cpus: None,
            one_cpu: Some(Percentiles {
                p99: None,
                ..percentiles(9_000)
            }),
        }),
        engine: full.engine.map(|engine| Engine {
            generator: engine.generator.map(|cost| RequestCost {
                cycles: None,
                instructions: None,
                ..cost
            }),
            system_calls: None,
            generator_busy: 0.2,
            server: None,
            server_busy: 0.3,
            latency_ns: None,
            ..engine
        }),
        schedule_lag: Some(ScheduleLag {
            sleeping: vec![AtRate {
                lag_ns: None,
                ..at(1e3, 0.5, None)
            }],
            spinning: Vec::new(),
        }),
        conditions: full.conditions.map(|seen| Conditions {
            machine: Machine {
                virtualization: None,
                governor: None,
                ..seen.machine
            },
            cpus: CpuAssignment {
                server: vec![0],
                load: vec![0],
            },
            open_files: None,
            local_ports: None,
            energy_is_told: None,
            frequency_mhz: None,
            steal_share: None,
        }),
        ..Calibration::default()
    }
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
    golden(
        "calibrate",
        &[
            ("everything", show::text(&all(), 80)),
            (
                "the reference server is the bottleneck",
                show::text(&saturated, 80),
            ),
            ("little", show::text(&little(), 80)),
            ("stopped after the clock", show::text(&stopped, 80)),
            ("stopped at once", show::text(&Calibration::default(), 80)),
        ],
    );
}
