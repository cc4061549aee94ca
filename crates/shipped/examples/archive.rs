//! Writes the archive of the shipped files to standard output: `cargo run -p prony-shipped --example archive`.

use std::io::{self, Write};

fn main() -> io::Result<()> {
    io::stdout().write_all(prony_shipped::ARCHIVE)
}
