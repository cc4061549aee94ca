//! Writes the archive of the shipped files to standard output: `cargo run -p prony --example archive`.

use std::io::{self, Write};

const ARCHIVE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shipped.tar"));

fn main() -> io::Result<()> {
    io::stdout().write_all(ARCHIVE)
}
