//! Keeps a response while it is read.

use prony_traffic::Collect;

use super::fields::{FieldLine, trim};
use super::head::status_line;
use super::lines::Lines;

/// What to do with the parts of a response as they are read.
pub trait Keep {
    /// Takes the final head as received, with its empty line.
    fn head(&mut self, bytes: &[u8]);
    /// Takes a piece of the body, its transfer coding removed.
    fn body(&mut self, bytes: &[u8]);
}

/// Keeps nothing.
pub struct Ignore;

impl Keep for Ignore {
    fn head(&mut self, _: &[u8]) {}
    fn body(&mut self, _: &[u8]) {}
}

fn take_line(collect: &mut Collect, line: &[u8]) {
    match FieldLine::read(line, true) {
        Ok(FieldLine::Begins { name, value_at }) => {
            collect.add_field(name, trim(&line[value_at..]));
        }
        Ok(FieldLine::Continues) => collect.continue_field(trim(line)),
        // The reader accepts no head with such a line.
        Err(_) => {}
    }
}

impl Keep for Collect {
    fn head(&mut self, bytes: &[u8]) {
        let mut lines = Lines::default();
        let first = lines.next(bytes).map(|line| status_line(&bytes[line]));
        let (minor, status) = first.and_then(Result::ok).unwrap_or_default();
        self.begin_head(status);
        if minor == 0 && status != 0 {
            self.set_http10();
        }
        while let Some(line) = lines.next(bytes).filter(|line| !line.is_empty()) {
            take_line(self, &bytes[line]);
        }
    }

    fn body(&mut self, bytes: &[u8]) {
        self.add_body(bytes);
    }
}
