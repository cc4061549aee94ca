//! `prony site DIR`: every recorded run as a static site.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use prony_present::words::plural;
use prony_site::{Built, Progress, SiteError, SiteFolder, build};

use super::flags::StoreFlag;
use crate::exit::{self, Outcome};

const EXAMPLES: &str = "\
Examples:
  prony site public                       all runs of the project's record file
  prony site public --store ci.sqlite     of another record file
  xdg-open public/index.html              the site needs no web server

Each run, server and machine has a page, and so has each run next to the one \
before it. Links are relative: the site works in a subfolder and from a disk. \
Prony replaces and removes only the pages that an earlier `prony site` wrote. \
`prony serve` shows the same pages live.

Exit status:
  0    the site was written
  1    a run could not be read and is left out, or a page could not be written
  2    the command line is wrong
  130  you stopped it; the front page is the earlier one";

/// How often progress is shown.
const EVERY: Duration = Duration::from_secs(10);

/// Where to, and which runs.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Write the site to this folder, and create it if it is missing
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    store: StoreFlag,
    /// Write into a folder that holds other files; they stay as they are
    #[arg(long)]
    force: bool,
    /// Show no progress, only the result, warnings and errors
    #[arg(long, short)]
    quiet: bool,
}

/// Writes the site.
pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let store = arguments.store.open_read(project)?;
    let folder = SiteFolder::open(&arguments.folder, arguments.force)?;
    let interrupt = exit::interrupt_on_signals()?;
    let mut shown = Instant::now();
    let mut progress = |progress: Progress<'_>| {
        if !arguments.quiet && shown.elapsed() >= EVERY {
            shown = Instant::now();
            let Progress { done, of, run } = progress;
            errln!("site: {done} of {of} runs are written; next is {run}");
        }
    };
    let built = match build(&store, folder, &mut progress, &interrupt) {
        Ok(built) => built,
        Err(error @ SiteError::Interrupted) => {
            errln!("{error}");
            return Ok(ExitCode::from(exit::INTERRUPTED));
        }
        Err(error) => return Err(error.into()),
    };
    show(&arguments.folder, &built);
    Ok(exit::failure_if(!built.left_out.is_empty()))
}

fn show(folder: &Path, built: &Built) {
    for left_out in &built.left_out {
        errln!(
            "error: the run {} is left out: {}",
            left_out.id,
            left_out.why
        );
    }
    let removed = match built.removed {
        0 => String::new(),
        count => format!(", {count} removed"),
    };
    outln!(
        "{}: {} of {}, {} new or changed{removed}",
        folder.join("index.html").display(),
        plural(built.pages, "page"),
        plural(built.runs, "run"),
        built.changed
    );
}
