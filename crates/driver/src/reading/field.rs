//! One figure in a tool's output.

use regex::Regex;
use serde_json::Value;

use super::unit::{BytesUnit, TimeUnit, bytes, time};

/// A tool's output: as text, and as JSON where it is.
pub struct Text<'a> {
    pub text: &'a str,
    pub json: Value,
}

/// Where a figure is.
#[derive(Clone, Debug)]
pub enum Place {
    /// In what the groups of a pattern capture; several are added up.
    Pattern {
        pattern: Regex,
        /// Whether every match counts, not only the first.
        sum: bool,
    },
    /// At a JSON pointer; where an object is there, its values are added up.
    Pointer {
        pointer: String,
        /// Only the values with these keys.
        keys: Option<Regex>,
        /// Not the values with these keys.
        except: Option<Regex>,
    },
}

impl Place {
    /// The figures that are there, as they are written.
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
                    // An object from which nothing is chosen says 0.
                    let figures = chosen.filter_map(|(_, value)| figure(value));
                    std::iter::once("0".to_owned()).chain(figures).collect()
                }
                Some(value) => figure(value).into_iter().collect(),
                None => Vec::new(),
            },
        }
    }

    /// Their sum as `number` reads them; `None` where there is none, or one is no number.
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

/// A figure with a unit.
#[derive(Clone, Debug)]
pub struct Field<U> {
    pub place: Place,
    pub unit: U,
}

impl Field<TimeUnit> {
    pub fn nanoseconds(&self, text: &Text<'_>) -> Option<f64> {
        match self.unit {
            TimeUnit::Nanoseconds(each) => Some(self.place.sum(text, plain)? * each),
            TimeUnit::Written => self.place.sum(text, time),
        }
    }
}

impl Field<BytesUnit> {
    pub fn bytes(&self, text: &Text<'_>) -> Option<f64> {
        match self.unit {
            BytesUnit::Bytes => self.place.sum(text, plain),
            BytesUnit::Written => self.place.sum(text, bytes),
        }
    }
}

/// A count.
#[derive(Clone, Debug)]
pub struct CountField {
    pub place: Place,
    /// What it means where it is not there.
    pub otherwise: Option<u64>,
}

impl CountField {
    pub fn read(&self, text: &Text<'_>) -> Option<f64> {
        let otherwise = self.otherwise.map(|count| count as f64);
        self.place.sum(text, plain).or(otherwise)
    }
}
