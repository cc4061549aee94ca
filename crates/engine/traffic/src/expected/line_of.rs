//! Bodies that are one line of a file.

use prony_model::without_mark;
use serde::{Deserialize, Serialize};

use crate::base64::Base64;
use crate::response::{Mismatch, excerpt};

/// The allowed lines of a file, without blank ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineOf {
    file: String,
    /// The different lines, in the order of their bytes.
    lines: Vec<Base64>,
    /// The share (0 to 1) of each: a line that occurs twice is drawn twice as often.
    shares: Vec<f64>,
}

impl LineOf {
    /// The lines of `text`, the content of `file`; `None` if it has none.
    pub fn new(file: &str, text: &[u8]) -> Option<Self> {
        let all: Vec<&[u8]> = without_mark(text)
            .split(|&byte| byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| !line.is_empty())
            .collect();
        let mut lines = all.clone();
        lines.sort_unstable();
        lines.dedup();
        let times = |line: &&[u8]| all.iter().filter(|one| *one == line).count();
        let shares = lines.iter();
        let shares = shares.map(|line| times(line) as f64 / all.len() as f64);
        (!lines.is_empty()).then(|| Self {
            file: file.to_owned(),
            shares: shares.collect(),
            lines: lines.iter().map(|line| Base64(line.to_vec())).collect(),
        })
    }

    pub fn file(&self) -> &str {
        &self.file
    }

    /// How many different lines there are.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// The longest possible expected body, in bytes.
    pub fn longest(&self) -> u64 {
        let longest = self.lines.iter().map(|line| line.0.len()).max();
        longest.unwrap_or(0) as u64 + 1
    }

    /// The line with this index.
    pub fn line(&self, number: usize) -> &[u8] {
        &self.lines[number].0
    }

    /// The chance of each line, in a uniform draw from the file.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// The chance that two independent draws are the same line.
    pub fn chance_of_two_alike(&self) -> f64 {
        self.shares.iter().map(|share| share * share).sum()
    }

    /// Which line the body is; a line feed may follow it.
    pub fn number(&self, body: &[u8]) -> Option<usize> {
        let line = body.strip_suffix(b"\n").unwrap_or(body);
        self.lines
            .binary_search_by(|one| one.0.as_slice().cmp(line))
            .ok()
    }

    /// `Err` if the body is not one of the lines.
    pub fn check(&self, body: &[u8]) -> Result<(), Mismatch> {
        if self.number(body).is_some() {
            return Ok(());
        }
        Err(Mismatch {
            expected: format!("one of the {} lines of {}", self.lines.len(), self.file),
            received: format!("{} bytes: {}", body.len(), excerpt(body, 0)),
        })
    }
}
