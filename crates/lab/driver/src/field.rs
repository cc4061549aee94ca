//! One figure in a tool's output: where it is, and its unit.

use regex::Regex;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

/// A tool's output: as text, and as JSON if it is JSON.
pub(crate) struct Text<'a> {
    pub(crate) text: &'a str,
    pub(crate) json: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// In the groups of a pattern; several are added up.
    Pattern {
        pattern: Regex,
        /// Whether every match counts, not only the first.
        sum: bool,
    },
    /// At a JSON pointer. The values of an object are added up.
    Pointer {
        pointer: String,
        /// Only the values with these keys.
        keys: Option<Regex>,
        /// Not the values with these keys.
        except: Option<Regex>,
    },
}

impl Place {
    /// The figures found, as they are written.
    fn words(&self, text: &Text<'_>) -> Vec<String> {
        match self {
            Place::Pattern { pattern, sum } => {
                let matches = if *sum { usize::MAX } else { 1 };
                let captures = pattern.captures_iter(text.text).take(matches);
                let groups = captures.flat_map(|one| {
                    let groups = one.iter().skip(1).flatten();
                    groups
                        .map(|group| group.as_str().to_owned())
                        .collect::<Vec<_>>()
                });
                groups.collect()
            }
            Place::Pointer {
                pointer,
                keys,
                except,
            } => match text.json.pointer(pointer) {
                Some(Value::Object(values)) => {
                    let chosen = values.iter().filter(|(key, _)| {
                        keys.as_ref().is_none_or(|keys| keys.is_match(key))
                            && except.as_ref().is_none_or(|except| !except.is_match(key))
                    });
                    // An object without a chosen value counts as 0.
                    let figures = chosen.filter_map(|(_, value)| figure(value));
                    std::iter::once("0".to_owned()).chain(figures).collect()
                }
                Some(value) => figure(value).into_iter().collect(),
                None => Vec::new(),
            },
        }
    }

    /// Their sum as parsed by `number`; `None` if there are none, or one is not a number.
    fn sum(&self, text: &Text<'_>, number: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        let words = self.words(text);
        if words.is_empty() {
            return None;
        }
        let numbers = words.iter().map(|word| number(word));
        let sum = numbers.sum::<Option<f64>>()?;
        sum.is_finite().then_some(sum)
    }
}

fn figure(value: &Value) -> Option<String> {
    value.is_number().then(|| value.to_string())
}

fn plain(word: &str) -> Option<f64> {
    word.parse().ok()
}

/// A pattern with at least one group.
#[derive(Clone, Debug)]
pub(crate) struct Capture(pub Regex);

impl<'de> Deserialize<'de> for Capture {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let AnyPattern(regex) = AnyPattern::deserialize(deserializer)?;
        match regex.captures_len() {
            0 | 1 => Err(D::Error::custom(
                "this pattern needs a group, `( )`, around the figure",
            )),
            _ => Ok(Capture(regex)),
        }
    }
}

struct AnyPattern(Regex);

impl<'de> Deserialize<'de> for AnyPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let regex = Regex::new(&text);
        let failed =
            |error| D::Error::custom(format_args!("this is not a regular expression: {error}"));
        regex.map(AnyPattern).map_err(failed)
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "RawField<U>", bound = "U: Deserialize<'de>")]
pub(crate) struct Field<U> {
    pub(crate) place: Place,
    unit: U,
    /// What it counts as if it is missing.
    otherwise: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawField<U> {
    pattern: Option<Capture>,
    #[serde(default)]
    sum: bool,
    pointer: Option<String>,
    keys: Option<AnyPattern>,
    except: Option<AnyPattern>,
    otherwise: Option<u64>,
    unit: U,
}

impl<U> TryFrom<RawField<U>> for Field<U> {
    type Error = String;

    fn try_from(raw: RawField<U>) -> Result<Self, String> {
        let place = match (raw.pattern, raw.pointer) {
            (Some(Capture(pattern)), None) => Place::Pattern {
                pattern,
                sum: raw.sum,
            },
            (None, Some(pointer)) if pointer.starts_with('/') => Place::Pointer {
                pointer,
                keys: raw.keys.map(|AnyPattern(keys)| keys),
                except: raw.except.map(|AnyPattern(except)| except),
            },
            (None, Some(pointer)) => {
                return Err(format!(
                    "`{pointer}` is not a JSON pointer; it begins with `/`, for instance `/summary/total`"
                ));
            }
            _ => return Err("a field has either a `pattern` or a `pointer`".to_owned()),
        };
        Ok(Self {
            place,
            unit: raw.unit,
            otherwise: raw.otherwise,
        })
    }
}

impl<U> Field<U> {
    /// The sum of its figures as parsed by `number`.
    fn sum(&self, text: &Text<'_>, number: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        let otherwise = self.otherwise.map(|count| count as f64);
        self.place.sum(text, number).or(otherwise)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TimeUnit {
    Ns,
    Us,
    Ms,
    S,
    /// With its unit: `1.26ms`.
    Written,
}

impl Field<TimeUnit> {
    pub(crate) fn nanoseconds(&self, text: &Text<'_>) -> Option<f64> {
        let each = match self.unit {
            TimeUnit::Ns => 1.0,
            TimeUnit::Us => 1e3,
            TimeUnit::Ms => 1e6,
            TimeUnit::S => 1e9,
            TimeUnit::Written => return self.sum(text, time),
        };
        Some(self.sum(text, plain)? * each)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BytesUnit {
    Bytes,
    /// With its unit, in steps of 1024: `5.16MB`.
    Written,
}

impl Field<BytesUnit> {
    pub(crate) fn bytes(&self, text: &Text<'_>) -> Option<f64> {
        match self.unit {
            BytesUnit::Bytes => self.sum(text, plain),
            BytesUnit::Written => self.sum(text, bytes),
        }
    }
}

/// A count has no unit.
#[derive(Clone, Debug, Deserialize)]
pub(crate) enum NoUnit {}

pub(crate) type CountField = Field<Option<NoUnit>>;

impl CountField {
    pub(crate) fn read(&self, text: &Text<'_>) -> Option<f64> {
        self.sum(text, plain)
    }
}

/// `1.26ms` in nanoseconds.
pub(crate) fn time(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    let nanoseconds = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    Some(number * nanoseconds)
}

/// `5.16MB` in bytes, in steps of 1024.
fn bytes(text: &str) -> Option<f64> {
    let (number, unit) = split(text)?;
    let power = match unit {
        "B" => 0,
        "KB" | "KiB" => 1,
        "MB" | "MiB" => 2,
        "GB" | "GiB" => 3,
        "TB" | "TiB" => 4,
        _ => return None,
    };
    Some(number * 1024f64.powi(power))
}

fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_with_their_unit() {
        assert_eq!(time("138.00us"), Some(138e3));
        assert_eq!(time("1.5m"), Some(90e9));
        assert_eq!(bytes("4.50KB"), Some(4608.0));
        for wrong in ["", "us", "12", "1.2.3s", "5 s", "3d"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
        assert_eq!(bytes("3M"), None);
    }
}
