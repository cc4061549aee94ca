//! The figures of a published table, as people write them: with the unit that the document has.

use std::fmt;

use prony_model::PublishedFigure;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// In nothing: a rate or a count.
    None,
    /// In nanoseconds.
    Time,
    /// In bytes.
    Size,
    /// As a share of one.
    Share,
}

/// What a document writes behind a number, and what it is worth. Its `KB`, `MB` and `GB` are wrk's:
/// powers of 1024.
const TIMES: &[(&str, f64)] = &[
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
];
const SIZES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("KB", 1024.0),
    ("MB", 1024.0 * 1024.0),
    ("GB", 1024.0 * 1024.0 * 1024.0),
];
const SHARES: &[(&str, f64)] = &[("%", 0.01)];

impl Unit {
    fn of(figure: PublishedFigure) -> Self {
        use PublishedFigure::*;
        match figure {
            Rate | QueuedRequests | Errors => Unit::None,
            LatencyMean | LatencyStdev | LatencyMax | LatencyP95 | LatencyP99 | TimePerRequest
            | Startup => Unit::Time,
            Transfer | ArtefactBytes | PeakMemory => Unit::Size,
            WithinStdev | RateShare | TransferShare => Unit::Share,
        }
    }

    const fn names(self) -> &'static [(&'static str, f64)] {
        match self {
            Unit::None => &[],
            Unit::Time => TIMES,
            Unit::Size => SIZES,
            Unit::Share => SHARES,
        }
    }

    const fn example(self) -> &'static str {
        match self {
            Unit::None => "634220.13",
            Unit::Time => "\"331.40us\"",
            Unit::Size => "\"96.17MB\"",
            Unit::Share => "\"91.94%\"",
        }
    }
}

/// Reads a figure: a value, or a list with one for each round.
pub(super) struct FigureValues(pub PublishedFigure);

impl<'de> DeserializeSeed<'de> for FigureValues {
    type Value = Vec<f64>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<f64>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FigureValues {
    type Value = Vec<f64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let example = Unit::of(self.0).example();
        write!(f, "a value such as {example}, or a list of them")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<f64>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(FigureValue(self.0))? {
            values.push(value);
        }
        if values.is_empty() {
            return Err(A::Error::custom("the list must hold at least one value"));
        }
        Ok(values)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Vec<f64>, E> {
        FigureValue(self.0)
            .visit_i64(number)
            .map(|value| vec![value])
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Vec<f64>, E> {
        FigureValue(self.0)
            .visit_f64(number)
            .map(|value| vec![value])
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<f64>, E> {
        FigureValue(self.0).visit_str(text).map(|value| vec![value])
    }
}

/// Reads one value of a figure.
struct FigureValue(PublishedFigure);

impl FigureValue {
    fn number<E: Error>(&self, number: f64) -> Result<f64, E> {
        let (name, unit) = (self.0.name(), Unit::of(self.0));
        if unit != Unit::None {
            return Err(E::custom(format!(
                "`{name}` needs a unit: write it like {}",
                unit.example()
            )));
        }
        positive(number).ok_or_else(|| E::custom(format!("`{number}` is no `{name}`")))
    }

    fn text<E: Error>(&self, text: &str) -> Result<f64, E> {
        let (name, unit) = (self.0.name(), Unit::of(self.0));
        with_unit(text, unit.names()).ok_or_else(|| {
            E::custom(format!(
                "`{text}` is no `{name}`; write it like {}{}",
                unit.example(),
                known(unit)
            ))
        })
    }
}

/// The units to choose from, where there are some.
fn known(unit: Unit) -> String {
    let names: Vec<&str> = unit.names().iter().map(|(name, _)| *name).collect();
    match names.as_slice() {
        [] => ", without a unit".to_owned(),
        [_] => String::new(),
        _ => format!("; the units are {}", names.join(", ")),
    }
}

fn positive(number: f64) -> Option<f64> {
    (number.is_finite() && number >= 0.0).then_some(number)
}

fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    let (_, worth) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    positive(number.parse::<f64>().ok()? * worth)
}

impl<'de> DeserializeSeed<'de> for FigureValue {
    type Value = f64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<f64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for FigureValue {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value such as {}", Unit::of(self.0).example())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
        self.number(number as f64)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
        self.number(number)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        self.text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IntoDeserializer;
    use serde::de::value::Error as ValueError;

    fn read(figure: PublishedFigure, text: &str) -> Result<f64, String> {
        let text: serde::de::value::StrDeserializer<'_, ValueError> = text.into_deserializer();
        let values = FigureValues(figure).deserialize(text);
        values
            .map(|values| values[0])
            .map_err(|error| error.to_string())
    }

    #[test]
    fn every_unit_is_read_with_and_without_a_space() {
        use PublishedFigure::*;
        let kilo = 1024.0;
        for (figure, text, value) in [
            (LatencyMean, "331.40us", 331_400.0),
            (LatencyMean, "331.40 µs", 331_400.0),
            (LatencyP99, "5.5 ms", 5_500_000.0),
            (LatencyMax, "1.79s", 1.79e9),
            (Startup, "7 ns", 7.0),
            (Transfer, "442.60KB", 442.6 * kilo),
            (Transfer, "96.17MB", 96.17 * kilo * kilo),
            (Transfer, "5.61 GB", 5.61 * kilo * kilo * kilo),
            (ArtefactBytes, "533672 B", 533_672.0),
            (PeakMemory, "12.7 MB", 12.7 * kilo * kilo),
            (WithinStdev, "91.94%", 0.9194),
            (TransferShare, "73 %", 0.73),
        ] {
            let came = read(figure, text).unwrap();
            assert!((came - value).abs() <= value * 1e-12, "{text}: {came}");
        }
    }

    #[test]
    fn other_units_and_texts_are_refused() {
        use PublishedFigure::*;
        for (figure, text, said) in [
            (LatencyMean, "5", "`5` is no `latency-mean`"),
            (LatencyMean, "5 MB", "the units are ns, us, µs, ms, s"),
            (LatencyMean, "-5 ms", "`-5 ms` is no `latency-mean`"),
            (LatencyMean, "1.2.3 ms", "write it like \"331.40us\""),
            (LatencyMean, "", "`` is no `latency-mean`"),
            (Transfer, "5.61 GiB", "the units are B, KB, MB, GB"),
            (WithinStdev, "0.9", "write it like \"91.94%\""),
            (
                Rate,
                "12 k",
                "`12 k` is no `rate`; write it like 634220.13, without a unit",
            ),
        ] {
            let error = read(figure, text).unwrap_err();
            assert!(error.contains(said), "{error}\nlacks {said}");
        }
    }
}
