//! How many responses of a load were compared with the expected one.

use serde::{Deserialize, Serialize};

/// Responses of the measured part that the load engine compared with the expected response, drawn at random from
/// all. Status and length are looked at in every response, so those are not what is counted here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Responses compared whole: status, header fields and body.
    pub compared: u64,
    /// Of these, the wrong ones.
    pub wrong: u64,
    /// Whether, besides, the body of every response was compared, as it is if the one expected body is short.
    pub every_body: bool,
}

impl Checked {
    /// Counts one comparison.
    #[inline]
    pub fn count(&mut self, is_wrong: bool) {
        self.compared += 1;
        self.wrong += u64::from(is_wrong);
    }

    /// Adds those of another worker.
    pub fn merge(&mut self, other: &Checked) {
        self.compared += other.compared;
        self.wrong += other.wrong;
        self.every_body |= other.every_body;
    }

    /// An estimate of the share (0 to 1) of all responses that were wrong; `None` if none was compared.
    pub fn wrong_share(&self) -> Option<f64> {
        (self.compared > 0).then(|| self.wrong as f64 / self.compared as f64)
    }

    /// `about 1.0 % of responses were wrong (12 of 1180 compared)`; `None` if no wrong one was found.
    pub fn finding(&self) -> Option<String> {
        let percent = self.wrong_share().filter(|&share| share > 0.0)? * 100.0;
        // Rounded to nothing, a share would say that none was wrong.
        let decimals = if percent < 0.1 { 3 } else { 1 };
        Some(format!(
            "about {percent:.decimals$} % of responses were wrong ({} of {} compared)",
            self.wrong, self.compared
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_estimates_the_share_and_says_what_it_rests_on() {
        let mut checked = Checked::default();
        assert_eq!((checked.wrong_share(), checked.finding()), (None, None));
        (0..1180).for_each(|number| checked.count(number % 100 == 99));
        assert_eq!((checked.compared, checked.wrong), (1180, 11));
        assert_eq!(
            checked.finding().unwrap(),
            "about 0.9 % of responses were wrong (11 of 1180 compared)"
        );
        let mut rare = Checked {
            compared: 99_999,
            ..Checked::default()
        };
        assert_eq!((rare.wrong_share(), rare.finding()), (Some(0.0), None));
        rare.merge(&Checked {
            compared: 1,
            wrong: 1,
            every_body: true,
        });
        assert!(rare.every_body);
        assert_eq!(
            rare.finding().unwrap(),
            "about 0.001 % of responses were wrong (1 of 100000 compared)"
        );
    }
}
