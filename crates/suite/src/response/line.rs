//! A body that is one line of a file.

use prony_load::Mismatch;

use prony_load::excerpt;

/// The lines that are right, blank ones left out.
#[derive(Clone, Debug)]
pub struct LineOf {
    file: String,
    /// Each line once.
    lines: Vec<Vec<u8>>,
    /// How much of the file each is, 0 to 1: a line that is there twice is drawn twice as often.
    shares: Vec<f64>,
}

impl LineOf {
    /// The lines of `text`, which is the content of `file`; `None` where it has none.
    pub fn new(file: &str, text: &[u8]) -> Option<Self> {
        let all: Vec<&[u8]> = text
            .split(|&byte| byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| !line.is_empty())
            .collect();
        let mut lines: Vec<Vec<u8>> = all.iter().map(|line| line.to_vec()).collect();
        lines.sort_unstable();
        lines.dedup();
        let times = |line: &Vec<u8>| all.iter().filter(|one| **one == line.as_slice()).count();
        let shares = lines
            .iter()
            .map(|line| times(line) as f64 / all.len() as f64);
        let (file, shares) = (file.to_owned(), shares.collect());
        (!lines.is_empty()).then_some(Self {
            file,
            lines,
            shares,
        })
    }

    /// The file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// How many different lines there are.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// How long a right body can be, in bytes.
    pub fn longest(&self) -> u64 {
        let longest = self.lines.iter().map(Vec::len).max();
        longest.unwrap_or(0) as u64 + 1
    }

    /// The line of that number.
    pub fn line(&self, number: usize) -> &[u8] {
        &self.lines[number]
    }

    /// The chance of each line if every line of the file has the same.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// The chance that two independent draws are the same line.
    pub fn chance_of_two_alike(&self) -> f64 {
        self.shares.iter().map(|share| share * share).sum()
    }

    /// Which line the body is; a line feed may follow the line.
    pub fn number(&self, body: &[u8]) -> Option<usize> {
        let line = body.strip_suffix(b"\n").unwrap_or(body);
        self.lines
            .binary_search_by(|one| one.as_slice().cmp(line))
            .ok()
    }

    /// `Err` if the body is none of the lines.
    pub fn check(&self, body: &[u8]) -> Result<(), Mismatch> {
        if self.number(body).is_some() {
            return Ok(());
        }
        Err(Mismatch {
            expected: format!("one of the {} lines of {}", self.lines.len(), self.file),
            came: format!("{} bytes: {}", body.len(), excerpt(body, 0)),
        })
    }
}
