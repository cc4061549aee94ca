//! Arrivals of a shared schedule: whichever connection is free takes the next one.

use prony_model::{Arrivals, Schedule, Stage};

use super::budget::Budget;
use super::overdue::{Overdue, Walk};
use super::random::exponential;
use super::stages::Stages;
use super::{DueInstants, Next, Pacer, SharedBudget};
use crate::engine::clock::Nanoseconds;
use crate::engine::worker_number::WorkerNumber;

/// One worker's part of the arrivals of a rate.
///
/// If arrivals are evenly spaced, each of `workers` takes every `workers`th. If they are random, each worker has a Poisson
/// process of its own, and together these have the whole rate.
#[derive(Debug)]
pub(in crate::engine) struct Rate<'a> {
    schedule: Schedule,
    number: WorkerNumber,
    random: fastrand::Rng,
    budget: Budget<'a>,
    /// Whether time ends the load: until then it lasts, also if nothing more is due.
    ends_by_time: bool,
    started: bool,
    stages: Stages,
    /// When the stages begin.
    origin: Nanoseconds,
    /// The number of the next arrival among those of all workers; a fraction if arrivals are random.
    position: f64,
    next: Nanoseconds,
    /// How many more are due at that instant.
    in_burst: u64,
    due: DueInstants,
}

impl<'a> Rate<'a> {
    /// The part of one worker of `schedule`.
    pub(in crate::engine) fn new(
        schedule: Schedule,
        number: WorkerNumber,
        budget: &'a SharedBudget,
        has_warmup: bool,
        ends_by_time: bool,
        random: fastrand::Rng,
    ) -> Self {
        let stages = if has_warmup {
            vec![warmup(&schedule)]
        } else {
            schedule.stages.clone()
        };
        Self {
            schedule,
            number,
            random,
            budget: Budget::new(budget, has_warmup),
            ends_by_time,
            started: false,
            stages: Stages::new(stages),
            origin: 0,
            position: 0.0,
            next: Nanoseconds::MAX,
            in_burst: 0,
            due: DueInstants::default(),
        }
    }

    fn begin(&mut self, now: Nanoseconds) {
        self.origin = now;
        self.position = match self.schedule.arrivals {
            Arrivals::Even => self.number.worker as f64 * self.schedule.burst as f64,
            Arrivals::Poisson => self.step(),
        };
        self.schedule_next();
    }

    /// The mean distance between two instants of this worker, in arrivals of all workers.
    fn even_step(&self) -> f64 {
        self.number.workers as f64 * self.schedule.burst as f64
    }

    /// The distance to this worker's next instant, in arrivals of all workers.
    fn step(&mut self) -> f64 {
        let even = self.even_step();
        match self.schedule.arrivals {
            Arrivals::Even => even,
            Arrivals::Poisson => even * exponential(&mut self.random),
        }
    }

    fn schedule_next(&mut self) {
        self.next = instant(&mut self.stages, self.origin, self.position);
        self.due.next = self.next;
        self.in_burst = self.schedule.burst;
    }

    /// How many steps of that length from the current position on are due by `now`.
    fn steps_due(&self, step: f64, now: Nanoseconds) -> u64 {
        let is_due = |steps: u64| {
            // Stages only go forward, so ask a copy.
            let mut stages = self.stages.clone();
            instant(
                &mut stages,
                self.origin,
                self.position + steps as f64 * step,
            ) <= now
        };
        let mut too_many = 1;
        while too_many < MOST_STEPS && is_due(too_many) {
            too_many *= 2;
        }
        let mut due = too_many / 2;
        while too_many - due > 1 {
            let middle = due + (too_many - due) / 2;
            if is_due(middle) {
                due = middle;
            } else {
                too_many = middle;
            }
        }
        due
    }

    /// How many instants after the next one are due by `now`.
    fn instants_due(&mut self, now: Nanoseconds) -> u64 {
        let even = self.even_step();
        match self.schedule.arrivals {
            Arrivals::Even => self.steps_due(even, now),
            Arrivals::Poisson => {
                // To a small fraction of an arrival.
                let fine = even / FINE_STEPS;
                let length = self.steps_due(fine, now) as f64 * fine;
                let to_first = exponential(&mut self.random) * even;
                let step = |random: &mut _| exponential(random) * even;
                let (count, _) = Walk::new().count(&mut self.random, to_first, length, even, step);
                count
            }
        }
    }

    fn advance(&mut self) {
        self.in_burst -= 1;
        if self.in_burst == 0 {
            self.position += self.step();
            self.schedule_next();
        }
    }
}

/// No clock gets this far.
const MOST_STEPS: u64 = 1 << 60;
/// The resolution of a Poisson process's length, in fractions of the mean distance of its arrivals.
const FINE_STEPS: f64 = 1024.0;

/// The instant of the arrival of that number, for stages that begin at `origin`; the end of time if there is none.
fn instant(stages: &mut Stages, origin: Nanoseconds, number: f64) -> Nanoseconds {
    stages.instant(number).map_or(Nanoseconds::MAX, |seconds| {
        origin.saturating_add((seconds * 1e9).round() as Nanoseconds)
    })
}

/// The warm-up has the rate that the schedule starts with, or if that is 0, the rate that it ramps up to.
fn warmup(schedule: &Schedule) -> Stage {
    let rates = schedule
        .stages
        .iter()
        .flat_map(|stage| [stage.from_per_s, stage.to_per_s]);
    Stage::endless(rates.into_iter().find(|&rate| rate > 0.0).unwrap_or(0.0))
}

impl Pacer for Rate<'_> {
    fn needs_connections(&self) -> bool {
        true
    }

    fn start(&mut self, now: Nanoseconds) {
        self.begin(now);
        self.started = true;
    }

    #[inline]
    fn next(&mut self, _: usize, _: Nanoseconds) -> Next {
        if self.exhausted() {
            Next::Never
        } else {
            Next::Wait
        }
    }

    #[inline]
    fn next_arrival(&self) -> Nanoseconds {
        self.next
    }

    fn waiting(&self, now: Nanoseconds) -> u64 {
        if self.next > now {
            return 0;
        }
        let later = self.steps_due(self.even_step(), now);
        later
            .saturating_mul(self.schedule.burst)
            .saturating_add(self.in_burst)
    }

    #[inline]
    fn take_arrival(&mut self) -> bool {
        if !self.budget.take_one() {
            self.next = Nanoseconds::MAX;
            return false;
        }
        self.due.last = self.next;
        self.advance();
        true
    }

    fn exhausted(&self) -> bool {
        let never_due = self.next == Nanoseconds::MAX && !self.ends_by_time;
        let is_over = never_due || self.budget.is_spent();
        self.started && self.budget.is_measuring() && is_over
    }

    fn due(&self) -> DueInstants {
        self.due
    }

    fn overdue(&mut self, now: Nanoseconds, _: Nanoseconds) -> Overdue {
        let mut overdue = Overdue::NONE;
        if self.next > now {
            return overdue;
        }
        let bursts = self.instants_due(now).saturating_mul(self.schedule.burst);
        let due = bursts.saturating_add(self.in_burst);
        // Arrivals start over with each phase, so all of them belong to the one that ends.
        overdue.add(self.budget.take(due), self.next, true);
        self.next = Nanoseconds::MAX;
        overdue
    }

    fn begin_measuring(&mut self, in_flight: u64, now: Nanoseconds) -> u64 {
        self.stages = Stages::new(self.schedule.stages.clone());
        self.begin(now);
        self.budget.begin_measuring(in_flight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanoseconds = 1_000_000_000;

    fn rate(schedule: Schedule, part: (usize, usize), budget: &SharedBudget) -> Rate<'_> {
        let (worker, workers) = part;
        let random = super::super::random::source(7, worker as u64);
        let mut pacer = Rate::new(
            schedule,
            WorkerNumber { worker, workers },
            budget,
            false,
            false,
            random,
        );
        pacer.start(SECOND);
        pacer
    }

    fn arrivals(pacer: &mut Rate<'_>, until: Nanoseconds) -> Vec<Nanoseconds> {
        let mut instants = Vec::new();
        while pacer.next_arrival() <= until {
            let at = pacer.next_arrival();
            if !pacer.take_arrival() {
                break;
            }
            instants.push(at);
        }
        instants
    }

    fn stages(text: &str, burst: u64) -> Schedule {
        Schedule {
            arrivals: Arrivals::Even,
            burst,
            stages: prony_model::parse_stages(text).unwrap(),
        }
    }

    #[test]
    fn counting_arrivals_by_arithmetic_agrees_with_counting_one_by_one() {
        let schedules = [
            "1k/s",
            "777.7/s",
            "0.3/s",
            "100/s:2s,0/s:3s,1k/s",
            "0/s..2k/s:4s,10/s",
            "1k/s..0/s:2s",
            "3/s:100ms,5k/s:1ms,7/s",
        ];
        for (text, burst) in schedules.iter().flat_map(|text| [(text, 1), (text, 7)]) {
            for until in [0.0, 0.001, 0.5, 1.0, 1.999_999_999, 2.0, 5.0, 9.25] {
                let until = SECOND + (until * 1e9) as Nanoseconds;
                for part in [(0, 1), (1, 3)] {
                    let budget = SharedBudget::new(None);
                    let walked = arrivals(&mut rate(stages(text, burst), part, &budget), until);
                    let mut pacer = rate(stages(text, burst), part, &budget);
                    // The first burst has begun, but not ended.
                    let begun = usize::from(!walked.is_empty() && pacer.take_arrival());
                    let overdue = pacer.overdue(until, SECOND);
                    let case = format!("{text} in bursts of {burst} until {until}");
                    assert_eq!(overdue.count as usize, walked.len() - begun, "{case}");
                    assert_eq!(overdue.in_phase, overdue.count);
                    let first = walked.get(begun).copied().unwrap_or(Nanoseconds::MAX);
                    assert_eq!(overdue.first, first, "{case}");
                    assert_eq!(pacer.overdue(until, SECOND), Overdue::NONE, "only once");
                }
            }
        }
    }

    #[test]
    fn any_number_of_arrivals_is_counted_at_once() {
        for (arrivals, burst) in [
            (Arrivals::Even, 1),
            (Arrivals::Poisson, 1),
            (Arrivals::Even, 1_000_000),
        ] {
            let budget = SharedBudget::new(None);
            let mut schedule = Schedule::constant(arrivals, 1e9);
            schedule.burst = burst;
            let mut pacer = rate(schedule, (0, 2), &budget);
            let overdue = pacer.overdue(101 * SECOND, SECOND);
            // Half of 100 s at 1e9 per second. The standard deviation of a Poisson process is 2.2e5.
            let off = (overdue.count as f64 - 50e9).abs();
            assert!(
                off <= 1.2e6,
                "{arrivals:?} in bursts of {burst}: {overdue:?}"
            );
        }
        let budget = SharedBudget::new(Some(1000));
        let mut pacer = rate(Schedule::constant(Arrivals::Even, 1e9), (0, 1), &budget);
        assert_eq!(
            pacer.overdue(101 * SECOND, SECOND).count,
            1000,
            "the budget"
        );
    }

    #[test]
    fn a_schedule_that_ends_has_no_arrivals_after_its_end() {
        let budget = SharedBudget::new(None);
        let mut pacer = rate(stages("1k/s..0/s:2s,0/s", 1), (0, 1), &budget);
        assert_eq!(pacer.overdue(Nanoseconds::MAX - 1, SECOND).count, 1000);
    }

    #[test]
    fn even_arrivals_of_all_workers_are_evenly_spaced() {
        let budget = SharedBudget::new(None);
        let schedule = Schedule::constant(Arrivals::Even, 1000.0);
        let mut all: Vec<Nanoseconds> = (0..3)
            .flat_map(|worker| {
                let mut pacer = rate(schedule.clone(), (worker, 3), &budget);
                arrivals(&mut pacer, 2 * SECOND - 1)
            })
            .collect();
        all.sort_unstable();
        assert_eq!((all.len(), all[0]), (1000, SECOND));
        let distances = all.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(distances.into_iter().all(|d| d.abs_diff(1_000_000) <= 1));
    }

    #[test]
    fn random_arrivals_of_all_workers_are_a_poisson_process() {
        let budget = SharedBudget::new(None);
        let schedule = Schedule::constant(Arrivals::Poisson, 1000.0);
        let mut all: Vec<Nanoseconds> = (0..2)
            .flat_map(|worker| {
                let mut pacer = rate(schedule.clone(), (worker, 2), &budget);
                arrivals(&mut pacer, 101 * SECOND)
            })
            .collect();
        all.sort_unstable();
        // 100,000 with a standard deviation of 316.
        assert!((98_500..101_500).contains(&all.len()), "{}", all.len());
        let seconds: Vec<f64> = all
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64 / 1e6)
            .collect();
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        let variance =
            seconds.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / seconds.len() as f64;
        assert!(
            (variance - 1.0).abs() < 0.05,
            "of an exponential: {variance}"
        );
    }

    #[test]
    fn a_burst_is_due_at_one_instant_and_keeps_the_rate() {
        let budget = SharedBudget::new(None);
        let mut schedule = Schedule::constant(Arrivals::Even, 100.0);
        schedule.burst = 10;
        let mut pacer = rate(schedule, (0, 1), &budget);
        let all = arrivals(&mut pacer, 2 * SECOND - 1);
        assert_eq!(all.len(), 100);
        assert!(
            all.chunks(10)
                .all(|burst| burst.iter().all(|at| at == &burst[0]))
        );
        assert_eq!(all[10] - all[0], SECOND / 10);
    }

    #[test]
    fn the_warm_up_takes_no_budget_and_precedes_the_stages() {
        let budget = SharedBudget::new(Some(5));
        let schedule = Schedule {
            arrivals: Arrivals::Even,
            burst: 1,
            stages: vec![Stage {
                from_per_s: 0.0,
                to_per_s: 10.0,
                duration_s: Some(2.0),
            }],
        };
        let random = fastrand::Rng::with_seed(7);
        let part = WorkerNumber {
            worker: 0,
            workers: 1,
        };
        let mut pacer = Rate::new(schedule, part, &budget, true, false, random);
        pacer.start(0);
        assert_eq!(
            arrivals(&mut pacer, SECOND - 1).len(),
            10,
            "at 10 per second"
        );
        pacer.begin_measuring(2, SECOND);
        let all = arrivals(&mut pacer, 100 * SECOND);
        assert_eq!(all.len(), 3, "two were in flight");
        assert_eq!(all[0], SECOND);
        assert!(pacer.exhausted() && pacer.next(0, 0) == Next::Never);
    }
}
