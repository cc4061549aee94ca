//! How long each subject is warmed up before each load.
//!
//! A server that has to warm up shows it in trial after trial. A machine that was slow for a moment shows the same
//! rise in one of them. So a rise counts where at least two trials, and more than half of those with the
//! warm-up that the subject has now, showed one.

use std::collections::BTreeMap;

/// The longest warm-up that a load is given by itself, in seconds; where it is measured for longer, as
/// long as that.
const LONGEST_S: f64 = 10.0;
/// How many times as long a warm-up becomes that was too short.
const GROWTH: f64 = 4.0;
/// By how much it grows at the least, in seconds.
const LEAST_GROWTH_S: f64 = 0.2;
/// So many trials must show a rise.
const LEAST_RISES: u32 = 2;

/// What the trials of each subject and measure showed, and how long they are warmed up.
#[derive(Debug, Default)]
pub struct WarmUps(BTreeMap<(String, usize), WarmUp>);

#[derive(Clone, Copy, Debug, Default)]
struct WarmUp {
    /// How long it is by now, in seconds; `None` as long as it is what the suite asks for.
    grown_s: Option<f64>,
    /// Trials with this warm-up.
    trials: u32,
    /// Of these, the ones whose rate still rose.
    rises: u32,
}

impl WarmUps {
    /// How long `subject` is warmed up in `measure`, in seconds: as long as the suite asks, or longer.
    pub fn of(&self, subject: &str, measure: usize, asked_s: f64) -> f64 {
        let known = self.0.get(&(subject.to_owned(), measure));
        known.and_then(|known| known.grown_s).unwrap_or(asked_s)
    }

    /// Takes what a trial showed: whether its rate still rose. Tells whether that is the server's warm-up.
    pub fn saw(&mut self, subject: &str, measure: usize, rose: bool) -> bool {
        let seen = self.0.entry((subject.to_owned(), measure)).or_default();
        seen.trials += 1;
        seen.rises += u32::from(rose);
        rose && seen.rises >= LEAST_RISES && 2 * seen.rises > seen.trials
    }

    /// Makes it longer from now on, after `used_s` were too short for `measured_s`; tells whether it has grown at all.
    pub fn lengthen(
        &mut self,
        subject: &str,
        measure: usize,
        used_s: f64,
        measured_s: f64,
    ) -> bool {
        let longest = LONGEST_S.max(measured_s);
        let longer = (used_s * GROWTH).max(used_s + LEAST_GROWTH_S).min(longest);
        let grows = longer > used_s;
        if grows {
            let grown = WarmUp {
                grown_s: Some(longer),
                ..WarmUp::default()
            };
            self.0.insert((subject.to_owned(), measure), grown);
        }
        grows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The warm-ups that follow when each is too short.
    fn grown(asked_s: f64, measured_s: f64) -> Vec<f64> {
        let mut warm_ups = WarmUps::default();
        let mut all = vec![asked_s];
        while warm_ups.lengthen("java", 0, all[all.len() - 1], measured_s) {
            all.push(warm_ups.of("java", 0, asked_s));
            assert!(all.len() < 100, "it never ends");
        }
        all
    }

    #[test]
    fn a_warm_up_grows_up_to_its_bound() {
        assert_eq!(grown(0.5, 0.6), [0.5, 2.0, 8.0, 10.0]);
        assert_eq!(grown(0.05, 0.6)[..3], [0.05, 0.25, 1.0]);
        assert_eq!(grown(8.0, 30.0), [8.0, 30.0]);
        assert_eq!(grown(60.0, 30.0), [60.0]);
    }

    #[test]
    fn others_keep_theirs() {
        let mut warm_ups = WarmUps::default();
        assert!(warm_ups.lengthen("java", 1, 1.0, 2.0));
        assert_eq!(warm_ups.of("java", 1, 1.0), 4.0);
        assert_eq!(warm_ups.of("java", 0, 1.0), 1.0);
        assert_eq!(warm_ups.of("go", 1, 1.0), 1.0);
    }

    /// Which of some trials are said to be the server's warm-up, by whether their rates rose.
    fn believed(rises: &[bool]) -> Vec<bool> {
        let mut warm_ups = WarmUps::default();
        let saw = |&rose: &bool| warm_ups.saw("java", 0, rose);
        rises.iter().map(saw).collect()
    }

    #[test]
    fn a_rise_is_believed_where_most_trials_show_it() {
        let (yes, no) = (true, false);
        assert_eq!(believed(&[yes, yes, no, yes]), [no, yes, no, yes]);
        assert_eq!(believed(&[no, yes, no, yes, no, no, yes]), [no; 7]);
        let mut seldom = [no; 60];
        seldom.iter_mut().step_by(8).for_each(|rose| *rose = yes);
        assert_eq!(believed(&seldom), [no; 60]);
    }

    #[test]
    fn a_longer_warm_up_is_judged_anew() {
        let mut warm_ups = WarmUps::default();
        assert!(!warm_ups.saw("java", 0, true) && warm_ups.saw("java", 0, true));
        assert!(warm_ups.lengthen("java", 0, 1.0, 1.0));
        assert!(!warm_ups.saw("java", 0, true) && warm_ups.saw("java", 0, true));
    }
}
