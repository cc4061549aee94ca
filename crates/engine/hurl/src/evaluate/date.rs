//! Dates as texts.

use std::fmt::Write as _;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Utc};

/// The text of a date, if the format is one.
pub(super) fn formatted(date: DateTime<Utc>, format: &str) -> Option<String> {
    let mut text = String::new();
    write!(text, "{}", date.format(format)).ok()?;
    Some(text)
}

/// The date of a text: with a time and a zone, with a time, or alone.
pub(super) fn parsed(text: &str, format: &str) -> Option<DateTime<Utc>> {
    if let Ok(date) = DateTime::parse_from_str(text, format) {
        return Some(date.with_timezone(&Utc));
    }
    let without_zone = NaiveDateTime::parse_from_str(text, format).or_else(|_| {
        NaiveDate::parse_from_str(text, format).map(|date| date.and_time(NaiveTime::MIN))
    });
    without_zone.ok().map(|date| date.and_utc())
}

/// The date of a cookie's `Expires`.
pub(super) fn cookie_expires(text: &str) -> Option<DateTime<Utc>> {
    if let Ok(date) = DateTime::parse_from_rfc2822(text) {
        return Some(date.with_timezone(&Utc));
    }
    NaiveDateTime::parse_from_str(text, "%a, %d-%b-%Y %H:%M:%S%.3f GMT")
        .ok()
        .map(|date| date.and_utc())
}

/// Whether a text is a date of RFC 3339.
pub(super) fn is_iso(text: &str) -> bool {
    DateTime::parse_from_rfc3339(text).is_ok()
}
