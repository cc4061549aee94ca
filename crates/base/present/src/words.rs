//! Plurals, lists, and what limits a figure.

use prony_model::{Bound, Cause, Outcome, ServerStatus};

use crate::number::{exact, share};

/// A count and its noun: `1 connection`, `1,000 connections`.
///
/// ```
/// use prony_present::words::plural;
/// assert_eq!(plural(1, "trial"), "1 trial");
/// assert_eq!(plural(1_000, "connection"), "1,000 connections");
/// ```
pub fn plural(count: usize, noun: &str) -> String {
    counted(count as u64, noun, &format!("{noun}s"))
}

/// A count and words that agree with it: `1 request was`, `1,204 requests were`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        n => format!("{} {many}", exact(n)),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn list<T: AsRef<str>>(words: &[T]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

pub trait Joined: Iterator {
    fn joined(self, separator: &str) -> String
    where
        Self: Sized,
        Self::Item: AsRef<str>,
    {
        let mut text = String::new();
        for (place, word) in self.enumerate() {
            if place > 0 {
                text += separator;
            }
            text += word.as_ref();
        }
        text
    }
}

impl<I: Iterator> Joined for I {}

pub fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// A command, quoted for a shell.
pub fn command_line(words: &[String]) -> String {
    let quoted = words.iter().map(|word| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+{}".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    quoted.joined(" ")
}

pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// An outcome after its count: `timed out`.
pub fn outcome(outcome: Outcome) -> String {
    outcome.name().replace('_', " ")
}

pub fn not_ready(status: &ServerStatus) -> Option<String> {
    match status {
        ServerStatus::Ready => None,
        ServerStatus::Skipped { missing, install } => {
            Some(format!("{missing} is missing; to install it: {install}"))
        }
        ServerStatus::BuildFailed { output: reason }
        | ServerStatus::StartFailed { reason }
        | ServerStatus::Unreachable { reason } => Some(reason.clone()),
    }
}

/// What limits a row's figures, in a few words: `still warming up in 2 of 6 rounds`.
pub fn bound(bound: &Bound) -> String {
    let rounds = match (bound.rounds, bound.of) {
        (all, of) if all == of => String::new(),
        (some, of) => format!(" in {some} of {of} rounds"),
    };
    let name = bound.name();
    match &bound.cause {
        Cause::Generator(Some(evidence)) => format!("{name}{rounds} ({evidence})"),
        Cause::Generator(None) | Cause::StillWarming => format!("{name}{rounds}"),
        Cause::Ceiling(of_it) => format!("{name} ({} of its rate)", share(*of_it)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_into_a_shell() {
        let words = ["prony", "run", "it's", ""].map(String::from);
        assert_eq!(command_line(&words), r"prony run 'it'\''s' ''");
    }

    #[test]
    fn bounds_say_in_how_many_rounds() {
        let words = |cause, rounds| {
            bound(&Bound {
                cause,
                rounds,
                of: 6,
            })
        };
        assert_eq!(
            words(Cause::Generator(Some("thread 1 was 97 % busy".into())), 2),
            "client-limited in 2 of 6 rounds (thread 1 was 97 % busy)"
        );
        assert_eq!(words(Cause::StillWarming, 6), "still warming up");
        let at_ceiling = words(Cause::Ceiling(0.9), 6);
        assert_eq!(at_ceiling, "at the ceiling (90 % of its rate)");
    }
}
