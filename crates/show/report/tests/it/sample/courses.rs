//! Made-up courses of trials, and what servers logged in them.

use prony_model::*;

/// Gives a trial a course with a warm-up, a search before it if the trial is of the first round, and last lines.
pub(crate) fn add(measured: &mut Measurement, round: u32, logged: &str) {
    // 500 ms of warm-up and 2 s measured.
    let rate = measured.load.rate_per_s;
    let rises = |interval: usize| 1.0 - 0.6 / (1.0 + interval as f64 / 4.0);
    let swings = |interval: usize| 1.0 + 0.05 * (interval as f64 * 0.9).sin();
    let counts = |length_s: f64, intervals| {
        (0..intervals).map(move |at| (rate * length_s * rises(at) * swings(at)) as u64)
    };
    measured.load.timeline = Some(Timeline {
        interval_s: 0.01,
        measured_from_s: 0.5,
        ok: counts(0.01, 250).collect(),
        latency_mean_ns: vec![1e6; 250],
        ..Timeline::default()
    });
    measured.search = (round == 1).then(|| RateCourse {
        interval_s: 0.2,
        ok: counts(0.2, 64).collect(),
    });
    measured.log_tail = LogTail::of(logged, logged, str::to_owned);
}
