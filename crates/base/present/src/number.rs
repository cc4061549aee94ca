//! Numbers and units as people read them: three significant digits and a fitting unit.
//!
//! ```
//! use prony_present::number::{count, duration, interval, share};
//! assert_eq!(count(45_312.0), "45.3 k");
//! assert_eq!(duration(3_400_000.0), "3.40 ms");
//! assert_eq!(share(0.042), "4.2 %");
//! assert_eq!(interval(44_900.0, 46_000.0, count), "44.9–46.0 k");
//! ```

use std::time::Duration;

pub use prony_model::exact;

/// Shown if there is no figure.
pub const NONE: &str = "–";

/// A space that never ends a line.
pub const NO_BREAK: &str = "\u{a0}";

/// A count or rate: `512`, `45.3 k`, `1.20 M`. Whole numbers below a thousand stay whole.
pub fn count(value: f64) -> String {
    if value.abs() < 999.5 && value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    scaled(value, 1000.0, &["", " k", " M", " G", " T"])
}

/// A whole number, in groups of three digits: `10,068`.
pub fn whole(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 && digits != "0" {
        format!("−{text}")
    } else {
        text
    }
}

/// How often something happens, which may be far below once: `3.40`, `1.00`, `0.054`, `0.0012`.
pub fn times(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 99.95 => count(value),
        v if v >= 0.0995 => format!("{value:.*}", decimals(value)),
        v if v >= 0.000_05 => ratio(value),
        _ => format!("<{NO_BREAK}0.0001"),
    }
}

/// The same in a sentence, to a tenth: `3.4`, `21.0`, `0.054`.
pub fn about_times(value: f64) -> String {
    match value.abs() {
        v if (0.0995..99.95).contains(&v) => format!("{value:.1}"),
        _ => times(value),
    }
}

/// Requests per second: `45.3 k req/s`.
pub fn rate(per_second: f64) -> String {
    rate_of("req", per_second)
}

/// A rate of such things: `45.3 k flows/s`.
pub fn rate_of(things: &str, per_second: f64) -> String {
    format!("{} {things}/s", count(per_second))
}

/// A rate in full: `1,234/s`, and `12.3/s` below a hundred.
pub fn exact_rate(per_second: f64) -> String {
    format!("{}/s", to_a_tenth(per_second))
}

/// A rate of such things: `1,234 flows/s`.
pub fn exact_rate_of(things: &str, per_second: f64) -> String {
    format!("{} {things}/s", to_a_tenth(per_second))
}

fn to_a_tenth(per_second: f64) -> String {
    if per_second < 100.0 {
        ((per_second * 10.0).round() / 10.0).to_string()
    } else {
        exact(per_second.round() as u64)
    }
}

/// A duration given in nanoseconds: `512 ns`, `45.3 µs`, `3.40 ms`, `1.20 s`.
pub fn duration(nanoseconds: f64) -> String {
    scaled(nanoseconds, 1000.0, &[" ns", " µs", " ms", " s"])
}

/// How long a server took to warm up, in nanoseconds: `at once`, `1.20 s`.
pub fn time_to_warm(nanoseconds: f64) -> String {
    match nanoseconds {
        0.0 => "at once".to_owned(),
        other => duration(other),
    }
}

/// A duration given in seconds, as the user wrote it: `10 s`, `0.5 s`.
pub fn seconds(seconds: f64) -> String {
    format!("{} s", (seconds * 1000.0).round() / 1000.0)
}

/// A time from seconds to hours, in whole seconds: `48 s`, `12 min 05 s`.
pub fn minutes(duration: Duration) -> String {
    let seconds = duration.as_secs_f64().round() as u64;
    match seconds / 60 {
        0 => format!("{seconds} s"),
        minutes => format!("{minutes} min {:02} s", seconds % 60),
    }
}

/// A time in at most three characters up to 99 h, for a line that changes: `12s`, `3m` or `2h`.
pub fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if seconds < 89.5 {
        format!("{seconds:.0}s")
    } else if seconds < 5370.0 {
        format!("{:.0}m", seconds / 60.0)
    } else {
        format!("{:.0}h", seconds / 3600.0)
    }
}

/// A size: `640 B`, `12.7 MiB`.
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB"])
}

/// A growth in bytes, with its sign: `+3.20 MiB`, `−640 B`, `0 B`.
pub fn growth(growth: f64) -> String {
    signed(growth, bytes(growth.abs()))
}

/// A difference in seconds, with its sign: `+1.20 µs`, `−340 ns`.
pub fn more_or_less_time(seconds: f64) -> String {
    signed(seconds, duration(seconds.abs() * 1e9))
}

fn signed(figure: f64, size: String) -> String {
    match figure {
        f if f > 0.0 => format!("+{size}"),
        f if f < 0.0 => format!("−{size}"),
        _ => size,
    }
}

/// An energy given in joules: `45.3 µJ`, `3.40 mJ`.
pub fn joules(joules: f64) -> String {
    scaled(joules * 1e9, 1000.0, &[" nJ", " µJ", " mJ", " J", " kJ"])
}

/// A transfer rate: `812 MiB/s`.
pub fn transfer(bytes_per_second: f64) -> String {
    format!("{}/s", bytes(bytes_per_second))
}

/// A share (0 to 1) in percent: `82 %`, `4.2 %`, `0.05 %`.
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        p if p == 0.0 || p >= 9.95 => format!("{percent:.0} %"),
        p if p >= 0.095 => format!("{percent:.1} %"),
        p if p >= 0.01 => format!("{percent:.2} %"),
        _ => "< 0.01 %".to_owned(),
    }
}

/// A change, from the ratio of the new figure to the old: `+2.3 %`, `−12.4 %`, `±0.0 %`.
pub fn change(ratio: f64) -> String {
    change_to(ratio, 1)
}

/// A change that is known better than that: `+0.31 %`.
pub fn precise_change(ratio: f64) -> String {
    change_to(ratio, 2)
}

fn change_to(ratio: f64, decimals: usize) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let decimals = if percent.abs() >= 99.95 { 0 } else { decimals };
    let digits = format!("{:.decimals$}", percent.abs());
    let sign = if !digits.chars().any(|c| ('1'..='9').contains(&c)) {
        "±"
    } else if percent < 0.0 {
        "−"
    } else {
        "+"
    };
    format!("{sign}{digits} %")
}

/// A ratio: `1.00`, `0.79`, `12.4`, `0.0054`.
pub fn ratio(ratio: f64) -> String {
    if !ratio.is_finite() {
        return NONE.to_owned();
    }
    let decimals = match ratio.abs() {
        r if r >= 99.95 || r == 0.0 => 0,
        r if r >= 9.995 => 1,
        r if r >= 0.0995 => 2,
        r if r >= 0.00995 => 3,
        _ => 4,
    };
    format!("{ratio:.decimals$}")
}

/// A round figure without its trailing zeros: `50 k` for `50.0 k`.
pub fn short(figure: &str) -> String {
    let (number, unit) = match figure.split_once(' ') {
        Some((number, unit)) => (number, format!(" {unit}")),
        None => (figure, String::new()),
    };
    let number = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    format!("{number}{unit}")
}

/// An interval whose ends `shown` has written: the one rule for the units of an interval.
///
/// A unit that both ends share is written once, at the end. Otherwise each end has its own unit: next to `174 M`, 22.5 is
/// written `0.0225 k`, so that nobody reads it as 22.5 M. Two ends that look the same are written as one figure.
pub fn interval(low: f64, high: f64, shown: impl Fn(f64) -> String) -> String {
    let (mut low_text, mut high_text) = (shown(low), shown(high));
    if low_text == high_text {
        return high_text;
    }
    if !(low.is_finite() && high.is_finite()) {
        return NONE.to_owned();
    }
    match (unit(&low_text).is_empty(), unit(&high_text).is_empty()) {
        (true, false) if low != 0.0 => low_text = thousands(low),
        (false, true) if high != 0.0 => high_text = thousands(high),
        _ => {}
    }
    let (shared, number) = (unit(&high_text), low_text.rsplit_once(' '));
    match number {
        Some((number, unit)) if unit == shared => format!("{number}–{high_text}"),
        _ => format!("{low_text}–{high_text}"),
    }
}

/// The unit after the number; empty for a plain number.
fn unit(figure: &str) -> &str {
    figure.rsplit_once(' ').map_or("", |(_, unit)| unit)
}

/// A number below a thousand in thousands, with three significant digits: `0.0225 k`.
fn thousands(value: f64) -> String {
    let thousands = value / 1000.0;
    let digits = 2 - thousands.abs().log10().floor() as i32;
    let decimals = digits.clamp(0, 12) as usize;
    format!("{thousands:.decimals$} k")
}

/// Three significant digits, in the first unit that leaves less than a full step before the decimal point.
fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let mut rest = value;
    let mut unit = 0;
    // Compare the rounded number, so that 999.7 becomes `1.00 k` and not `1000`; and compare it with 1000
    // for bytes too, so that there are never four digits.
    while rounded(rest).abs() >= 1000.0 && unit + 1 < units.len() {
        rest /= step;
        unit += 1;
    }
    let unit_name = units[unit];
    if unit == 0 && rest.fract() == 0.0 {
        return format!("{rest:.0}{unit_name}");
    }
    format!("{:.*}{unit_name}", decimals(rounded(rest)), rest)
}

/// The number with three significant digits, or as a whole number from 100 up.
fn rounded(value: f64) -> f64 {
    let factor = 10f64.powi(decimals(value) as i32);
    (value * factor).round() / factor
}

fn decimals(value: f64) -> usize {
    match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::table::rows;
    use proptest::prelude::*;

    /// Asserts how figures are shown, in rows of: figure | text.
    #[track_caller]
    fn assert_shown(show: impl Fn(f64) -> String, table: &str) {
        for [figure, text] in rows(table) {
            assert_eq!(show(figure.parse().unwrap()), text, "{figure}");
        }
    }

    #[test]
    fn counts_have_three_digits_and_a_unit() {
        assert_shown(
            count,
            "
            0 | 0
            0.256 | 0.26
            7 | 7
            99.97 | 100
            512 | 512
            999.4 | 999
            999.7 | 1.00 k
            1200 | 1.20 k
            45312 | 45.3 k
            999600 | 1.00 M
            1234567 | 1.23 M
            NaN | –
            ",
        );
        assert_eq!(rate(45_312.0), "45.3 k req/s");
        assert_eq!([0, 100, 1_234_567].map(exact), ["0", "100", "1,234,567"]);
        let rates = [1_234_567.8, 100.0, 12.34].map(exact_rate);
        assert_eq!(rates, ["1,234,568/s", "100/s", "12.3/s"]);
    }

    #[test]
    fn durations_pick_their_unit() {
        let shown = [512.0, 512e3, 3.4e6, 999_999.0, 61e9, f64::INFINITY].map(duration);
        assert_eq!(
            shown,
            ["512 ns", "512 µs", "3.40 ms", "1.00 ms", "61.0 s", NONE]
        );
        assert_eq!([10.0, 0.5].map(seconds), ["10 s", "0.5 s"]);
        let shown = [59_400, 59_600].map(|ms| minutes(Duration::from_millis(ms)));
        assert_eq!(shown, ["59 s", "1 min 00 s"]);
    }

    #[test]
    fn a_server_that_needs_no_warm_up_is_warm_at_once() {
        assert_eq!([0.0, 2.5e8].map(time_to_warm), ["at once", "250 ms"]);
        let intervals = [0.0, 1.2e9].map(|high| interval(0.0, high, time_to_warm));
        assert_eq!(intervals, ["at once", "at once–1.20 s"]);
    }

    #[test]
    fn sizes_are_binary() {
        let shown = [640.0, 13_316_915.0, 1023.9 * 1024.0, 1016.0 * 1024.0].map(bytes);
        assert_eq!(shown, ["640 B", "12.7 MiB", "1.00 MiB", "0.99 MiB"]);
        assert_eq!(transfer(851_443_712.0), "812 MiB/s");
        assert_eq!([0.000_045_3, 2.0].map(joules), ["45.3 µJ", "2.00 J"]);
    }

    #[test]
    fn differences_have_a_sign_unless_they_are_zero() {
        let shown = [1.0, 0.9997, 1.023, 0.8761, 2.31].map(change);
        assert_eq!(shown, ["±0.0 %", "±0.0 %", "+2.3 %", "−12.4 %", "+131 %"]);
        let shown = [3_355_443.2, -640.0, 0.0].map(growth);
        assert_eq!(shown, ["+3.20 MiB", "−640 B", "0 B"]);
        let shown = [1.2e-6, -3.4e-7, 0.0].map(more_or_less_time);
        assert_eq!(shown, ["+1.20 µs", "−340 ns", "0 ns"]);
    }

    #[test]
    fn rare_events_small_shares_and_small_ratios_stay_visible() {
        assert_shown(
            times,
            "
            3.4 | 3.40
            1 | 1.00
            0.95 | 0.95
            0.0537 | 0.054
            0.0012 | 0.0012
            1e-7 | <\u{a0}0.0001
            0 | 0
            ",
        );
        let shown = [3.4, 21.0, 0.96, 0.0537, 412.6].map(about_times);
        assert_eq!(shown, ["3.4", "21.0", "1.0", "0.054", "413"]);
        let shown = [0.823, 0.042, 0.0005, 0.0, 1e-7].map(share);
        assert_eq!(shown, ["82 %", "4.2 %", "0.05 %", "0 %", "< 0.01 %"]);
        assert_shown(
            ratio,
            "
            1 | 1.00
            0.786 | 0.79
            0.0993 | 0.099
            0.00537 | 0.0054
            12.44 | 12.4
            20077.4 | 20077
            0 | 0
            NaN | –
            ",
        );
    }

    #[test]
    fn the_units_of_an_interval_are_unambiguous() {
        for [unit, low, high, text] in rows(
            "
            count | 44900 | 46000 | 44.9–46.0 k
            count | 6900 | 217000 | 6.90–217 k
            count | 22500 | 174e6 | 22.5 k–174 M
            count | 22.5 | 174e6 | 0.0225 k–174 M
            count | 990 | 1100 | 0.990–1.10 k
            count | 0 | 1100 | 0–1.10 k
            count | 12 | 15 | 12–15
            count | 500 | 500 | 500
            count | NaN | 500 | –
            duration | 3.1e6 | 3.4e6 | 3.10–3.40 ms
            duration | 8.1e5 | 3.4e6 | 810 µs–3.40 ms
            share | 0.041 | 0.12 | 4.1–12 %
            ratio | 0.77 | 12.44 | 0.77–12.4
            transfer | 1e6 | 1e9 | 977 KiB/s–954 MiB/s
            ",
        ) {
            let [low, high] = [low, high].map(|figure| figure.parse().unwrap());
            let show: fn(f64) -> String = match unit {
                "count" => count,
                "duration" => duration,
                "share" => share,
                "ratio" => ratio,
                _ => transfer,
            };
            assert_eq!(interval(low, high, show), text);
        }
    }

    #[test]
    fn short_figures_lose_only_trailing_zeros() {
        let shown = ["50.0 k", "2.50 ms", "100", "0 B"].map(short);
        assert_eq!(shown, ["50 k", "2.5 ms", "100", "0 B"]);
    }

    #[test]
    fn the_elapsed_time_is_short() {
        let times = [0, 7, 89, 90, 200, 5369, 5400, 40_000].map(Duration::from_secs);
        let shown = times.map(clock).join(" ");
        assert_eq!(shown, "0s 7s 89s 2m 3m 89m 2h 11h");
    }

    proptest! {
        #[test]
        fn a_shown_figure_is_within_half_a_percent(value in 1f64..1e12) {
            let text = count(value);
            let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
            let factor = match unit { "" => 1.0, "k" => 1e3, "M" => 1e6, "G" => 1e9, _ => 1e12 };
            let shown = number.parse::<f64>().unwrap() * factor;
            prop_assert!((shown - value).abs() <= value * 0.005_01, "{value} {text}");
        }

        /// The documented rule recovers both ends of an interval.
        #[test]
        fn an_interval_reads_back_as_it_was_written(low in -1f64..9.0, high in -1f64..9.0) {
            let (low, high) = (10f64.powf(low.min(high)), 10f64.powf(low.max(high)));
            let counts = [("k", 1e3), ("M", 1e6), ("G", 1e9)];
            let durations = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
            // Below 1 a figure has two decimals.
            let exact = |shown: f64, value: f64| (shown - value).abs() <= value * 0.005_01 + 0.005_01;
            for (text, units) in [
                (interval(low, high, count), &counts[..]),
                (interval(low, high, duration), &durations[..]),
            ] {
                let (a, b) = text.split_once('–').unwrap_or((&text, &text));
                let (b_number, b_unit) = b.split_once(' ').unwrap_or((b, ""));
                let (a_number, a_unit) = a.split_once(' ').unwrap_or((a, b_unit));
                prop_assert_eq!(a_unit.is_empty(), b_unit.is_empty(), "{}", text);
                let read = |number: &str, unit: &str| {
                    let factor = units.iter().find(|(name, _)| *name == unit).map_or(1.0, |(_, f)| *f);
                    number.parse::<f64>().unwrap() * factor
                };
                prop_assert!(exact(read(a_number, a_unit), low), "{text} {low}");
                prop_assert!(exact(read(b_number, b_unit), high), "{text} {high}");
            }
        }
    }
}
