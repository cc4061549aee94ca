//! The published tables of a document, as written in a suite, and their checks. Figures have the document's units.

use std::collections::BTreeMap;

use prony_manifest::{FileError, Source};
use prony_model::{
    LoadSpec, Published, PublishedFigure, PublishedRow, PublishedTable, RoundSummary,
};
use serde::Deserialize;
use toml::{Spanned, Value};

/// A checked document. The loads of its tables are resolved later, when the measures are final.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Document {
    published: Published,
    /// For each table, the index of the measure that reproduces it.
    measures: Vec<usize>,
}

impl Document {
    /// The document with the loads of its tables; `loads` are those of the suite's measures.
    pub(super) fn with_loads(&self, load: impl Fn(usize) -> LoadSpec) -> Published {
        let mut published = self.published.clone();
        for (table, &measure) in published.tables.iter_mut().zip(&self.measures) {
            table.load = load(measure);
        }
        published
    }
}

/// What a table's checks need to know about its measure: its id, if it has one, and the ids of its workloads.
pub(super) type MeasureNames<'a> = (Option<&'a str>, &'a [String]);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawDocument {
    document: String,
    machine: String,
    method: String,
    table: Vec<RawTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    title: String,
    measure: Spanned<String>,
    #[serde(default)]
    summary: RoundSummary,
    #[serde(default)]
    each_round: bool,
    columns: Vec<Spanned<PublishedFigure>>,
    #[serde(default)]
    charts: Vec<Spanned<PublishedFigure>>,
    share_of: Option<Spanned<String>>,
    #[serde(default)]
    notes: Vec<String>,
    /// Written as `[[published.table.row]]` or as a list of inline tables, `rows = […]`.
    #[serde(alias = "rows")]
    row: Vec<RawRow>,
}

/// A row as written: `name`, `server`, `workload`, and a field for each figure.
type RawRow = Spanned<BTreeMap<Spanned<String>, Spanned<Value>>>;

impl RawDocument {
    pub(super) fn check(
        self,
        source: &Source,
        servers: &[String],
        measures: &[MeasureNames<'_>],
    ) -> Result<Document, FileError> {
        let checked = self.table.into_iter();
        let checked = checked.map(|table| table.check(source, servers, measures));
        let (measures, tables) = checked.collect::<Result<(Vec<_>, Vec<_>), _>>()?;
        let published = Published {
            document: self.document,
            machine: self.machine,
            method: self.method,
            tables,
        };
        Ok(Document {
            published,
            measures,
        })
    }
}

impl RawTable {
    /// The table without its load, and the index of its measure.
    fn check(
        self,
        source: &Source,
        servers: &[String],
        measures: &[MeasureNames<'_>],
    ) -> Result<(usize, PublishedTable), FileError> {
        let ids = || measures.iter().map(|(id, _)| *id);
        let index = ids().position(|id| id == Some(self.measure.get_ref()));
        let index = index
            .ok_or_else(|| source.unknown(&self.measure, "measure with the id", ids().flatten()))?;
        let (_, workloads) = measures[index];
        self.check_columns(source)?;
        if let Some(share_of) = &self.share_of {
            among(source, share_of, "workload in its measure", workloads)?;
        }
        let mut table = PublishedTable {
            title: self.title,
            load: LoadSpec::default(),
            summary: self.summary,
            each_round: self.each_round,
            columns: self.columns.into_iter().map(Spanned::into_inner).collect(),
            charts: self.charts.into_iter().map(Spanned::into_inner).collect(),
            share_of: self.share_of.map(Spanned::into_inner),
            notes: self.notes,
            rows: Vec::with_capacity(self.row.len()),
        };
        for raw in self.row {
            let row = row(source, raw, servers, workloads, &table)?;
            table.rows.push(row);
        }
        Ok((index, table))
    }

    fn check_columns(&self, source: &Source) -> Result<(), FileError> {
        use PublishedFigure::{RateShare, TransferShare};
        for (i, column) in self.columns.iter().enumerate() {
            let name = column.get_ref().name();
            let is_share = matches!(column.get_ref(), RateShare | TransferShare);
            let message = if self.columns[..i].contains(column) {
                format!("`{name}` is named twice")
            } else if is_share && self.share_of.is_none() {
                format!("`{name}` needs `share_of`: the workload that it is a share of")
            } else {
                continue;
            };
            return Err(source.fault(column.span(), message));
        }
        match self.charts.iter().find(|one| !self.columns.contains(one)) {
            None => Ok(()),
            Some(chart) => {
                let name = chart.get_ref().name();
                let message = format!("`{name}` has a chart, but is not a column of the table");
                Err(source.fault(chart.span(), message))
            }
        }
    }
}

fn among(
    source: &Source,
    name: &Spanned<String>,
    what: &'static str,
    known: &[String],
) -> Result<(), FileError> {
    if known.contains(name.get_ref()) {
        Ok(())
    } else {
        Err(source.unknown(name, what, known.iter().map(String::as_str)))
    }
}

/// Checks a row of `table`, which contains the rows before it.
fn row(
    source: &Source,
    raw: RawRow,
    servers: &[String],
    workloads: &[String],
    table: &PublishedTable,
) -> Result<PublishedRow, FileError> {
    let place = raw.span();
    let mut fields = raw.into_inner();
    let mut text = |name: &str| {
        let missing = || source.fault(place.clone(), format!("missing field `{name}`"));
        let value = fields.remove(name).ok_or_else(missing)?;
        match value.get_ref() {
            Value::String(text) => Ok(Spanned::new(value.span(), text.clone())),
            _ => Err(source.fault(value.span(), "it must be a string")),
        }
    };
    let (name, server, workload) = (text("name")?, text("server")?, text("workload")?);
    among(source, &server, "server in this suite", servers)?;
    among(source, &workload, "workload in its measure", workloads)?;
    let is_the_same =
        |row: &PublishedRow| (&row.server, &row.workload) == (server.get_ref(), workload.get_ref());
    if table.rows.iter().any(is_the_same) {
        let (id, workload) = (server.get_ref(), workload.get_ref());
        let message = format!("the table has two rows of `{id}` with `{workload}`");
        return Err(source.fault(server.span(), message));
    }
    let mut figures = BTreeMap::new();
    for (name, value) in fields {
        let figure = PublishedFigure::from_name(name.get_ref()).ok_or_else(|| {
            let known = PublishedFigure::ALL.map(PublishedFigure::name);
            source.unknown(&name, "field", known)
        })?;
        if !table.columns.contains(&figure) {
            let message = format!("`{}` is not a column of the table", figure.name());
            return Err(source.fault(name.span(), message));
        }
        let values = values(figure, value.get_ref());
        figures.insert(
            figure,
            values.map_err(|message| source.fault(value.span(), message))?,
        );
    }
    Ok(PublishedRow {
        name: name.into_inner(),
        server: server.into_inner(),
        workload: workload.into_inner(),
        figures,
    })
}

/// Parses a figure: a value, or a list with one per round.
fn values(figure: PublishedFigure, value: &Value) -> Result<Vec<f64>, String> {
    match value {
        Value::Array(list) if list.is_empty() => {
            Err("the list must hold at least one value".to_owned())
        }
        Value::Array(list) => list.iter().map(|value| one_value(figure, value)).collect(),
        value => Ok(vec![one_value(figure, value)?]),
    }
}

fn one_value(figure: PublishedFigure, value: &Value) -> Result<f64, String> {
    let (name, Notation { units, example }) = (figure.name(), notation(figure));
    let plain = match value {
        Value::Integer(number) => *number as f64,
        Value::Float(number) => *number,
        Value::String(text) => {
            return with_unit(text, units).ok_or_else(|| {
                let units: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
                let units = match units.as_slice() {
                    [] => ", without a unit".to_owned(),
                    [_] => String::new(),
                    _ => format!("; the units are {}", units.join(", ")),
                };
                format!("`{text}` is not a valid `{name}`; write it like {example}{units}")
            });
        }
        _ => {
            return Err(format!(
                "write a value such as {example}, or a list of them"
            ));
        }
    };
    if !units.is_empty() {
        return Err(format!("`{name}` needs a unit: write it like {example}"));
    }
    positive(plain).ok_or_else(|| format!("`{plain}` is not a valid `{name}`"))
}

/// How documents write a figure.
struct Notation {
    /// The units that it may have, with their factors; empty if it has none.
    units: &'static [(&'static str, f64)],
    example: &'static str,
}

const fn notation(figure: PublishedFigure) -> Notation {
    use PublishedFigure::*;
    let (units, example): (&[_], _) = match figure {
        Rate | QueuedRequests | Errors => (&[], "634220.13"),
        LatencyMean | LatencyStdev | LatencyMax | LatencyP95 | LatencyP99 | TimePerRequest
        | Startup => (
            &[
                ("ns", 1.0),
                ("us", 1e3),
                ("µs", 1e3),
                ("ms", 1e6),
                ("s", 1e9),
            ],
            "\"331.40us\"",
        ),
        // These are wrk's: powers of 1024.
        Transfer | ArtefactBytes | PeakMemory => (
            &[
                ("B", 1.0),
                ("KB", 1024.0),
                ("MB", 1_048_576.0),
                ("GB", 1_073_741_824.0),
            ],
            "\"96.17MB\"",
        ),
        WithinStdev | RateShare | TransferShare => (&[("%", 0.01)], "\"91.94%\""),
    };
    Notation { units, example }
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

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::contains;
    use prony_testkit::table::rows;

    fn read(figure: PublishedFigure, text: &str) -> Result<f64, String> {
        values(figure, &Value::from(text)).map(|values| values[0])
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
    fn other_units_and_texts_are_rejected() {
        for [figure, text, expected] in rows(
            r#"
            latency-mean | 5 | `5` is not a valid `latency-mean`
            latency-mean | 5 MB | the units are ns, us, µs, ms, s
            latency-mean | -5 ms | `-5 ms` is not a valid `latency-mean`
            latency-mean | 1.2.3 ms | write it like "331.40us"
            latency-mean | "" | `` is not a valid `latency-mean`
            transfer | 5.61 GiB | the units are B, KB, MB, GB
            within-stdev | 0.9 | write it like "91.94%"
            rate | 12 k | `12 k` is not a valid `rate`; write it like 634220.13, without a unit
            "#,
        ) {
            let figure: PublishedFigure = Value::from(figure).try_into().unwrap();
            contains(&read(figure, text).unwrap_err(), expected);
        }
    }
}
