//! `prony import`: Hurl files from what records or describes requests.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use prony_present::words::plural;
use prony_traffic::import::{HarOptions, Imported, Variable};

use crate::arguments;
use crate::curl::read_file;
use crate::exit::{Outcome, usage};
use crate::result_file::ResultFile;

const EXAMPLES: &str = "\
Examples:
  prony import har shop.har -o shop.hurl     what a browser recorded
  prony import har shop.har --no-assets --think-time -o shop.hurl
                                             without images and scripts, with
                                             the pauses of the user
  prony import openapi api.yaml -o api.hurl  one request for each operation
  prony import curl command.txt              a command that a browser copied
  pbpaste | prony import curl - -o cart.hurl

The first lines of the Hurl file say which variables it needs and how to load a
server with it. https://hurl.dev describes the format.

Exit status:
  0  the Hurl file was written
  1  it could not be written, or the input could not be read
  2  the input is invalid or has no requests, the file exists, or the command
     line is wrong";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    format: Format,
}

#[derive(Subcommand)]
enum Format {
    /// Import the requests that a browser recorded (HAR: network tab, "Save all as HAR")
    #[command(after_help = EXAMPLES)]
    Har(HarArguments),
    /// Import one request for each operation of an OpenAPI document (3.0 or 3.1, JSON or YAML)
    #[command(after_help = EXAMPLES)]
    Openapi(FileArguments),
    /// Import the request of a curl command (a browser's "Copy as cURL", for bash)
    #[command(after_help = EXAMPLES)]
    Curl(FileArguments),
}

#[derive(Args)]
struct HarArguments {
    #[command(flatten)]
    files: FileArguments,
    /// Import the requests to all hosts, not only those to the host of the first page
    #[arg(long)]
    all_hosts: bool,
    /// Leave out images, styles, fonts, scripts and media
    #[arg(long)]
    no_assets: bool,
    /// Wait between requests as long as the user did (the option `delay`)
    #[arg(long)]
    think_time: bool,
}

#[derive(Args)]
struct FileArguments {
    /// Read this file; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE.hurl")]
    output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let (format, files) = match &arguments.format {
        Format::Har(har) => ("har", &har.files),
        Format::Openapi(files) => ("openapi", files),
        Format::Curl(files) => ("curl", files),
    };
    let file = files.open()?;
    let text = files.text()?;
    let imported = arguments.format.read(&text);
    let imported = imported.map_err(|error| files.blame(error))?;
    let comments = heading(files, format, &imported.variables);
    let hurl = prony_traffic::import::write(&imported.entries, &comments);
    let hurl = hurl.map_err(|error| files.blame(error.into()))?;
    file.write(&hurl)?;
    for note in &imported.notes {
        errln!("note: {note}");
    }
    if let Some(output) = &files.output {
        let count = plural(imported.entries.len(), "request");
        errln!("wrote    {} ({count})", output.display());
    }
    Ok(ExitCode::SUCCESS)
}

impl Format {
    fn read(&self, text: &str) -> Result<Imported, Box<dyn Error>> {
        Ok(match self {
            Self::Har(har) => {
                let options = HarOptions {
                    all_hosts: har.all_hosts,
                    no_assets: har.no_assets,
                    think_time: har.think_time,
                };
                prony_traffic::import::har(text, options)?
            }
            Self::Openapi(_) => prony_traffic::import::openapi(text)?,
            Self::Curl(_) => prony_traffic::import::curl(text, &mut read_file)?,
        })
    }
}

impl FileArguments {
    /// Tries the output before anything is read.
    fn open(&self) -> Result<ResultFile, Box<dyn Error>> {
        let output = self.output.as_deref().unwrap_or(Path::new("-"));
        if output.is_file() && !self.force {
            return Err(usage(format!(
                "`{}` exists; name another file with -o, or replace it with --force",
                output.display()
            )));
        }
        Ok(ResultFile::open(output)?)
    }

    fn text(&self) -> Result<String, Box<dyn Error>> {
        let bytes = arguments::file_or_stdin(&self.input)
            .map_err(|error| format!("cannot read {}: {error}", self.shown()))?;
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            self.blame(format!("it is not UTF-8 at byte {at}").into())
        })
    }

    /// Blames the input for an error.
    fn blame(&self, error: Box<dyn Error>) -> Box<dyn Error> {
        usage(format!("{}: {error}", self.shown()))
    }

    fn shown(&self) -> String {
        if self.input.as_os_str() == "-" {
            "standard input".into()
        } else {
            format!("`{}`", self.input.display())
        }
    }
}

/// The first lines of the Hurl file: where it is from, and how it is used.
fn heading(files: &FileArguments, format: &str, variables: &[Variable]) -> Vec<String> {
    let input = if files.input.as_os_str() == "-" {
        "standard input".into()
    } else {
        file_name(&files.input)
    };
    let mut lines = vec![format!("From {input}, by `prony import {format}`.")];
    if !variables.is_empty() {
        lines.push("Variables:".into());
    }
    let width = variables.iter().map(|it| it.name.len()).max();
    let width = width.unwrap_or_default();
    for Variable { name, meaning } in variables {
        lines.push(format!("  {name:width$}  {meaning}"));
    }
    let mut command = format!("prony load {} --users 10", hurl_file(files));
    for variable in variables {
        command.push_str(&format!(" --variable {}=…", variable.name));
    }
    lines.push(format!("Run it: {command}"));
    lines
}

/// The file, or the name that it will probably have.
fn hurl_file(files: &FileArguments) -> String {
    let name = match &files.output {
        Some(output) if output.as_os_str() != "-" => file_name(output),
        _ if files.input.as_os_str() == "-" => "scenario.hurl".into(),
        _ => file_name(&files.input.with_extension("hurl")),
    };
    if name.contains([' ', '\'', '"', '$', '&', ';', '(', ')']) {
        format!("'{}'", name.replace('\'', "'\\''"))
    } else {
        name
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_every_variable() {
        let files = |input: &str, output: Option<&str>| FileArguments {
            input: input.into(),
            output: output.map(Into::into),
            force: false,
        };
        let variable = |name: &str, meaning: &str| Variable {
            name: name.into(),
            meaning: meaning.into(),
        };
        let variables = [
            variable("host", "the server's URL"),
            variable("id", "a key"),
        ];
        assert_eq!(
            heading(&files("docs/api.yaml", None), "openapi", &variables),
            [
                "From api.yaml, by `prony import openapi`.",
                "Variables:",
                "  host  the server's URL",
                "  id    a key",
                "Run it: prony load api.hurl --users 10 --variable host=… --variable id=…",
            ]
        );
        assert_eq!(
            heading(&files("-", Some("a/b c.hurl")), "curl", &[]),
            [
                "From standard input, by `prony import curl`.",
                "Run it: prony load 'b c.hurl' --users 10",
            ]
        );
    }
}
