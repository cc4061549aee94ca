//! Lines of a stream of bytes.

/// A line is cut here. Those of agents are shorter.
const LONGEST: usize = 4096;

/// Splits what arrives into lines, and very long ones into pieces.
#[derive(Debug, Default)]
pub struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    /// The lines that end in what has arrived.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for &byte in bytes {
            if byte != b'\n' {
                self.begun.push(byte);
            }
            if byte == b'\n' || self.begun.len() == LONGEST {
                lines.push(self.take());
            }
        }
        lines
    }

    /// What came after the last line, if anything.
    pub fn rest(&mut self) -> Option<String> {
        (!self.begun.is_empty()).then(|| self.take())
    }

    fn take(&mut self) -> String {
        let line = String::from_utf8_lossy(&self.begun).into_owned();
        self.begun.clear();
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_may_arrive_in_any_pieces() {
        let text = "one\n\nthree äöü\nrest".as_bytes();
        for at in 0..=text.len() {
            let mut lines = Lines::default();
            let mut seen = lines.push(&text[..at]);
            seen.extend(lines.push(&text[at..]));
            assert_eq!(seen, ["one", "", "three äöü"], "split at {at}");
            assert_eq!(lines.rest().as_deref(), Some("rest"));
            assert_eq!(lines.rest(), None);
        }
    }

    #[test]
    fn a_line_without_end_comes_in_bounded_pieces() {
        let mut lines = Lines::default();
        let seen = lines.push(&vec![b'a'; 3 * LONGEST + 1]);
        let lengths: Vec<usize> = seen.iter().map(String::len).collect();
        assert_eq!(lengths, [LONGEST; 3]);
        assert_eq!(lines.rest().as_deref(), Some("a"));
    }
}
