//! Shares that people write as percentages.

/// The share that a percentage says: 0.02 of `2%` or `2 %`. `None` where it is none; bounds are for the caller to set.
pub fn parse_percent(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim_end();
    let percent: f64 = number.parse().ok()?;
    percent.is_finite().then_some(percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_has_its_sign_and_a_finite_number() {
        assert_eq!(parse_percent("2%"), Some(0.02));
        assert_eq!(parse_percent(" 0.5 % "), Some(0.005));
        for text in ["", "2", "%", "two%", "inf%", "NaN%", "2%%"] {
            assert_eq!(parse_percent(text), None, "{text}");
        }
    }
}
