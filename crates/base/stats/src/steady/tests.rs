use fastrand::Rng;
use proptest::prelude::*;

use super::*;
use crate::simulated::{normal, share};

/// How long a search may take, as in a run.
const LIMIT_S: f64 = 20.0;

/// A server on one CPU whose speed at `t` seconds is `speed(t)` times its best; read five times a second.
fn watch(pace: Pace, noise: f64, random: &mut Rng, speed: impl Fn(f64) -> f64) -> (Course, Warmth) {
    let mut course = Course::new(pace);
    let mut last = Reading::default();
    loop {
        let at_s = last.at_s + 0.2;
        let fast = 10_000.0 * speed(at_s - 0.1);
        let disturbed = (noise * normal(random)).exp();
        let ok = match pace {
            Pace::Server => fast * disturbed * 0.2,
            Pace::Schedule => 500.0 * 0.2,
        };
        // Another program takes CPU time away, and a little of the caches.
        let cost = (0.3 * noise * normal(random)).exp() / fast;
        last = Reading {
            at_s,
            ok: last.ok + ok,
            cpu_s: last.cpu_s + ok * cost,
        };
        let warmth = course.push(last);
        if warmth == Warmth::Steady {
            return (course, warmth);
        }
        if at_s >= LIMIT_S {
            let warmth = if course.improves() {
                Warmth::Improving
            } else {
                Warmth::Steady
            };
            return (course, warmth);
        }
    }
}

/// When the search ended, its result, and how fast the server was by then.
fn searched(pace: Pace, noise: f64, seed: u64, speed: impl Fn(f64) -> f64) -> (f64, Warmth, f64) {
    let (course, warmth) = watch(pace, noise, &mut Rng::with_seed(seed), &speed);
    (course.end_s(), warmth, speed(course.end_s()))
}

/// Rises from a tenth of its best towards its best.
fn rises(time_constant_s: f64) -> impl Fn(f64) -> f64 + Copy {
    move |at_s| 1.0 - 0.9 * (-at_s / time_constant_s).exp()
}

#[test]
fn a_server_that_needs_no_warm_up_is_steady_after_two_seconds() {
    for pace in [Pace::Server, Pace::Schedule] {
        let (end_s, warmth, _) = searched(pace, 0.0, 1, |_| 1.0);
        assert_eq!(warmth, Warmth::Steady);
        assert!((2.0..2.7).contains(&end_s), "{end_s}");
    }
    let mut random = Rng::with_seed(7);
    let mut spent = 0.0;
    for _ in 0..500 {
        let (course, warmth) = watch(Pace::Server, 0.08, &mut random, |_| 1.0);
        assert_eq!(warmth, Warmth::Steady);
        assert!(course.time_to_warm_s().unwrap() <= 1.0);
        spent += course.end_s();
    }
    // Noise makes it longer, but not endless.
    assert!(spent / 500.0 < 4.0, "{}", spent / 500.0);
}

#[test]
fn nothing_is_decided_in_the_first_two_seconds() {
    let mut course = Course::new(Pace::Server);
    for fifth in 1..10 {
        let at_s = f64::from(fifth) * 0.2;
        let reading = Reading {
            at_s,
            ok: at_s * 1000.0,
            cpu_s: at_s,
        };
        assert_eq!(course.push(reading), Warmth::TooEarly);
    }
}

#[test]
fn a_slow_warm_up_is_seen_through_noise() {
    for time_constant_s in [0.5, 1.0, 2.0, 3.0] {
        for pace in [Pace::Server, Pace::Schedule] {
            let mut seed = 0;
            let found = share(400, || {
                seed += 1;
                let speed = rises(time_constant_s);
                let (_, warmth, reached) = searched(pace, 0.08, seed, speed);
                warmth == Warmth::Steady && reached > 0.9
            });
            assert!(found > 0.95, "{time_constant_s} s, {pace:?}: {found}");
        }
    }
}

#[test]
fn the_time_to_warm_is_about_right() {
    for time_constant_s in [0.5, 1.0, 2.0, 3.0] {
        let mut random = Rng::with_seed(3);
        for _ in 0..200 {
            let (course, _) = watch(Pace::Server, 0.08, &mut random, rises(time_constant_s));
            let found_s = course.time_to_warm_s().unwrap();
            // After 2.2 time constants it is a tenth below its best.
            let true_s = 2.2 * time_constant_s;
            assert!(
                (0.4 * true_s..1.8 * true_s).contains(&found_s),
                "{time_constant_s}: {found_s}"
            );
        }
    }
}

/// Interpreted, compiled by the first compiler, compiled by the second.
#[test]
fn plateaus_of_a_second_do_not_end_the_search() {
    for jumps_s in [
        [0.2, 0.4, 1.4],
        [0.4, 0.8, 1.8],
        [0.5, 1.0, 2.0],
        [1.0, 2.5, 3.6],
    ] {
        let speed = |at_s: f64| {
            let jumps = jumps_s.iter().filter(|jump_s| at_s >= **jump_s);
            [0.05, 0.2, 0.4, 1.0][jumps.count()]
        };
        let mut seed = 0;
        let found = share(300, || {
            seed += 1;
            let (_, warmth, reached) = searched(Pace::Server, 0.08, seed, speed);
            warmth == Warmth::Steady && reached == 1.0
        });
        assert!(found > 0.97, "{jumps_s:?} s: {found}");
    }
}

#[test]
fn a_server_that_keeps_getting_faster_is_improving_at_the_limit() {
    let mut seed = 0;
    let found = share(300, || {
        seed += 1;
        let (_, warmth, _) = searched(Pace::Server, 0.08, seed, |at_s| 0.05 * at_s);
        warmth == Warmth::Improving
    });
    assert!(found > 0.97, "{found}");
}

#[test]
fn a_drift_of_the_machine_is_no_warm_up() {
    for drift in [0.002, -0.01] {
        let mut seed = 0;
        let found = share(300, || {
            seed += 1;
            let (_, warmth, _) = searched(Pace::Server, 0.08, seed, |at_s| 1.0 + drift * at_s);
            warmth == Warmth::Steady
        });
        assert!(found > 0.98, "{drift}: {found}");
    }
}

#[test]
fn few_responses_or_none_do_not_prolong_the_search() {
    let mut course = Course::new(Pace::Server);
    let mut random = Rng::with_seed(5);
    let mut ok = 0.0;
    let mut warmth = Warmth::TooEarly;
    for fifth in 1..=60 {
        ok += f64::from(random.u8(..3));
        let at_s = f64::from(fifth) * 0.2;
        warmth = course.push(Reading {
            at_s,
            ok,
            cpu_s: at_s / 10.0,
        });
    }
    assert_eq!(warmth, Warmth::Steady);
    let mut silent = Course::new(Pace::Server);
    for fifth in 1..=60 {
        warmth = silent.push(Reading {
            at_s: f64::from(fifth) * 0.2,
            ..Reading::default()
        });
    }
    assert_eq!((warmth, silent.time_to_warm_s()), (Warmth::Steady, None));
}

#[test]
fn a_server_that_gets_little_cpu_is_given_longer() {
    let ends_s = |share: f64| {
        let mut course = Course::new(Pace::Server);
        let fifths = (1..100).map(f64::from).map(|fifth| fifth * 0.2);
        let mut readings = fifths.map(|at_s| Reading {
            at_s,
            ok: 1000.0 * share * at_s,
            cpu_s: share * at_s,
        });
        readings
            .find(|reading| course.push(*reading) == Warmth::Steady)
            .unwrap()
            .at_s
    };
    assert!(ends_s(1.0) < 2.7);
    assert!((5.0..6.5).contains(&ends_s(0.2)), "{}", ends_s(0.2));
    // It may use little because it receives few requests.
    assert!((8.0..10.5).contains(&ends_s(0.01)), "{}", ends_s(0.01));
}

/// Another program takes a quarter of the CPU, then less and less.
#[test]
fn another_program_that_stops_is_no_warm_up() {
    let mut course = Course::new(Pace::Server);
    let mut last = Reading::default();
    let mut rising = 0;
    for fifth in 1..=100 {
        let at_s = f64::from(fifth) * 0.2;
        let share = 0.75 + 0.0125 * at_s;
        last = Reading {
            at_s,
            ok: last.ok + 2000.0 * share,
            cpu_s: last.cpu_s + 0.2 * share,
        };
        rising += u32::from(course.push(last) == Warmth::Improving);
    }
    // The search waits, but does not attribute the rise to the server.
    assert!(rising > 5 && !course.improves());
    assert!(course.time_to_warm_s().unwrap() < 1.0);
}

fn rounds(count: usize, gain: f64, noise: f64, random: &mut Rng) -> Vec<Round> {
    let round = |place| {
        let speed = 1000.0 * (1.0 + gain * place as f64);
        Round {
            rate_per_s: speed * (noise * normal(random)).exp(),
            cpu_per_ok_s: (noise * normal(random)).exp() / speed,
        }
    };
    (0..count).map(round).collect()
}

#[test]
fn rounds_that_get_faster_are_told_from_noise() {
    let mut random = Rng::with_seed(11);
    // Beyond seven rounds each p-value takes 10,000 orders.
    for (count, times) in [(5, 1000), (6, 300), (8, 30)] {
        for pace in [Pace::Server, Pace::Schedule] {
            let alarm = share(times, || {
                improves_over_rounds(&rounds(count, 0.0, 0.08, &mut random), pace)
            });
            assert!(alarm < 0.04, "{count}, {pace:?}: {alarm}");
        }
        let seen = share(times, || {
            improves_over_rounds(&rounds(count, 0.1, 0.02, &mut random), Pace::Server)
        });
        assert!(seen > 0.9, "{count}: {seen}");
    }
    let few = rounds(4, 0.5, 0.0, &mut random);
    assert!(!improves_over_rounds(&few, Pace::Server));
}

proptest! {
    /// Any counts get a verdict, and in time.
    #[test]
    fn any_course_is_judged(
        steps in prop::collection::vec((0.0f64..0.5, 0.0f64..1e6, 0.0f64..2.0), 0..200),
    ) {
        let mut course = Course::new(Pace::Server);
        let mut last = Reading::default();
        for (seconds, ok, cpu_s) in steps {
            last = Reading {
                at_s: last.at_s + seconds,
                ok: last.ok + ok,
                cpu_s: last.cpu_s + cpu_s,
            };
            let warmth = course.push(last);
            prop_assert!(warmth == Warmth::TooEarly || course.end_s() >= LEAST_S);
            prop_assert!(warmth != Warmth::TooEarly || course.end_s() < LONG_S);
        }
        if let Some(warm_s) = course.time_to_warm_s() {
            prop_assert!((0.0..=course.end_s()).contains(&warm_s));
        }
    }
}
