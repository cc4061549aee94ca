//! Rates as people read them.

/// `1,234`; below 100 with a digit more.
pub fn count(rate: f64) -> String {
    if rate < 100.0 {
        return ((rate * 10.0).round() / 10.0).to_string();
    }
    let digits = (rate.round() as u64).to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Requests a second: `1,234/s`.
pub fn per_second(rate: f64) -> String {
    format!("{}/s", count(rate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_written_for_people() {
        assert_eq!(count(1_234_567.8), "1,234,568");
        assert_eq!(count(100.0), "100");
        assert_eq!(per_second(12.34), "12.3/s");
    }
}
