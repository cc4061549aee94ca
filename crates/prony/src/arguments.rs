//! Values on the command line, written as wrk's users write them.

use std::fs::File;
use std::io::Read;
use std::num::NonZeroU64;
use std::time::Duration;

use prony_load::LONGEST_BODY;

/// A duration: `10s`, `500ms`, `2m`, `1h30m`, or seconds without a unit as wrk has them.
pub fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string());
    }
    humantime::parse_duration(text)
        .map_err(|_| format!("`{text}` is not a duration; write for instance 10s, 500ms or 2m"))
}

/// A duration longer than none at all.
pub fn some_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("it must be longer than 0".into()),
        duration => Ok(duration),
    }
}

/// A count: `400`, `10k`, `2M`.
pub fn count(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => match text.strip_suffix('M') {
            Some(digits) => (digits, 1_000_000),
            None => (text, 1),
        },
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(factor))
        .ok_or_else(|| format!("`{text}` is not a count; write for instance 400, 10k or 2M"))
}

/// A count that is at least one.
pub fn some_count(text: &str) -> Result<NonZeroU64, String> {
    NonZeroU64::new(count(text)?).ok_or_else(|| "it must be at least 1".into())
}

/// A count that is at least one and fits the machine.
pub fn positive(text: &str) -> Result<usize, String> {
    match count(text)? {
        0 => Err("it must be at least 1".into()),
        number => usize::try_from(number).map_err(|error| error.to_string()),
    }
}

/// Bytes given as text, or as the file after an `@`, which may have [`LONGEST_BODY`] bytes. `what` names them where the
/// file cannot be read.
pub fn text_or_file(what: &str, text: &str) -> Result<Vec<u8>, String> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(text.as_bytes().to_vec());
    };
    let mut bytes = Vec::new();
    // A byte more shows that it is too long: some files, such as /dev/zero, have no end.
    let read =
        File::open(path).and_then(|file| file.take(LONGEST_BODY + 1).read_to_end(&mut bytes));
    read.map_err(|error| format!("cannot read {what} from `{path}`: {error}"))?;
    match bytes.len() as u64 > LONGEST_BODY {
        true => Err(format!(
            "{what} from `{path}` is too long: at most {} MiB",
            LONGEST_BODY / (1024 * 1024)
        )),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_and_without_a_unit() {
        assert_eq!(duration("10").unwrap(), Duration::from_secs(10));
        assert_eq!(duration("0.5").unwrap(), Duration::from_millis(500));
        assert_eq!(duration("2m").unwrap(), Duration::from_secs(120));
        assert_eq!(duration("250ms").unwrap(), Duration::from_millis(250));
        assert!(some_duration("0s").is_err() && some_duration("1s").is_ok());
        assert!(duration("-1").is_err() && duration("soon").is_err() && duration("").is_err());
    }

    #[test]
    fn counts_are_read_with_their_suffix() {
        assert_eq!(count("400").unwrap(), 400);
        assert_eq!(count("10k").unwrap(), 10_000);
        assert_eq!(count("2M").unwrap(), 2_000_000);
        assert!(count("k").is_err() && count("1.5k").is_err());
        assert!(count("99999999999999999999k").is_err());
        assert!(positive("0").is_err() && some_count("0").is_err());
    }
}
