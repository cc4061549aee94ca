//! The notation of objectives: `p99 < 10ms, errors < 0.1%, rate > 5k/s`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::{RateText, parse_percent, parse_rate, percentage};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};

use crate::objective::objectives::{Limit, Objective, Objectives, Percentile, Statistic};

/// Which part of a text is not an objective, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{part}{problem}", part = PositionText(self))]
pub struct ObjectiveError {
    /// The part of the text, without the space around it.
    pub part: String,
    /// The number of its first character, from 1.
    pub position: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// Why a text is not an objective.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("there is no objective; write for instance p99<10ms,errors<0.1%")]
    Empty,
    #[error(
        "it is not an objective; write a name, < or >, and a value, for instance p99<10ms, errors<0.1% or rate>5k/s"
    )]
    NoObjective,
    #[error(
        "unknown name `{name}`; use a percentile such as p50, p99 or p99.9, mean, max, errors or rate"
    )]
    Name { name: String },
    #[error("{name} must be {right}, not {wrong}: write {right} or {right}=")]
    Side {
        name: String,
        right: char,
        wrong: char,
    },
    #[error("`{text}` is not a duration that can limit {name}; write for instance {name}<10ms")]
    Duration { name: String, text: String },
    #[error(
        "`{text}` is not a share of errors; write a percentage from 0% to 100%, for instance errors<0.1%"
    )]
    Percent { text: String },
    #[error("{why}, for instance rate>5k/s")]
    Rate { why: String },
    #[error("{name} has two limits; write only one")]
    Twice { name: String },
}

/// Where the problem is, for a message; nothing if there is no text at all.
struct PositionText<'a>(&'a ObjectiveError);

impl fmt::Display for PositionText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ObjectiveError { part, position, .. } = self.0;
        if part.is_empty() {
            Ok(())
        } else {
            write!(f, "`{part}` (at character {position}): ")
        }
    }
}

/// A part of a text between commas.
#[derive(Clone, Copy)]
struct ListItem<'a> {
    text: &'a str,
    position: usize,
}

impl ListItem<'_> {
    fn error(self, problem: Problem) -> ObjectiveError {
        ObjectiveError {
            part: self.text.into(),
            position: self.position,
            problem,
        }
    }
}

/// The items of a text that are not empty.
fn items(text: &str) -> impl Iterator<Item = ListItem<'_>> {
    let mut position = 1;
    text.split(',').filter_map(move |part| {
        let begin = position;
        position += part.chars().count() + 1;
        let space = part.chars().take_while(|c| c.is_whitespace()).count();
        let part = ListItem {
            text: part.trim(),
            position: begin + space,
        };
        (!part.text.is_empty()).then_some(part)
    })
}

impl FromStr for Objectives {
    type Err = ObjectiveError;

    /// Reads objectives separated by commas. Without one for errors, a limit of 0.1 % is added.
    fn from_str(text: &str) -> Result<Self, ObjectiveError> {
        Self::of_texts([text])
    }
}

impl Objectives {
    /// Reads several texts as one, such as a repeated flag.
    ///
    /// # Errors
    /// If a text is not a list of objectives, or two objectives limit the same figure.
    pub fn of_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, ObjectiveError> {
        let all: Vec<ListItem<'_>> = texts.into_iter().flat_map(items).collect();
        if all.is_empty() {
            let nothing = ListItem {
                text: "",
                position: 1,
            };
            return Err(nothing.error(Problem::Empty));
        }
        let read = all.iter().map(|part| objective(*part));
        let read = read.collect::<Result<Vec<Objective>, _>>()?;
        Self::new(read.clone()).map_err(|again| {
            let name = read[again].name();
            all[again].error(Problem::Twice { name })
        })
    }
}

impl FromStr for Objective {
    type Err = ObjectiveError;

    fn from_str(text: &str) -> Result<Self, ObjectiveError> {
        let space = text.chars().take_while(|c| c.is_whitespace()).count();
        objective(ListItem {
            text: text.trim(),
            position: 1 + space,
        })
    }
}

fn objective(part: ListItem<'_>) -> Result<Objective, ObjectiveError> {
    read(part.text).map_err(|problem| part.error(problem))
}

fn read(text: &str) -> Result<Objective, Problem> {
    let sign = text.find(['<', '>']).ok_or(Problem::NoObjective)?;
    let (name, rest) = (text[..sign].trim(), &text[sign..]);
    let wrong_if_below = rest.starts_with('>');
    let value = rest[1..].strip_prefix('=');
    let (inclusive, value) = (value.is_some(), value.unwrap_or(&rest[1..]).trim());
    if value.is_empty() || value.starts_with(['<', '>', '=']) {
        return Err(Problem::NoObjective);
    }
    if wrong_if_below != (name == "rate") {
        return Err(if known(name) {
            side(name)
        } else {
            Problem::Name { name: name.into() }
        });
    }
    Ok(match name {
        "errors" => Objective::Errors {
            limit: Limit {
                value: share(value)?,
                inclusive,
            },
        },
        "rate" => Objective::Rate {
            limit: Limit {
                value: rate(value)?,
                inclusive,
            },
        },
        name => Objective::Latency {
            statistic: statistic(name).ok_or_else(|| Problem::Name { name: name.into() })?,
            limit: Limit {
                value: duration(name, value)?,
                inclusive,
            },
        },
    })
}

fn known(name: &str) -> bool {
    matches!(name, "errors" | "rate") || statistic(name).is_some()
}

fn side(name: &str) -> Problem {
    let (right, wrong) = match name {
        "rate" => ('>', '<'),
        _ => ('<', '>'),
    };
    Problem::Side {
        name: name.into(),
        right,
        wrong,
    }
}

fn statistic(name: &str) -> Option<Statistic> {
    match name {
        "mean" => Some(Statistic::Mean),
        "max" => Some(Statistic::Max),
        _ => percentile(name.strip_prefix('p')?).map(Statistic::Percentile),
    }
}

/// `99.9`, with at most three decimals.
fn percentile(text: &str) -> Option<Percentile> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str, most: usize| {
        (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_number(whole, 2) || !is_number(decimals, 3) {
        return None;
    }
    let whole: u32 = whole.parse().ok()?;
    let thousandths: u32 = format!("{decimals:0<3}").parse().ok()?;
    Percentile::of_thousandths(whole * 1000 + thousandths)
}

fn duration(name: &str, text: &str) -> Result<Duration, Problem> {
    let read = humantime::parse_duration(text).ok();
    read.filter(|limit| !limit.is_zero())
        .ok_or_else(|| Problem::Duration {
            name: name.into(),
            text: text.into(),
        })
}

fn share(text: &str) -> Result<f64, Problem> {
    let read = parse_percent(text);
    read.filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| Problem::Percent { text: text.into() })
}

fn rate(text: &str) -> Result<f64, Problem> {
    parse_rate(text).map_err(|error| Problem::Rate {
        why: error.to_string(),
    })
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percentile(percentile) => {
                write!(f, "p{}", f64::from(percentile.thousandths()) / 1e3)
            }
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
        }
    }
}

/// As [`FromStr`] reads it: `p99<10ms`, or `p99 < 10ms` with `{:#}`.
impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, inclusive) = match self {
            Self::Latency { limit, .. } => ('<', limit.inclusive),
            Self::Errors { limit } => ('<', limit.inclusive),
            Self::Rate { limit } => ('>', limit.inclusive),
        };
        let space = if f.alternate() { " " } else { "" };
        let equals = if inclusive { "=" } else { "" };
        let (name, limit) = (self.name(), self.limit_text());
        write!(f, "{name}{space}{sign}{equals}{space}{limit}")
    }
}

impl Objective {
    /// The limit as people write it: `10ms`, `2.5s`, `0.1%`, `5k/s`.
    pub fn limit_text(&self) -> String {
        match self {
            Self::Latency { limit, .. } => duration_text(limit.value),
            Self::Errors { limit } => percentage(limit.value).replace(' ', ""),
            Self::Rate { limit } => RateText(limit.value).to_string(),
        }
    }
}

/// Exactly, in the largest unit of which it has at least one: `10ms`, `2.5s`.
fn duration_text(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos();
    let units = [("s", 9), ("ms", 6), ("us", 3), ("ns", 0)];
    let fits = |(_, digits): &(&str, u32)| nanoseconds >= 10_u128.pow(*digits);
    let (unit, digits) = units.into_iter().find(fits).unwrap_or(("ns", 0));
    let one = 10_u128.pow(digits);
    let whole = nanoseconds / one;
    let width = digits as usize;
    let decimals = format!(".{:0width$}", nanoseconds % one);
    let decimals = decimals.trim_end_matches('0').trim_end_matches('.');
    format!("{whole}{decimals}{unit}")
}

/// As [`FromStr`] reads them: `p99<10ms,errors<0.1%`.
impl fmt::Display for Objectives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.all().iter().map(Objective::to_string).collect();
        f.write_str(&all.join(","))
    }
}

impl Serialize for Objectives {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Objective {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Objectives {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn objectives_are_read_and_written() {
        for (text, written) in [
            ("p99<10ms,errors<0.1%", "p99<10ms,errors<0.1%"),
            (
                " p99.9 <= 1s , mean<500us,",
                "p99.9<=1s,mean<500us,errors<0.1%",
            ),
            ("errors<0%", "errors<0%"),
            (
                "rate > 5k/s, p97.525 < 2 ms",
                "rate>5k/s,p97.525<2ms,errors<0.1%",
            ),
            ("rate>=300/m,errors<=1 %", "rate>=5/s,errors<=1%"),
            (
                "p50<1ms,p90<2ms,p95<3ms,max<1500ms,errors<5%",
                "p50<1ms,p90<2ms,p95<3ms,max<1.5s,errors<5%",
            ),
        ] {
            let objectives: Objectives = text.parse().unwrap();
            assert_eq!(objectives.to_string(), written);
            assert_eq!(written.parse(), Ok(objectives));
        }
        let one: Objective = "p99.90<=1500us".parse().unwrap();
        assert_eq!(format!("{one:#}"), "p99.9 <= 1.5ms");
    }

    #[test]
    fn a_latency_is_written_in_one_unit() {
        for (text, written) in [
            ("2500ms", "2.5s"),
            ("1m 30s", "90s"),
            ("1s 1ns", "1.000000001s"),
            ("999us 50ns", "999.05us"),
            ("100ms", "100ms"),
            ("7ns", "7ns"),
        ] {
            let objective: Objective = format!("p99<{text}").parse().unwrap();
            assert_eq!(objective.limit_text(), written);
            assert_eq!(format!("p99<{written}").parse(), Ok(objective));
        }
    }

    #[test]
    fn what_is_not_an_objective_is_rejected_with_a_hint() {
        for (text, hint) in [
            ("", "there is no objective"),
            (" , ", "there is no objective"),
            ("p99", "`p99` (at character 1): it is not an objective"),
            ("p99>10ms", "p99 must be <, not >"),
            ("rate<5k", "rate must be >, not <"),
            ("p99==10ms", "it is not an objective"),
            ("p99<", "it is not an objective"),
            ("p99<>10ms", "it is not an objective"),
            ("p0<10ms", "unknown name `p0`; use a percentile such as p50"),
            ("p100<10ms", "unknown name `p100`"),
            ("p99.9999<10ms", "unknown name `p99.9999`"),
            ("p99.<10ms", "unknown name `p99.`"),
            ("p+9<10ms", "unknown name `p+9`"),
            ("latency>1", "unknown name `latency`"),
            ("<10ms", "unknown name ``"),
            ("p99<fast", "write for instance p99<10ms"),
            ("p99<0s", "write for instance p99<10ms"),
            ("p99<10", "write for instance p99<10ms"),
            ("errors<0.1", "errors<0.1%"),
            ("errors<101%", "from 0% to 100%"),
            ("errors<-1%", "from 0% to 100%"),
            ("errors<NaN%", "from 0% to 100%"),
            ("rate>fast", "`fast` is not a rate"),
            ("rate>0", "more than 0"),
            (
                "p99<1s,p99<2s",
                "`p99<2s` (at character 8): p99 has two limits",
            ),
            ("errors<1%,errors<1%", "errors has two limits"),
            (
                "p99 < 50ms, failures < 0.1%",
                "`failures < 0.1%` (at character 13): unknown name `failures`",
            ),
        ] {
            let error = text.parse::<Objectives>().unwrap_err().to_string();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }

    #[test]
    fn several_texts_are_read_as_one() {
        let both = Objectives::of_texts(["p99<1s", "rate>9,errors<1%"]).unwrap();
        assert_eq!(both.to_string(), "p99<1s,rate>9/s,errors<1%");
        let twice = Objectives::of_texts(["p99<1s", "p99<2s"]).unwrap_err();
        assert!(matches!(twice.problem, Problem::Twice { .. }));
    }

    #[test]
    fn files_have_them_as_text() {
        let read: Objectives = serde_json::from_str(r#""p99 < 50ms""#).unwrap();
        let written = serde_json::to_string(&read).unwrap();
        assert_eq!(written, r#""p99<50ms,errors<0.1%""#);
        let error = serde_json::from_str::<Objectives>(r#""p99 < 50""#).unwrap_err();
        assert!(error.to_string().contains("at character 1"), "{error}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_rejected(text in ".*") {
            if let Ok(objectives) = text.parse::<Objectives>() {
                prop_assert_eq!(objectives.to_string().parse(), Ok(objectives));
            }
        }

        #[test]
        fn whatever_looks_like_one_is_read_or_rejected(
            text in "(p[0-9]{1,3}(\\.[0-9]{1,4})?|mean|errors|rate) ?[<>]=? ?[0-9]{1,9}(\\.[0-9]{1,3})?(ms|s|%|k/s|/m|)",
        ) {
            if let Ok(objectives) = text.parse::<Objectives>() {
                prop_assert_eq!(objectives.to_string().parse(), Ok(objectives));
            }
        }
    }
}
