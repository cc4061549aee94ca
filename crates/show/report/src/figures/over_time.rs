//! How one representative trial of a row went over time, with its warm-up.

use prony_model::{CountedRounds, Measurement, RateCourse, Timeline};
use prony_stats::median;

/// The trial of the round nearest to the median, over time.
#[derive(Clone, Debug, PartialEq)]
pub struct OverTime {
    /// The round, from 1.
    pub round: u32,
    /// How many rounds it stands for.
    pub(crate) of_rounds: usize,
    /// The load that searched for the end of the warm-up, at the beginning; `None` if none is on record.
    pub search: Option<RoundSearch>,
    /// Seconds from the beginning, with the ok responses per second around them.
    pub points: Vec<(f64, f64)>,
    /// When the measured part began, in seconds from the beginning.
    pub measured_from_s: f64,
    pub(crate) ended_s: f64,
    /// The ok responses per second while measured.
    pub(crate) measured_per_s: f64,
}

/// A search for the end of the warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundSearch {
    /// The round that searched; a later one may have kept its process.
    pub round: u32,
    /// How long it took, in seconds.
    pub lasted_s: f64,
}

/// About how many points there are. A part has as many as its share of the time, so that a short one is no scribble.
const POINTS: f64 = 34.0;

impl OverTime {
    /// `None` if no round has a timeline.
    pub(super) fn of(rounds: &CountedRounds<'_>) -> Option<Self> {
        let (round, trial) = representative(rounds)?;
        let timeline = trial.load.timeline.as_ref()?;
        let found = last_search(rounds, round, trial);
        let search = found.map(|(round, course)| RoundSearch {
            round,
            lasted_s: course.lasted_s(),
        });
        let begin = search.map_or(0.0, |search| search.lasted_s);
        let searched = found.map(|(_, course)| Part {
            begin: 0.0,
            interval_s: course.interval_s,
            ok: &course.ok,
        });
        let [warm_up, measured] = Part::of(timeline, begin);
        let (ended_s, measured_per_s) = (measured.end(), measured.per_second());
        let parts = searched.into_iter().chain([warm_up, measured]);
        Some(Self {
            round,
            of_rounds: rounds.measured().count(),
            search,
            points: parts.flat_map(|part| part.points(ended_s)).collect(),
            measured_from_s: begin + timeline.measured_from_s,
            ended_s,
            measured_per_s,
        })
    }
}

/// The round with a timeline whose figure is nearest to the median.
fn representative<'a>(rounds: &CountedRounds<'a>) -> Option<(u32, &'a Measurement)> {
    let figures = rounds.by_round(Measurement::headline);
    let middle = median(&figures.values().copied().collect::<Vec<_>>())?;
    let has_course = |one: &Measurement| {
        let timeline = one.load.timeline.as_ref();
        timeline.is_some_and(|timeline| !timeline.measured().is_empty())
    };
    let candidates = rounds.measured().filter(|(_, one)| has_course(one));
    let distance = |round: &u32| figures.get(round).map(|figure| (figure - middle).abs());
    let candidates = candidates.filter_map(|(round, one)| Some((distance(&round)?, round, one)));
    let nearest = candidates.min_by(|a, b| a.0.total_cmp(&b.0));
    nearest.map(|(_, round, one)| (round, one))
}

/// The search of the trial itself, or else the last one of any attempt until then: the server may have been kept running
/// since.
fn last_search<'a>(
    rounds: &CountedRounds<'a>,
    round: u32,
    own: &'a Measurement,
) -> Option<(u32, &'a RateCourse)> {
    let attempts = rounds.attempts().iter();
    let until = attempts.filter(|record| record.trial.round <= round);
    let mut searches = until.filter_map(|record| {
        let search = record.measurement()?.search.as_ref()?;
        Some((record.trial.round, search))
    });
    let own = own.search.as_ref().map(|search| (round, search));
    own.or_else(|| searches.next_back())
}

/// A stretch of a load.
struct Part<'a> {
    begin: f64,
    interval_s: f64,
    ok: &'a [u64],
}

impl<'a> Part<'a> {
    /// The warm-up and the measured part of a load that began at `begin`.
    fn of(timeline: &'a Timeline, begin: f64) -> [Self; 2] {
        let interval_s = timeline.interval_s;
        let first = timeline.measured().start;
        let (warm_up, measured) = timeline.ok.split_at(first);
        let from = begin + first as f64 * interval_s;
        [(begin, warm_up), (from, measured)].map(|(begin, ok)| Self {
            begin,
            interval_s,
            ok,
        })
    }

    fn end(&self) -> f64 {
        self.begin + self.ok.len() as f64 * self.interval_s
    }

    /// Its mean rate.
    fn per_second(&self) -> f64 {
        self.ok.iter().sum::<u64>() as f64 / (self.ok.len() as f64 * self.interval_s)
    }

    /// The mean rates of stretches of equal length, of which the last may be shorter; all parts together last `of_s`.
    fn points(&self, of_s: f64) -> impl Iterator<Item = (f64, f64)> + use<'a> {
        let most = (POINTS * (self.end() - self.begin) / of_s).ceil() as usize;
        let each = self.ok.len().div_ceil(most.max(1)).max(1);
        let (begin, interval_s) = (self.begin, self.interval_s);
        self.ok.chunks(each).enumerate().map(move |(i, counts)| {
            let length = counts.len() as f64 * interval_s;
            let middle = begin + (i * each) as f64 * interval_s + length / 2.0;
            (middle, counts.iter().sum::<u64>() as f64 / length)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::sample::measured;
    use prony_model::{TrialRecord, TrialResult};

    fn trial(round: u32, rate: f64, search: Option<RateCourse>) -> TrialRecord {
        let mut record = measured("go", round);
        if let TrialResult::Measured(one) = &mut record.result {
            one.load.load.shape = prony_model::LoadShape::Closed;
            one.load.flows = None;
            one.load.rate_per_s = rate;
            one.search = search;
            one.load.timeline = Some(Timeline {
                interval_s: 0.1,
                measured_from_s: 0.25,
                ok: (0..103).map(|at| if at < 3 { 5 } else { 10 }).collect(),
                ..Timeline::default()
            });
        }
        record
    }

    fn of(records: &[TrialRecord]) -> Option<OverTime> {
        OverTime::of(&CountedRounds::of(records))
    }

    #[test]
    fn the_median_round_is_shown_after_the_search_that_warmed_its_process_up() {
        let search = |count| {
            let (interval_s, ok) = (0.5, vec![count; 4]);
            Some(RateCourse { interval_s, ok })
        };
        let records = [
            trial(1, 120.0, search(20)),
            trial(2, 100.0, None),
            trial(3, 80.0, search(90)),
        ];
        let shown = of(&records).unwrap();
        assert_eq!((shown.round, shown.of_rounds), (2, 3));
        assert!((shown.measured_per_s - 100.0).abs() < 1e-9);
        let RoundSearch { round, lasted_s } = shown.search.unwrap();
        assert_eq!((round, lasted_s), (1, 2.0));
        assert_eq!((shown.measured_from_s, shown.ended_s), (2.25, 12.3));
        let searched = [0.25, 0.75, 1.25, 1.75].map(|at| (at, 40.0));
        assert_eq!(shown.points[..4], searched);
        // 0.3 s of warm-up and 10 s.
        assert_eq!(shown.points.len(), 4 + 1 + 25);
        let rates: Vec<f64> = shown.points.iter().map(|(_, rate)| rate.round()).collect();
        assert_eq!((rates[4], rates[5], rates[29]), (50.0, 100.0, 100.0));
        assert!(shown.points.windows(2).all(|pair| pair[0].0 < pair[1].0));

        // The attempt that searched was noisy and does not count.
        let mut again = [trial(1, 90.0, search(20)), trial(1, 100.0, None)];
        again[0].attempt = 1;
        again[1].noisy.clear();
        let shown = of(&again).unwrap();
        assert_eq!(shown.search.map(|search| search.round), Some(1));
        assert_eq!(shown.points[0], (0.25, 40.0));
    }

    #[test]
    fn rounds_without_a_course_are_not_shown() {
        let mut records = [trial(1, 100.0, None), trial(2, 120.0, None)];
        for (forgotten, expected) in [(0, Some((2, None))), (1, None)] {
            if let TrialResult::Measured(one) = &mut records[forgotten].result {
                one.load.timeline = None;
            }
            assert_eq!(of(&records).map(|it| (it.round, it.search)), expected);
        }
    }
}
