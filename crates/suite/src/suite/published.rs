//! What a document published: its tables as they are written in a suite, and their checks.

use std::collections::BTreeMap;
use std::fmt;

use prony_model::{
    LoadSpec, Published, PublishedFigure, PublishedRow, PublishedTable, RoundSummary,
};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use toml::Spanned;

use super::MeasureSpec;
use super::value::FigureValues;
use prony_manifest::{FileError, Source};

/// A document, checked. The loads of its tables are only known when it is known what is measured.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Document {
    document: String,
    machine: String,
    method: String,
    tables: Vec<Table>,
}

/// A table, and which measure gives its figures here.
#[derive(Clone, Debug, PartialEq)]
struct Table {
    measure: usize,
    title: String,
    summary: RoundSummary,
    each_round: bool,
    columns: Vec<PublishedFigure>,
    charts: Vec<PublishedFigure>,
    share_of: Option<String>,
    notes: Vec<String>,
    rows: Vec<PublishedRow>,
}

impl Document {
    /// The document with each measure's load, by its place in the suite.
    pub(super) fn with_loads(&self, load: impl Fn(usize) -> LoadSpec) -> Published {
        let table = |table: &Table| PublishedTable {
            title: table.title.clone(),
            load: load(table.measure),
            summary: table.summary,
            each_round: table.each_round,
            columns: table.columns.clone(),
            charts: table.charts.clone(),
            share_of: table.share_of.clone(),
            notes: table.notes.clone(),
            rows: table.rows.clone(),
        };
        Published {
            document: self.document.clone(),
            machine: self.machine.clone(),
            method: self.method.clone(),
            tables: self.tables.iter().map(table).collect(),
        }
    }
}

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

/// What a row's checks need to know.
struct Context<'a> {
    source: &'a Source,
    servers: &'a [String],
    measure: &'a MeasureSpec,
    columns: &'a [PublishedFigure],
}

impl RawDocument {
    pub(super) fn check(
        self,
        source: &Source,
        servers: &[String],
        measures: &[MeasureSpec],
    ) -> Result<Document, FileError> {
        let tables = self.table.into_iter();
        Ok(Document {
            document: self.document,
            machine: self.machine,
            method: self.method,
            tables: tables
                .map(|table| table.check(source, servers, measures))
                .collect::<Result<_, _>>()?,
        })
    }
}

impl RawTable {
    fn check(
        self,
        source: &Source,
        servers: &[String],
        measures: &[MeasureSpec],
    ) -> Result<Table, FileError> {
        let index = measure_named(source, &self.measure, measures)?;
        let measure = &measures[index];
        self.check_columns(source)?;
        if let Some(share_of) = &self.share_of {
            among(
                source,
                share_of,
                "workload in its measure",
                &measure.workloads,
            )?;
        }
        let columns: Vec<_> = self.columns.into_iter().map(Spanned::into_inner).collect();
        let context = Context {
            source,
            servers,
            measure,
            columns: &columns,
        };
        let mut rows: Vec<PublishedRow> = Vec::with_capacity(self.row.len());
        for raw in self.row {
            let row = raw.check(&context, &rows)?;
            rows.push(row);
        }
        Ok(Table {
            measure: index,
            title: self.title,
            summary: self.summary,
            each_round: self.each_round,
            columns,
            charts: self.charts.into_iter().map(Spanned::into_inner).collect(),
            share_of: self.share_of.map(Spanned::into_inner),
            notes: self.notes,
            rows,
        })
    }

    fn check_columns(&self, source: &Source) -> Result<(), FileError> {
        for (i, column) in self.columns.iter().enumerate() {
            let (figure, name) = (column.get_ref(), column.get_ref().name());
            if self.columns[..i]
                .iter()
                .any(|other| other.get_ref() == figure)
            {
                return Err(source.fault(column.span(), format!("`{name}` is named twice")));
            }
            let is_share = matches!(
                figure,
                PublishedFigure::RateShare | PublishedFigure::TransferShare
            );
            if is_share && self.share_of.is_none() {
                let message =
                    format!("`{name}` needs `share_of`: the workload that it is a share of");
                return Err(source.fault(column.span(), message));
            }
        }
        for chart in &self.charts {
            if !self
                .columns
                .iter()
                .any(|column| column.get_ref() == chart.get_ref())
            {
                let message = format!(
                    "`{}` has a chart, but is none of the table's columns",
                    chart.get_ref().name()
                );
                return Err(source.fault(chart.span(), message));
            }
        }
        Ok(())
    }
}

fn measure_named(
    source: &Source,
    name: &Spanned<String>,
    measures: &[MeasureSpec],
) -> Result<usize, FileError> {
    let ids = || measures.iter().map(|measure| measure.id.as_deref());
    match ids().position(|id| id == Some(name.get_ref())) {
        Some(index) => Ok(index),
        None => Err(source.unknown(name, "measure with the id", ids().flatten())),
    }
}

fn among(
    source: &Source,
    name: &Spanned<String>,
    what: &'static str,
    known: &[String],
) -> Result<(), FileError> {
    match known.contains(name.get_ref()) {
        true => Ok(()),
        false => Err(source.unknown(name, what, known.iter().map(String::as_str))),
    }
}

/// A row as it is written: its names, and a field for each figure.
struct RawRow {
    name: String,
    server: Spanned<String>,
    workload: Spanned<String>,
    figures: BTreeMap<PublishedFigure, Figure>,
}

struct Figure {
    /// Where its name stands.
    name: std::ops::Range<usize>,
    values: Vec<f64>,
}

impl RawRow {
    fn check(
        self,
        context: &Context<'_>,
        before: &[PublishedRow],
    ) -> Result<PublishedRow, FileError> {
        let source = context.source;
        let (server, workload) = (&self.server, &self.workload);
        among(source, server, "server in this suite", context.servers)?;
        let workloads = &context.measure.workloads;
        among(source, workload, "workload in its measure", workloads)?;
        let twice = before
            .iter()
            .any(|row| row.server == *server.get_ref() && row.workload == *workload.get_ref());
        if twice {
            let (server, workload) = (server.get_ref(), workload.get_ref());
            let message = format!("the table has two rows of `{server}` with `{workload}`");
            return Err(source.fault(self.server.span(), message));
        }
        for (figure, Figure { name, .. }) in &self.figures {
            if !context.columns.contains(figure) {
                let message = format!("`{}` is none of the table's columns", figure.name());
                return Err(source.fault(name.clone(), message));
            }
        }
        let figures = self.figures.into_iter();
        Ok(PublishedRow {
            name: self.name,
            server: self.server.into_inner(),
            workload: self.workload.into_inner(),
            figures: figures
                .map(|(name, figure)| (name, figure.values))
                .collect(),
        })
    }
}

/// A field of a row.
enum RowField {
    Name,
    Server,
    Workload,
    Figure(PublishedFigure),
}

/// The names of all fields of a row.
const ROW_FIELDS: [&str; 3 + PublishedFigure::ALL.len()] = {
    let mut names = ["name"; 3 + PublishedFigure::ALL.len()];
    names[1] = "server";
    names[2] = "workload";
    let mut i = 0;
    while i < PublishedFigure::ALL.len() {
        names[3 + i] = PublishedFigure::ALL[i].name();
        i += 1;
    }
    names
};

impl<'de> Deserialize<'de> for RowField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let mut figures = PublishedFigure::ALL.into_iter();
        match name.as_str() {
            "name" => Ok(RowField::Name),
            "server" => Ok(RowField::Server),
            "workload" => Ok(RowField::Workload),
            other => match figures.find(|figure| figure.name() == other) {
                Some(figure) => Ok(RowField::Figure(figure)),
                None => Err(D::Error::unknown_field(other, &ROW_FIELDS)),
            },
        }
    }
}

impl<'de> Deserialize<'de> for RawRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RowVisitor)
    }
}

struct RowVisitor;

impl<'de> Visitor<'de> for RowVisitor {
    type Value = RawRow;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row with `name`, `server`, `workload` and figures")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<RawRow, A::Error> {
        let (mut name, mut server, mut workload) = (None, None, None);
        let mut figures = BTreeMap::new();
        while let Some(field) = fields.next_key::<Spanned<RowField>>()? {
            let span = field.span();
            match field.into_inner() {
                RowField::Name => name = Some(fields.next_value()?),
                RowField::Server => server = Some(fields.next_value()?),
                RowField::Workload => workload = Some(fields.next_value()?),
                RowField::Figure(figure) => {
                    let values = fields.next_value_seed(FigureValues(figure))?;
                    figures.insert(figure, Figure { name: span, values });
                }
            }
        }
        Ok(RawRow {
            name: name.ok_or_else(|| A::Error::missing_field("name"))?,
            server: server.ok_or_else(|| A::Error::missing_field("server"))?,
            workload: workload.ok_or_else(|| A::Error::missing_field("workload"))?,
            figures,
        })
    }
}
