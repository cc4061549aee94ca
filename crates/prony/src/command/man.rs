//! `prony man [FOLDER]`: a manual page for each command.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::exit::Outcome;
use crate::result_file::{self, ResultFile};

const EXAMPLES: &str = "\
Examples:
  prony man ~/.local/share/man/man1  install the pages; then: man prony-load
  prony man | man -l -               read all of them

Exit status:
  0  the pages were written
  1  a page cannot be written
  2  the command line is wrong";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Write the pages to this folder, as prony.1, prony-run.1 and so on [default: standard output]
    folder: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, mut command: Command) -> Outcome {
    command.build();
    let pages = pages(command)?;
    let Some(folder) = &arguments.folder else {
        pages.iter().for_each(|page| out!("{}", page.text));
        return Ok(ExitCode::SUCCESS);
    };
    let folder = result_file::folder(folder)?;
    for page in &pages {
        ResultFile::open(&folder.join(&page.name))?.write(&page.text)?;
    }
    Ok(ExitCode::SUCCESS)
}

struct Page {
    /// Its file name, such as `prony-load.1`.
    name: String,
    text: String,
}

/// The pages of a command and of all below it, except for hidden ones.
fn pages(command: Command) -> io::Result<Vec<Page>> {
    let mut pages = vec![page(command.clone())?];
    for subcommand in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        pages.extend(self::pages(subcommand.clone())?);
    }
    Ok(pages)
}

fn page(command: Command) -> io::Result<Page> {
    let after = command.get_after_long_help().or(command.get_after_help());
    let after = after.map(ToString::to_string).unwrap_or_default();
    let has_subcommands = command.get_subcommands().any(|one| !one.is_hide_set());
    let man = Man::new(command)
        .source(concat!("prony ", env!("CARGO_PKG_VERSION")))
        .manual("Prony");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    // No word is hyphenated and no line stretched, least of all a flag.
    text.extend(b".nh\n.ad l\n");
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if has_subcommands {
        man.render_subcommands_section(&mut text)?;
    }
    sections(&after).to_writer(&mut text)?;
    let name = man.get_filename();
    let text = String::from_utf8(text).map_err(io::Error::other)?;
    Ok(Page {
        name,
        text: portable(&text),
    })
}

/// The same in ASCII, which every roff reads, and with places to break lists such as `a,b,c`.
fn portable(text: &str) -> String {
    let mut portable = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            ',' if rest.peek().is_some_and(|next| !next.is_whitespace()) => {
                portable.push_str(",\\:")
            }
            _ if c.is_ascii() => portable.push(c),
            _ => portable.push_str(&format!("\\[u{:04X}]", u32::from(c))),
        }
    }
    portable
}

/// The text after the options of a help page. A line that ends with a colon and stands above indented lines is a
/// heading, and the indented lines are columns, which no program may wrap.
fn sections(text: &str) -> Roff {
    let mut roff = Roff::new();
    let mut in_columns = false;
    let mut lines = text.lines().peekable();
    if !text.is_empty() && !text.starts_with("Examples:") {
        roff.control("SH", ["NOTES"]);
    }
    while let Some(line) = lines.next() {
        let is_column = line.starts_with("  ");
        if is_column != in_columns {
            roff.control(if is_column { "nf" } else { "fi" }, []);
            in_columns = is_column;
        }
        match line.strip_suffix(':') {
            Some(title)
                if lines.peek().is_some_and(|next| next.starts_with("  ")) && !is_column =>
            {
                roff.control("SH", [title.to_uppercase().as_str()]);
            }
            _ if line.is_empty() => drop(roff.control("PP", [])),
            _ => drop(roff.text([roman(line)])),
        }
    }
    if in_columns {
        roff.control("fi", []);
    }
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_keep_their_lines_and_headings_become_sections() {
        let help = "Examples:\n  a   one\n  'b  two\n\nPlain text.\n\nExit status:\n  0  fine";
        let expected = ".SH EXAMPLES\n.nf\n  a   one\n  \\*(Aqb  two\n.fi\n.PP\nPlain text.\n.PP\n\
                        .SH \"EXIT STATUS\"\n.nf\n  0  fine\n.fi\n";
        let page = sections(help).render();
        assert!(page.ends_with(expected), "{page}");
    }

    #[test]
    fn pages_are_ascii() {
        assert_eq!(portable("5 µs… a,b, c"), "5 \\[u00B5]s\\[u2026] a,\\:b, c");
    }

    #[test]
    fn every_visible_command_has_a_page() {
        let mut command = crate::command::definition();
        command.build();
        let pages = pages(command).unwrap().into_iter();
        let names: Vec<String> = pages.map(|page| page.name).collect();
        for name in ["prony", "prony-grpc", "prony-grpc-list", "prony-man"] {
            assert!(names.contains(&format!("{name}.1")), "{name}: {names:?}");
        }
        assert!(!names.contains(&"prony-reference.1".to_owned()));
    }
}
