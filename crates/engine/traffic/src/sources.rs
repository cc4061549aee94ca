//! Where the values of variables come from.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use prony_hurl::evaluate::{Number, Value, Variables};
use serde::{Deserialize, Serialize, Serializer};

use crate::environment::NamedFiles;
use crate::turn::FlowShare;

/// The most bytes of a data file.
const LONGEST_DATA: u64 = 256 * 1024 * 1024;
/// The most values of a data file: an empty one takes a byte there, and much more in memory.
const MOST_VALUES: usize = 5 * MILLION;
const MILLION: usize = 1_000_000;
/// How far from 0 a counter may begin: whatever a load adds to it, it does not overflow.
const FARTHEST_FIRST: i64 = 1 << 62;

/// Why a source of values is unusable.
#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error("cannot be read: {0}")]
    Csv(csv::Error),
    #[error("has {given} instead of {expected} columns in line {line}")]
    Columns {
        line: u64,
        given: u64,
        expected: u64,
    },
    #[error("has no JSON object in line {line}: {reason}")]
    Json { line: usize, reason: String },
    #[error("has other names in line {line} than in the first one: {reason}")]
    Names { line: usize, reason: String },
    #[error("has no name in column {0}")]
    Unnamed(usize),
    #[error("has no names in line {0}")]
    Nameless(usize),
    #[error("has no number in line {line}, column `{column}`: `{}`", .text.escape_default())]
    NoNumber {
        line: u64,
        column: String,
        text: String,
    },
    #[error("has no rows")]
    Empty,
    #[error("is longer than {} MiB", LONGEST_DATA / 1024 / 1024)]
    TooLong,
    #[error(
        "has more than {} million values (rows times columns); remove rows, or columns that no placeholder names",
        MOST_VALUES / MILLION
    )]
    TooMany,
    #[error(
        "sets `{}`, which cannot be the name of a variable: use letters, digits, hyphens and underscores, and neither `newUuid` nor `newDate`", .0.escape_default()
    )]
    Name(String),
    #[error("begins with {0}: write a first number between -{FARTHEST_FIRST} and {FARTHEST_FIRST}")]
    First(i64),
    #[error("sets the variable `{0}`, which has another source")]
    Twice(String),
}

impl From<csv::Error> for SourcesError {
    fn from(error: csv::Error) -> Self {
        use csv::ErrorKind::{Io, UnequalLengths};
        match error.kind() {
            UnequalLengths {
                pos,
                expected_len,
                len,
            } => Self::Columns {
                line: pos.as_ref().map_or(0, csv::Position::line),
                given: *len,
                expected: *expected_len,
            },
            Io(_) => Self::Read(error.into()),
            _ => Self::Csv(error),
        }
    }
}

/// The variables of every flow: constants, and what differs from flow to flow. A clone has the same rows, and begins
/// again with the first row and the first number of each counter. As data, it goes on where it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Sources {
    pub(crate) variables: Variables,
    data: Vec<Data>,
    counters: Vec<Counter>,
    randoms: Vec<Random>,
    names: BTreeSet<String>,
    flows: Flows,
    /// The files that a Hurl file may name.
    pub(crate) files: Option<NamedFiles>,
}

/// Counts the flows of all users of this process. A clone begins again.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "u64")]
struct Flows {
    /// The number of the first one.
    first: u64,
    begun: AtomicU64,
}

impl From<u64> for Flows {
    fn from(first: u64) -> Self {
        Self {
            first,
            begun: AtomicU64::default(),
        }
    }
}

impl Clone for Flows {
    fn clone(&self) -> Self {
        self.first.into()
    }
}

impl Serialize for Flows {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(self.next())
    }
}

impl Flows {
    /// The number of the next one.
    fn next(&self) -> u64 {
        self.first.wrapping_add(self.begun.load(Relaxed))
    }
}

/// Rows of values, of which each flow takes the next one.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Data {
    names: Vec<String>,
    /// Those of one row after the other.
    values: Arc<Vec<Value>>,
}

impl Data {
    fn rows(&self) -> usize {
        self.values.len() / self.names.len().max(1)
    }

    /// The values of the row for this flow. After the last row comes the first one again.
    fn row(&self, flow: u64) -> &[Value] {
        let row = flow.checked_rem(self.rows() as u64).unwrap_or_default() as usize;
        let mut rows = self.values.chunks_exact(self.names.len().max(1));
        rows.nth(row).unwrap_or_default()
    }
}

/// The value of a cell below a head of a CSV file: a text, unless the head declares a number: `price:number`.
fn cell(head: &str, text: &str, line: u64) -> Result<Value, SourcesError> {
    let Some(column) = head.strip_suffix(NUMBER) else {
        return Ok(Value::Text(text.to_owned()));
    };
    match serde_json::from_str::<serde_json::Number>(text) {
        Ok(number) => Ok(Value::Number(Number::from(&number))),
        Err(_) => Err(SourcesError::NoNumber {
            line,
            column: column.to_owned(),
            text: text.to_owned(),
        }),
    }
}

/// What the head of a column ends in whose cells are numbers.
const NUMBER: &str = ":number";

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Counter {
    name: String,
    first: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Random {
    name: String,
    range: RandomRange,
}

/// The smallest and the largest whole number that may be drawn: `1..1000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "(i64, i64)", into = "(i64, i64)")]
pub struct RandomRange {
    least: i64,
    most: i64,
}

impl FromStr for RandomRange {
    type Err = RandomRangeError;

    fn from_str(text: &str) -> Result<Self, RandomRangeError> {
        let (least, most) = text.split_once("..").ok_or(RandomRangeError::Shape)?;
        let number = |text: &str| text.trim().parse().map_err(|_| RandomRangeError::Shape);
        Self::try_from((number(least)?, number(most)?))
    }
}

impl TryFrom<(i64, i64)> for RandomRange {
    type Error = RandomRangeError;

    fn try_from((least, most): (i64, i64)) -> Result<Self, RandomRangeError> {
        if least <= most {
            Ok(Self { least, most })
        } else {
            Err(RandomRangeError::Order { least, most })
        }
    }
}

impl From<RandomRange> for (i64, i64) {
    fn from(RandomRange { least, most }: RandomRange) -> Self {
        (least, most)
    }
}

/// Why a text is not a range of random numbers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RandomRangeError {
    #[error("write the smallest and the largest number, such as 1..1000")]
    Shape,
    #[error("the smaller number comes first: write {most}..{least}")]
    Order { least: i64, most: i64 },
}

impl Sources {
    /// Sets a variable from text, as Hurl does: `true`, `false`, `null`, a number, or a text. What is in double quotes is
    /// always a text.
    ///
    /// # Errors
    ///
    /// If a variable cannot have this name.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), SourcesError> {
        let quoted = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let value = quoted.map_or_else(|| value_of(text), |text| Value::Text(text.to_owned()));
        self.set_value(name, value)
    }

    /// Sets a variable from text that requests send unchanged: it is a number, a boolean or null only if its text is
    /// the same then.
    ///
    /// # Errors
    ///
    /// If a variable cannot have this name.
    pub fn set_unchanged(&mut self, name: &str, text: &str) -> Result<(), SourcesError> {
        let value = value_of(text);
        let value = if value.rendered().as_deref() == Some(text) {
            value
        } else {
            Value::Text(text.to_owned())
        };
        self.set_value(name, value)
    }

    fn set_value(&mut self, name: &str, value: Value) -> Result<(), SourcesError> {
        check_name(name)?;
        self.variables.set(name, value);
        Ok(())
    }

    /// Sets a variable that no output may show.
    ///
    /// # Errors
    ///
    /// If a variable cannot have this name.
    pub fn set_secret(&mut self, name: &str, text: &str) -> Result<(), SourcesError> {
        check_name(name)?;
        self.variables
            .set_secret(name, Value::Text(text.to_owned()));
        Ok(())
    }

    /// Lets the file name files of this folder, and of those in it.
    pub fn set_folder(&mut self, folder: PathBuf) {
        self.files = Some(NamedFiles::In(folder));
    }

    /// Gives each flow the next whole number in this variable, from `first` on.
    ///
    /// # Errors
    ///
    /// If a variable cannot have this name, has another source, or the number is too far from 0.
    pub fn add_counter(&mut self, name: &str, first: i64) -> Result<(), SourcesError> {
        if !(-FARTHEST_FIRST..=FARTHEST_FIRST).contains(&first) {
            return Err(SourcesError::First(first));
        }
        self.claim(name)?;
        let name = name.to_owned();
        self.counters.push(Counter { name, first });
        Ok(())
    }

    /// Gives each flow a random whole number in this variable.
    ///
    /// # Errors
    ///
    /// If a variable cannot have this name, or has another source.
    pub fn add_random(&mut self, name: &str, range: RandomRange) -> Result<(), SourcesError> {
        self.claim(name)?;
        let name = name.to_owned();
        self.randoms.push(Random { name, range });
        Ok(())
    }

    /// Gives each flow the next row of a file: JSON lines if its name ends in `.jsonl` or `.ndjson`, otherwise CSV.
    ///
    /// # Errors
    ///
    /// As for [`Self::add_json_lines`] and [`Self::add_csv`].
    pub fn add_file(&mut self, file: &Path) -> Result<(), SourcesError> {
        let text = File::open(file)?;
        let extension = file.extension().and_then(|extension| extension.to_str());
        match extension {
            Some("jsonl" | "ndjson") => self.add_json_lines(text),
            _ => self.add_csv(text),
        }
    }

    /// Gives each flow the next row of a CSV file, whose first line names the variables: `item,price:number`. A cell is a
    /// text, unless its column is declared as a number. After the last row comes the first one again.
    ///
    /// # Errors
    ///
    /// If the text is no CSV, has no rows, no number in a cell that must be one, or too many values, or a variable cannot
    /// have its name or has another source.
    pub fn add_csv(&mut self, text: impl Read) -> Result<(), SourcesError> {
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::Headers)
            .from_reader(Bounded::new(text));
        let heads = reader.headers()?.clone();
        let names = heads
            .iter()
            .map(|head| head.strip_suffix(NUMBER).unwrap_or(head));
        let names: Vec<String> = names.map(str::to_owned).collect();
        if let Some(unnamed) = names.iter().position(String::is_empty) {
            return Err(SourcesError::Unnamed(unnamed + 1));
        }
        self.claim_all(&names)?;
        let mut values = Vec::new();
        for record in reader.records() {
            let record = record?;
            let line = record.position().map_or(0, csv::Position::line);
            let cells = heads.iter().zip(&record);
            let cells = cells.map(|(head, text)| cell(head, text, line));
            add_row(&mut values, cells.collect::<Result<Vec<_>, _>>()?)?;
        }
        self.add_rows(names, values)
    }

    /// Gives each flow the next object of a file of JSON lines, whose names are those of the variables. After the last
    /// object comes the first one again.
    ///
    /// # Errors
    ///
    /// If a line is no object or has other names than the first one, there is none, there are too many values, or a
    /// variable cannot have its name or has another source.
    pub fn add_json_lines(&mut self, text: impl Read) -> Result<(), SourcesError> {
        let mut names: Vec<String> = Vec::new();
        let mut values: Vec<Value> = Vec::new();
        for (number, line) in BufReader::new(Bounded::new(text)).lines().enumerate() {
            let (line, number) = (line?, number + 1);
            let mark = if number == 1 { "\u{feff}" } else { "" };
            let line = line.strip_prefix(mark).unwrap_or(&line);
            if line.trim().is_empty() {
                continue;
            }
            let row = object_of(line, number)?;
            if values.is_empty() {
                names = row.keys().cloned().collect();
                self.claim_all(&names)?;
            }
            add_row(&mut values, values_of(&row, &names, number)?)?;
        }
        self.add_rows(names, values)
    }

    fn add_rows(&mut self, names: Vec<String>, values: Vec<Value>) -> Result<(), SourcesError> {
        if values.is_empty() {
            return Err(SourcesError::Empty);
        }
        let values = Arc::new(values);
        self.data.push(Data { names, values });
        Ok(())
    }

    fn claim_all(&mut self, names: &[String]) -> Result<(), SourcesError> {
        names.iter().try_for_each(|name| self.claim(name))
    }

    fn claim(&mut self, name: &str) -> Result<(), SourcesError> {
        check_name(name)?;
        if self.sets(name) {
            return Err(SourcesError::Twice(name.to_owned()));
        }
        self.names.insert(name.to_owned());
        Ok(())
    }

    /// Whether a variable has a source.
    pub fn sets(&self, name: &str) -> bool {
        self.variables.get(name).is_some() || self.names.contains(name)
    }

    /// The variables that differ from flow to flow.
    pub(crate) fn changing(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The names of all variables.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.names().chain(self.changing())
    }

    /// How many rows the longest file has; 1 without files.
    pub(crate) fn longest(&self) -> usize {
        self.data.iter().map(Data::rows).fold(1, usize::max)
    }

    /// Whether values are drawn at random.
    pub fn is_random(&self) -> bool {
        !self.randoms.is_empty()
    }

    /// How many flows have begun: the next one has this number.
    pub fn flows_begun(&self) -> u64 {
        self.flows.next()
    }

    /// Lets the next flow have this number instead of 0, also in clones.
    pub fn begin_with_flow(&mut self, number: u64) {
        self.flows = number.into();
    }

    /// Leaves out the next `count` flows.
    pub fn skip_flows(&self, count: u64) {
        self.flows.begun.fetch_add(count, Relaxed);
    }

    /// Sets the variables of the next flow in `share`.
    pub(crate) fn fill(
        &self,
        share: FlowShare,
        variables: &mut Variables,
        random: &mut fastrand::Rng,
    ) {
        // One number for all: users of all threads share the rows, and the rows of several files belong together.
        let nth = self.flows.begun.fetch_add(1, Relaxed);
        let flow = self.flows.first.wrapping_add(share.number(nth));
        for data in &self.data {
            for (name, value) in data.names.iter().zip(data.row(flow)) {
                variables.set(name.as_str(), value.clone());
            }
        }
        for Counter { name, first } in &self.counters {
            variables.set(
                name.as_str(),
                Value::integer(first.wrapping_add(flow as i64)),
            );
        }
        for Random { name, range } in &self.randoms {
            let number = random.i64(range.least..=range.most);
            variables.set(name.as_str(), Value::integer(number));
        }
    }
}

/// Checks that a placeholder can name a variable so.
///
/// # Errors
///
/// If it has other characters, or names a function.
pub fn check_name(name: &str) -> Result<(), SourcesError> {
    if prony_hurl::is_variable_name(name) {
        Ok(())
    } else {
        Err(SourcesError::Name(name.to_owned()))
    }
}

fn add_row(
    values: &mut Vec<Value>,
    row: impl IntoIterator<Item = Value>,
) -> Result<(), SourcesError> {
    values.extend(row);
    if values.len() <= MOST_VALUES {
        Ok(())
    } else {
        Err(SourcesError::TooMany)
    }
}

fn object_of(
    line: &str,
    number: usize,
) -> Result<serde_json::Map<String, serde_json::Value>, SourcesError> {
    match serde_json::from_str(line) {
        Ok(serde_json::Value::Object(row)) => Ok(row),
        Ok(_) => Err(SourcesError::Json {
            line: number,
            reason: "it is another value".into(),
        }),
        Err(error) => Err(SourcesError::Json {
            line: number,
            reason: error.to_string(),
        }),
    }
}

/// The values of these names, which must be all that an object has.
fn values_of(
    row: &serde_json::Map<String, serde_json::Value>,
    names: &[String],
    line: usize,
) -> Result<Vec<Value>, SourcesError> {
    if row.is_empty() {
        return Err(SourcesError::Nameless(line));
    }
    let values = names.iter().map(|name| row.get(name).map(Value::from_json));
    let values: Option<Vec<Value>> = values.collect();
    values
        .filter(|_| row.len() == names.len())
        .ok_or_else(|| SourcesError::Names {
            line,
            reason: format!("{:?} instead of {names:?}", row.keys().collect::<Vec<_>>()),
        })
}

/// The value that a text stands for, as for Hurl's `--variable`.
fn value_of(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" => Value::Null,
        _ => match (text.parse::<i64>(), text.parse::<f64>()) {
            // A number with leading zeros, or a sign that would be lost, is a text.
            (Ok(number), _) if number.to_string() == text => Value::Number(Number::Integer(number)),
            (Err(_), Ok(number)) if is_decimal(text) => Value::Number(Number::Float(number)),
            _ => Value::Text(text.to_owned()),
        },
    }
}

/// Whether a text is digits, a point and digits.
fn is_decimal(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('.')
        .is_some_and(|(whole, fraction)| is_digits(whole) && is_digits(fraction))
}

/// Reads at most [`LONGEST_DATA`].
struct Bounded<R> {
    inner: R,
    left: u64,
}

impl<R> Bounded<R> {
    fn new(inner: R) -> Self {
        Self {
            inner,
            left: LONGEST_DATA,
        }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        match self.left.checked_sub(length as u64) {
            Some(left) => {
                self.left = left;
                Ok(length)
            }
            None => Err(io::Error::other(SourcesError::TooLong)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::table::rows;

    /// The values of these variables in the next flow.
    fn next(sources: &Sources, names: &[&str]) -> Vec<String> {
        let mut variables = sources.variables.clone();
        let mut random = fastrand::Rng::with_seed(1);
        sources.fill(FlowShare::ALL, &mut variables, &mut random);
        let text = |name: &&str| variables.get(name).expect("a variable").value.to_string();
        names.iter().map(text).collect()
    }

    #[test]
    fn a_clone_begins_again_with_the_same_rows() {
        let mut sources = Sources::default();
        sources.add_csv("x\na\nb\n".as_bytes()).expect("rows");
        sources.add_counter("n", 7).expect("a counter");
        assert_eq!(next(&sources, &["x", "n"]), ["a", "7"]);
        let clone = sources.clone();
        assert_eq!(next(&sources, &["x", "n"]), ["b", "8"]);
        assert_eq!(next(&clone, &["x", "n"]), ["a", "7"]);
        assert!(Arc::ptr_eq(&sources.data[0].values, &clone.data[0].values));
    }

    #[test]
    fn the_name_of_a_file_says_what_it_has() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, content) in [
            ("a.csv", "x\n1\n"),
            ("a.jsonl", "{\"x\": 1}\n"),
            ("a.ndjson", "{\"x\": 1}\n"),
        ] {
            let file = folder.path().join(name);
            std::fs::write(&file, content).expect("a file");
            let mut sources = Sources::default();
            sources.add_file(&file).expect(name);
            assert_eq!(next(&sources, &["x"]), ["1"], "{name}");
        }
    }

    #[test]
    fn a_range_has_two_numbers_in_their_order() {
        let range = "-2 .. 5".parse();
        assert_eq!(range, Ok(RandomRange { least: -2, most: 5 }));
        for [text, expected] in rows(
            r#"
            5..1 | the smaller number comes first: write 1..5
            1-5 | write the smallest and the largest number, such as 1..1000
            1.. | write the smallest and the largest number, such as 1..1000
            0..9223372036854775808 | write the smallest and the largest number, such as 1..1000
        "#,
        ) {
            let error = text.parse::<RandomRange>().expect_err(text);
            assert_eq!(error.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn a_variable_in_quotes_is_a_text_and_may_be_set_without_changing_it() {
        let text = |text: &str| Value::Text(text.to_owned());
        for (written, expected, unchanged) in [
            ("12", Value::integer(12), Value::integer(12)),
            ("1.10", Value::Number(Number::Float(1.1)), text("1.10")),
            (
                "1.5",
                Value::Number(Number::Float(1.5)),
                Value::Number(Number::Float(1.5)),
            ),
            ("007", text("007"), text("007")),
            ("\"123\"", text("123"), text("\"123\"")),
            ("true", Value::Bool(true), Value::Bool(true)),
            ("\"true\"", text("true"), text("\"true\"")),
            ("\"\"", text(""), text("\"\"")),
            ("\"", text("\""), text("\"")),
        ] {
            let mut sources = Sources::default();
            sources.set("x", written).expect("a name");
            sources.set_unchanged("y", written).expect("a name");
            let value = |name| &sources.variables.get(name).expect("a variable").value;
            assert_eq!(
                (value("x"), value("y")),
                (&expected, &unchanged),
                "{written}"
            );
        }
    }
}
