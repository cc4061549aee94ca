//! Whether the queue grew all through a trial.

use prony_model::Timeline;
use prony_stats::grows;

/// Fewer intervals show no trend.
const LEAST_INTERVALS: usize = 6;

/// By how much of a second the mean latency rose in each second of the measured part, where it did so
/// all through it and by `least` or more; `None` where it did not.
///
/// Where more arrives than is served, what waits grows by the difference: a latency that rises by 10 ms in
/// every second says that the server serves 1 % fewer than come. However short the latency is by the end of
/// the trial, such a rate does not hold.
pub fn growth(timeline: &Timeline, least: f64) -> Option<f64> {
    let latency_s: Vec<f64> = timeline
        .measured()
        .filter(|&interval| timeline.ok.get(interval).is_some_and(|&ok| ok > 0))
        .filter_map(|interval| timeline.latency_mean_ns.get(interval))
        .map(|ns| ns / 1e9)
        .collect();
    if latency_s.len() < LEAST_INTERVALS {
        return None;
    }
    let rise = rise(&latency_s, timeline.interval_s);
    (rise >= least && grows(&latency_s)).then_some(rise)
}

/// From the first half to the second, by the time from the middle of the one to that of the other.
fn rise(values: &[f64], interval_s: f64) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let half = values.len() / 2;
    let (first, second) = (&values[..half], &values[values.len() - half..]);
    let apart = (values.len() - half) as f64 * interval_s;
    (mean(second) - mean(first)) / apart
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(latency_ms: impl Iterator<Item = f64>) -> Timeline {
        let latency_mean_ns: Vec<f64> = latency_ms.map(|ms| ms * 1e6).collect();
        Timeline {
            interval_s: 0.1,
            measured_from_s: 1.0,
            ok: vec![100; latency_mean_ns.len()],
            latency_mean_ns,
        }
    }

    #[test]
    fn a_queue_that_gets_2_percent_too_much_grows_by_2_percent_of_the_time() {
        // 1 s of warm-up, and then 2 ms more in every 100 ms.
        let growing = timeline((0..60).map(|interval| 5.0 + 2.0 * f64::from(interval)));
        let rise = growth(&growing, 0.01).unwrap();
        assert!((rise - 0.02).abs() < 1e-9, "{rise}");
        assert_eq!(growth(&growing, 0.03), None, "not by as much as that");
    }

    #[test]
    fn what_grew_in_the_warm_up_alone_and_what_swings_does_not_grow() {
        let warm_up = timeline((0..60).map(|interval| f64::from(interval.min(10)) * 5.0));
        assert_eq!(growth(&warm_up, 0.001), None);
        let swings = timeline((0..60).map(|interval| 20.0 + f64::from(interval % 7) * 5.0));
        assert_eq!(growth(&swings, 0.01), None);
        let short = timeline((0..14).map(|interval| f64::from(interval) * 100.0));
        assert_eq!(growth(&short, 0.01), None, "4 intervals show no trend");
    }

    #[test]
    fn intervals_without_responses_say_nothing() {
        let mut stalls = timeline((0..60).map(|_| 5.0));
        for interval in 11..35 {
            (stalls.ok[interval], stalls.latency_mean_ns[interval]) = (0, 0.0);
        }
        assert_eq!(growth(&stalls, 0.001), None);
    }
}
