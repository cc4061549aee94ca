//! A body that is one line of a file.

use prony_load::Mismatch;

use prony_load::excerpt;

/// The lines that are right, blank ones left out.
#[derive(Clone, Debug)]
pub struct LineOf {
    file: String,
    lines: Vec<Vec<u8>>,
}

impl LineOf {
    /// The lines of `text`, which is the content of `file`; `None` where it has none.
    pub fn new(file: &str, text: &[u8]) -> Option<Self> {
        let lines: Vec<Vec<u8>> = text
            .split(|&byte| byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| !line.is_empty())
            .map(<[u8]>::to_vec)
            .collect();
        let file = file.to_owned();
        (!lines.is_empty()).then_some(Self { file, lines })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// How long a right body can be, in bytes.
    pub fn longest(&self) -> u64 {
        let longest = self.lines.iter().map(Vec::len).max();
        longest.unwrap_or(0) as u64 + 1
    }

    /// A line feed may follow the line.
    pub fn check(&self, body: &[u8]) -> Result<(), Mismatch> {
        let line = body.strip_suffix(b"\n").unwrap_or(body);
        if self.lines.iter().any(|right| right == line) {
            return Ok(());
        }
        Err(Mismatch {
            expected: format!("one of the {} lines of {}", self.lines.len(), self.file),
            came: format!("{} bytes: {}", body.len(), excerpt(body, 0)),
        })
    }
}
