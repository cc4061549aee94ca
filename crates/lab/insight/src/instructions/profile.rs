//! The files that callgrind writes.
//!
//! [The format](https://valgrind.org/docs/manual/cl-format.html) is text: a header, then the lines of each function. A line
//! beginning with a position has the cost of one line of source; after `calls=` it has the cost of the called function
//! instead, which is counted there.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use crate::instructions::names;

#[cfg(test)]
mod tests;

/// The most bytes in a line: names of functions in C++ and Rust are long.
const MOST_LINE: usize = 1 << 20;
const MOST_NAMES: usize = 4_000_000;
const MOST_BYTES: u64 = 1 << 30;

/// Instructions, and the functions that executed them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstructionCount {
    pub total: u64,
    /// Those of each function, without the functions that it called; the heaviest first.
    pub functions: Vec<Function>,
    /// How many processes executed them.
    pub processes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name without what differs between two builds: see [`names::stable`].
    pub name: String,
    /// The program or the library that it is in, without its folder; `None` if it was compiled while the program ran.
    pub object: Option<String>,
    /// The instructions of the function itself.
    pub instructions: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("it cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error("it is larger than 1 GiB")]
    TooLarge,
    #[error("line {line} is longer than 1 MiB")]
    LongLine { line: u64 },
    #[error("line {line} is not of a format that Prony knows: `{text}`")]
    Malformed { line: u64, text: String },
    #[error("its format has the version {0}, and Prony knows version 1")]
    Version(String),
    #[error("it does not count instructions (Ir), only: {0}")]
    NoInstructions(String),
    #[error("it is cut short")]
    CutShort,
    #[error("its functions have {functions} instructions together, and its total is {total}")]
    Mismatch { functions: u64, total: u64 },
    #[error("it has more than 4 million names")]
    TooManyNames,
    #[error("its counts are larger than any number of instructions")]
    Overflow,
}

impl InstructionCount {
    /// Reads a file of callgrind.
    ///
    /// # Errors
    /// If it cannot be read, is not such a file, is cut short, or contradicts itself.
    pub fn read(from: impl Read) -> Result<Self, ProfileError> {
        let mut reader = BufReader::with_capacity(1 << 16, from.take(MOST_BYTES + 1));
        let mut parser = Parser::default();
        let (mut line, mut read) = (Vec::new(), 0);
        loop {
            line.clear();
            let limit = MOST_LINE as u64 + 1;
            let length = reader.by_ref().take(limit).read_until(b'\n', &mut line)?;
            read += length as u64;
            if length == 0 {
                return parser.finish();
            }
            if read > MOST_BYTES {
                return Err(ProfileError::TooLarge);
            }
            if length > MOST_LINE {
                let line = parser.line + 1;
                return Err(ProfileError::LongLine { line });
            }
            parser.line(&String::from_utf8_lossy(&line))?;
        }
    }

    /// Adds the counts of another process.
    pub fn add(&mut self, other: Self) {
        let mut sums: HashMap<(String, Option<String>), u64> = HashMap::new();
        for one in std::mem::take(&mut self.functions)
            .into_iter()
            .chain(other.functions)
        {
            let sum = sums.entry((one.name, one.object)).or_default();
            *sum = sum.saturating_add(one.instructions);
        }
        self.total = self.total.saturating_add(other.total);
        self.processes += other.processes;
        self.functions = heaviest_first(sums);
    }
}

fn heaviest_first(sums: HashMap<(String, Option<String>), u64>) -> Vec<Function> {
    let mut functions: Vec<Function> = sums
        .into_iter()
        .filter(|(_, instructions)| *instructions > 0)
        .map(|((name, object), instructions)| Function {
            name,
            object,
            instructions,
        })
        .collect();
    functions.sort_by(|one, other| {
        let by_weight = other.instructions.cmp(&one.instructions);
        by_weight.then_with(|| (&one.name, &one.object).cmp(&(&other.name, &other.object)))
    });
    functions
}

/// Names that a file abbreviates: `(12) name` defines the number 12, `(12)` uses it.
#[derive(Debug, Default)]
struct Names(HashMap<u64, Rc<str>>);

impl Names {
    /// The name in a line; `None` if it uses a number without a name.
    fn resolve(&mut self, text: &str) -> Option<Rc<str>> {
        let numbered = text.strip_prefix('(').and_then(|rest| {
            let (number, name) = rest.split_once(')')?;
            // `(below main)` has none.
            Some((number.parse::<u64>().ok()?, name.trim_start()))
        });
        let Some((number, name)) = numbered else {
            return Some(text.into());
        };
        if !name.is_empty() {
            self.0.insert(number, name.into());
        }
        self.0.get(&number).cloned()
    }
}

/// Where the parser is in a file.
#[derive(Debug, Default)]
struct Parser {
    /// The number of the last line.
    line: u64,
    is_callgrind: bool,
    /// How many positions precede the costs.
    positions: usize,
    /// Which of the costs is the number of instructions.
    event: Option<usize>,
    functions: Names,
    objects: Names,
    /// The index in `costs` of the current function.
    current: Option<usize>,
    function: Option<Rc<str>>,
    object: Option<Rc<str>>,
    index: HashMap<(Rc<str>, Option<Rc<str>>), usize>,
    costs: Vec<u64>,
    /// The next line with a position has the cost of a called function, or the target of a jump.
    is_foreign: bool,
    /// Instructions of functions so far, and the totals that were written.
    counted: u64,
    totals: u64,
    /// Whether lines came since the last total.
    is_open: bool,
}

impl Parser {
    fn line(&mut self, text: &str) -> Result<(), ProfileError> {
        self.line += 1;
        let text = text.trim_end_matches(['\n', '\r']);
        if text.trim().is_empty() || text.starts_with('#') {
            return Ok(());
        }
        if text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '*')) {
            return self.cost(text);
        }
        // A name may contain colons, and a header may contain equals signs.
        let key = text.find([':', '=']);
        let malformed = || self.malformed(text);
        let at = key.ok_or_else(malformed)?;
        let (key, value) = (&text[..at], text[at + 1..].trim_start());
        match text.as_bytes()[at] {
            b'=' => self.body(key, value, text),
            _ => self.header(key, value, text),
        }
    }

    fn header(&mut self, key: &str, value: &str, text: &str) -> Result<(), ProfileError> {
        match key {
            "version" if value.trim() == "1" => self.is_callgrind = true,
            "version" => return Err(ProfileError::Version(shown(value))),
            "creator" => self.is_callgrind |= value.starts_with("callgrind"),
            "positions" => {
                let words: Vec<&str> = value.split_whitespace().collect();
                let known = |word: &&str| matches!(*word, "instr" | "line");
                if words.is_empty() || words.len() > 2 || !words.iter().all(known) {
                    return Err(self.malformed(text));
                }
                self.positions = words.len();
            }
            "events" => {
                let place = value.split_whitespace().position(|event| event == "Ir");
                let missing = || ProfileError::NoInstructions(shown(value));
                self.event = Some(place.ok_or_else(missing)?);
            }
            "part" => self.is_open = true,
            "totals" => {
                let event = self.event.unwrap_or(0);
                let total = value.split_whitespace().nth(event).unwrap_or("0");
                let total: u64 = total.parse().map_err(|_| self.malformed(text))?;
                self.totals = add(self.totals, total)?;
                self.is_open = false;
            }
            _ => {}
        }
        Ok(())
    }

    fn body(&mut self, key: &str, value: &str, text: &str) -> Result<(), ProfileError> {
        let malformed = || ProfileError::Malformed {
            line: self.line,
            text: shown(text),
        };
        self.is_open = true;
        match key {
            "fn" => {
                let name = self.functions.resolve(value).ok_or_else(malformed)?;
                self.function = Some(name);
                self.current = None;
            }
            "ob" => {
                let name = self.objects.resolve(value).ok_or_else(malformed)?;
                self.object = Some(name);
                self.current = None;
            }
            "cfn" => drop(self.functions.resolve(value).ok_or_else(malformed)?),
            "cob" => drop(self.objects.resolve(value).ok_or_else(malformed)?),
            "calls" | "jump" | "jcnd" => self.is_foreign = true,
            // Files of source, which Prony does not show.
            "fl" | "fi" | "fe" | "cfi" | "cfl" | "jfi" | "jfn" | "frfn" | "rcalls" => {}
            _ => return Err(malformed()),
        }
        if self.functions.0.len() + self.objects.0.len() > MOST_NAMES {
            return Err(ProfileError::TooManyNames);
        }
        Ok(())
    }

    /// A line with a position and costs, of which the last ones may be left out if they are 0.
    fn cost(&mut self, text: &str) -> Result<(), ProfileError> {
        self.is_open = true;
        if std::mem::take(&mut self.is_foreign) {
            return Ok(());
        }
        let event = self.event.ok_or_else(|| self.malformed(text))?;
        let mut words = text.split_whitespace().skip(self.positions.max(1) + event);
        let Some(cost) = words.next() else {
            return Ok(());
        };
        let cost: u64 = cost.parse().map_err(|_| self.malformed(text))?;
        let current = self.current().ok_or_else(|| self.malformed(text))?;
        self.costs[current] = add(self.costs[current], cost)?;
        self.counted = add(self.counted, cost)?;
        Ok(())
    }

    /// The index of the current function's cost; `None` before the first function.
    fn current(&mut self) -> Option<usize> {
        if self.current.is_none() {
            let key = (self.function.clone()?, self.object.clone());
            let next = self.costs.len();
            let index = *self.index.entry(key).or_insert(next);
            if index == next {
                self.costs.push(0);
            }
            self.current = Some(index);
        }
        self.current
    }

    /// Whether the lines so far are a whole file.
    fn check(&self) -> Result<(), ProfileError> {
        if self.line == 0 || !self.is_callgrind {
            return Err(match self.line {
                0 => ProfileError::CutShort,
                line => ProfileError::Malformed {
                    line,
                    text: "the header of callgrind is missing".to_owned(),
                },
            });
        }
        if self.is_open || self.event.is_none() {
            return Err(ProfileError::CutShort);
        }
        if self.counted != self.totals {
            return Err(ProfileError::Mismatch {
                functions: self.counted,
                total: self.totals,
            });
        }
        Ok(())
    }

    fn finish(self) -> Result<InstructionCount, ProfileError> {
        self.check()?;
        let mut sums: HashMap<(String, Option<String>), u64> = HashMap::new();
        for ((function, object), index) in &self.index {
            let object = object.as_deref();
            let object = object.filter(|object| !object.is_empty() && *object != "???");
            let name = names::stable(function, object);
            let object = object.map(|object| names::object_name(object).to_owned());
            let sum = sums.entry((name, object)).or_default();
            *sum = add(*sum, self.costs[*index])?;
        }
        Ok(InstructionCount {
            total: self.totals,
            functions: heaviest_first(sums),
            processes: 1,
        })
    }

    fn malformed(&self, text: &str) -> ProfileError {
        ProfileError::Malformed {
            line: self.line,
            text: shown(text),
        }
    }
}

fn add(one: u64, other: u64) -> Result<u64, ProfileError> {
    one.checked_add(other).ok_or(ProfileError::Overflow)
}

/// As much of a text as a message shows.
fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}
