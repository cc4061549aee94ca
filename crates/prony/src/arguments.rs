//! Values on the command line, written as wrk's users write them. Each error says what is allowed instead.

use std::error::Error;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::net::{IpAddr, UdpSocket};
use std::num::{IntErrorKind, NonZeroU32, NonZeroU64};
use std::ops::RangeInclusive;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use prony_kernel::usable_cpus;
use prony_load::MOST_THREADS;
use prony_traffic::LONGEST_BODY;

use crate::exit::usage;

/// Longer than anybody waits, and short enough for arithmetic in nanoseconds.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
/// Too short for one request; a timeout this short would end each request before its response.
const SHORTEST: Duration = Duration::from_millis(1);
/// The longest latency that a histogram can hold.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(3600);
/// More than Linux lets a process open by default.
const MOST_CONNECTIONS: usize = 1_000_000;
/// Far more than any comparison needs; the plan of all of them is held in memory.
const MOST_ROUNDS: u32 = 10_000;

/// Checks that a socket can have this local address; a UDP socket needs no peer for that.
pub(crate) fn own_address(address: IpAddr) -> Result<(), String> {
    match UdpSocket::bind((address, 0)) {
        Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
            Err(format!("{address} is not an address of this machine"))
        }
        Err(error) => Err(format!("{address} cannot be used: {error}")),
        Ok(_) => Ok(()),
    }
}

/// A duration, zero included: `10s`, `500ms`, `2m`, `1h30m`, or seconds without a unit as in wrk.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    within(text, Duration::ZERO..=LONGEST)
}

pub(crate) fn some_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("it must be longer than 0".into()),
        duration => Ok(duration),
    }
}

pub(crate) fn measured_duration(text: &str) -> Result<Duration, String> {
    within(text, SHORTEST..=LONGEST)
}

/// How long to wait for a response or a server.
pub(crate) fn timeout(text: &str) -> Result<Duration, String> {
    within(text, SHORTEST..=LONGEST_TIMEOUT)
}

/// A duration of whole seconds: many load generators know no other.
pub(crate) fn whole_seconds(text: &str) -> Result<Duration, String> {
    let duration = within(text, Duration::from_secs(1)..=LONGEST_TIMEOUT)?;
    match duration.subsec_nanos() {
        0 => Ok(duration),
        _ => Err("it must be a whole number of seconds".into()),
    }
}

fn within(text: &str, allowed: RangeInclusive<Duration>) -> Result<Duration, String> {
    let (least, most) = (*allowed.start(), *allowed.end());
    match parse_duration(text)? {
        Some(duration) if allowed.contains(&duration) => Ok(duration),
        _ if least.is_zero() => Err(format!("it must be at most {}", shown(most))),
        _ => Err(format!(
            "it must be from {} to {}",
            shown(least),
            shown(most)
        )),
    }
}

/// `None` if it is longer than a `Duration` can be.
fn parse_duration(text: &str) -> Result<Option<Duration>, String> {
    let wrong = || {
        format!(
            "`{text}` is not a duration; write for instance 10s, 500ms or 2m (seconds without a unit)"
        )
    };
    match text.trim().parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => {
            Ok(Duration::try_from_secs_f64(seconds).ok())
        }
        Ok(_) => Err(wrong()),
        Err(_) => match humantime::parse_duration(text) {
            Ok(duration) => Ok(Some(duration)),
            Err(humantime::DurationError::NumberOverflow) => Ok(None),
            Err(_) => Err(wrong()),
        },
    }
}

fn shown(duration: Duration) -> String {
    match duration.as_secs() / (24 * 3600) {
        0 => humantime::format_duration(duration).to_string(),
        days => format!("{days} days"),
    }
}

/// A count: `400`, `10k`, `2M`.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1_000),
        None => match text.strip_suffix('M') {
            Some(digits) => (digits, 1_000_000),
            None => (text, 1),
        },
    };
    let wrong = || format!("`{text}` is not a count; write for instance 400, 10k or 2M");
    match digits.parse::<u64>() {
        Ok(number) => number.checked_mul(factor).ok_or_else(too_large),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Err(too_large()),
        Err(_) => Err(wrong()),
    }
}

fn too_large() -> String {
    format!("it must be at most {}", u64::MAX)
}

pub(crate) fn some_count(text: &str) -> Result<NonZeroU64, String> {
    NonZeroU64::new(count(text)?).ok_or_else(|| "it must be at least 1".into())
}

/// A count of at least one as a `usize`.
pub(crate) fn positive(text: &str) -> Result<usize, String> {
    usize::try_from(some_count(text)?.get()).map_err(|error| error.to_string())
}

/// A number of connections, users or streams.
pub(crate) fn connections(text: &str) -> Result<usize, String> {
    at_most(MOST_CONNECTIONS, text)
}

pub(crate) fn threads(text: &str) -> Result<usize, String> {
    at_most(MOST_THREADS, text)
}

fn at_most(most: usize, text: &str) -> Result<usize, String> {
    match positive(text)? {
        number if number <= most => Ok(number),
        _ => Err(format!("it must be from 1 to {most}")),
    }
}

pub(crate) fn name(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        Err("a name is empty; `prony list` shows the available names".into())
    } else {
        Ok(text.to_owned())
    }
}

pub(crate) fn whole<N>(
    allowed: RangeInclusive<N>,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static
where
    N: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text| {
        let number = text.parse().ok().filter(|number| allowed.contains(number));
        number.ok_or_else(|| {
            let (least, most) = (allowed.start(), allowed.end());
            format!("`{text}` is not a whole number from {least} to {most}")
        })
    }
}

pub(crate) fn rounds(text: &str) -> Result<NonZeroU32, String> {
    let rounds = whole(1..=MOST_ROUNDS)(text)?;
    NonZeroU32::new(rounds).ok_or_else(|| "it must be at least 1".into())
}

/// The seed of a random order, of random arrivals or choices.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    whole(0..=u64::MAX)(text)
}

/// A seed that is short enough to be typed again.
pub(crate) fn new_seed() -> u64 {
    fastrand::u64(..1_000_000_000)
}

pub(crate) fn address(text: &str) -> Result<IpAddr, String> {
    let wrong = |_| format!("`{text}` is not an IP address; write for instance 127.0.0.2 or ::1");
    text.parse().map_err(wrong)
}

/// CPUs of this machine, as `flag` names them.
pub(crate) fn cpus(flag: &str, text: &str) -> Result<Vec<usize>, String> {
    usable_cpus(text).map_err(|error| format!("{flag}: {error}"))
}

/// Bytes given as text, or as the file named after an `@`, of at most [`LONGEST_BODY`] bytes. `what` names them in
/// errors.
pub(crate) fn text_or_file(what: &str, text: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    match text.strip_prefix('@') {
        Some("") => Err(usage(format!(
            "{what}: the name of a file is missing after `@`; write for instance @body.json"
        ))),
        Some(path) => {
            let read = whole_file(Path::new(path));
            Ok(read.map_err(|error| format!("cannot read {what} from `{path}`: {error}"))?)
        }
        None => Ok(text.as_bytes().to_vec()),
    }
}

/// The first of some flags that is given.
pub(crate) fn first_given<const N: usize>(
    flags: [(&'static str, bool); N],
) -> Option<&'static str> {
    let mut flags = flags.into_iter();
    flags.find_map(|(flag, is_given)| is_given.then_some(flag))
}

/// The words of the command line, for the record. What is no text is shown with replacement characters.
pub(crate) fn command_line() -> Vec<String> {
    let words = std::env::args_os();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// What is in a file, or comes from standard input if it is `-`, of at most [`LONGEST_BODY`] bytes. The error does not
/// name the file.
pub(crate) fn file_or_stdin(path: &Path) -> Result<Vec<u8>, String> {
    if path.as_os_str() == "-" {
        bounded(io::stdin().lock())
    } else {
        whole_file(path)
    }
}

fn whole_file(path: &Path) -> Result<Vec<u8>, String> {
    bounded(File::open(path).map_err(|error| error.to_string())?)
}

fn bounded(reader: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    // One byte more shows that it is too long. Some files, such as /dev/zero, never end.
    let read = reader.take(LONGEST_BODY + 1).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    if bytes.len() as u64 > LONGEST_BODY {
        let most = LONGEST_BODY / (1024 * 1024);
        return Err(format!("it is too long: at most {most} MiB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_are_its_own() {
        assert_eq!(own_address(IpAddr::from([127, 0, 0, 7])), Ok(()));
        // TEST-NET-1 of RFC 5737, which no machine has.
        let message = own_address(IpAddr::from([192, 0, 2, 1])).unwrap_err();
        assert_eq!(message, "192.0.2.1 is not an address of this machine");
    }

    #[test]
    fn durations_are_read_with_and_without_a_unit() {
        assert_eq!(duration("10").unwrap(), Duration::from_secs(10));
        assert_eq!(duration("0.5").unwrap(), Duration::from_millis(500));
        assert_eq!(duration("2m").unwrap(), Duration::from_secs(120));
        assert_eq!(duration("250ms").unwrap(), Duration::from_millis(250));
        assert!(some_duration("0s").is_err() && some_duration("1s").is_ok());
        for text in ["-1", "soon", "", "NaN", "inf", "-inf", "1x", "-5s", "5 m s"] {
            let message = duration(text).unwrap_err();
            assert!(message.contains("is not a duration"), "{text}: {message}");
        }
    }

    #[test]
    fn durations_have_bounds() {
        for text in ["1e30", "31d", "99999999999999999999s", "999999999999999y"] {
            assert_eq!(duration(text).unwrap_err(), "it must be at most 30 days");
        }
        assert!(duration("30d").is_ok() && duration("0").is_ok());
        let message = "it must be from 1ms to 30 days";
        assert_eq!(measured_duration("1us").unwrap_err(), message);
        assert!(measured_duration("1ms").is_ok());
        for text in ["0", "1ns", "2h"] {
            assert_eq!(timeout(text).unwrap_err(), "it must be from 1ms to 1h");
        }
        assert!(timeout("1h").is_ok());
    }

    #[test]
    fn counts_are_read_with_their_suffix() {
        assert_eq!(count("400").unwrap(), 400);
        assert_eq!(count("10k").unwrap(), 10_000);
        assert_eq!(count("2M").unwrap(), 2_000_000);
        for text in ["k", "1.5k", "", "-1", "1e3", "NaN"] {
            let message = count(text).unwrap_err();
            assert!(message.contains("is not a count"), "{text}: {message}");
        }
        for text in ["99999999999999999999k", "18446744073709551615k"] {
            assert!(count(text).unwrap_err().contains("at most"), "{text}");
        }
        assert!(positive("0").is_err() && some_count("0").is_err());
        assert_eq!(connections("1M"), Ok(1_000_000));
        assert!(connections("2M").unwrap_err().contains("from 1 to 1000000"));
    }

    #[test]
    fn whole_numbers_have_bounds() {
        let repeats = whole(1..=1000_u32);
        assert_eq!((repeats("1"), repeats("1000")), (Ok(1), Ok(1000)));
        for text in ["0", "1001", "-1", "1.0", "six", "", "99999999999999999999"] {
            let message = format!("`{text}` is not a whole number from 1 to 1000");
            assert_eq!(repeats(text), Err(message));
        }
        assert_eq!(seed("0"), Ok(0));
        assert_eq!(rounds("7").unwrap().get(), 7);
    }
}
