//! `prony init`: describes the servers of a folder in `prony.toml`.

mod candidates;
mod file;
mod observe;
mod routes;

use std::error::Error;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use clap::Args;
use prony_kernel::default_assignment;
use prony_run::{ProjectFile, Workloads};
use prony_server::{Layout, PROJECT_FILE, ServerUrl};

use self::candidates::Candidate;
use self::file::{DescribedServer, FoundServer};
use self::observe::{NotObserved, Observed, WantedPaths};
use super::flags::BuildFlags;
use crate::arguments;
use crate::exit::{FAILURE, INTERRUPTED, Outcome, interrupt_on_signals, usage};
use crate::project;

const EXAMPLES: &str = "\
Examples:
  prony init                              ask which server, and which path
  prony init --yes                        take what Prony finds
  prony init --yes --path / --path /api/items
                                          request these paths
  prony init --run 'node server.js' --build 'npm ci'
                                          describe the server yourself
  prony init --url http://localhost:8080  a server that already runs

Prony looks for Cargo.toml, go.mod, package.json, pom.xml, build.gradle, Gemfile, \
requirements.txt, pyproject.toml and Python programs, and below the folder if it has none \
itself. It installs packages with the manager whose lockfile is there. It builds each \
server that it finds, starts it, requests the paths three times, and writes the responses \
that it received into prony.toml as the expected ones. Check them. With --yes, it starts every program of a \
Cargo or Go project, even one that is not a server: if one changes data, name the server \
with --run.

Exit status:
  0    prony.toml is written, and its servers respond
  1    no server responds yet: prony.toml is written for you to correct,
       unless `prony init` needs another flag or a program is missing
  2    the command line is wrong, --url has the wrong scheme, there is a
       prony.toml already, or nothing was found
  130  you stopped it; nothing is written";

/// What to describe.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Ask nothing: take every server that responds
    #[arg(long, short)]
    yes: bool,
    /// Request this path; repeatable [default: `/`, or else the first of some usual paths and of the
    /// routes in the sources that the server has]
    #[arg(long = "path", value_name = "PATH")]
    paths: Vec<String>,
    /// Run this command as the server, instead of looking for one
    #[arg(long, value_name = "COMMAND", value_parser = arguments::name)]
    run: Option<String>,
    /// Build it with this command first; repeatable
    #[arg(long, value_name = "COMMAND", requires = "run", value_parser = arguments::name)]
    build: Vec<String>,
    /// Give up on a response that is not complete this long after its request was sent; for the first
    /// one of a server --ready-timeout counts
    #[arg(long, value_name = "DURATION", value_parser = arguments::timeout, default_value = "10s")]
    timeout: Duration,
    /// Describe the server that already runs at this URL; Prony neither builds nor starts it
    #[arg(long, value_name = "URL", conflicts_with = "run")]
    url: Option<ServerUrl>,
    /// Replace an existing prony.toml
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    building: BuildFlags,
}

pub(super) fn run(project: Option<&Path>, arguments: &Arguments) -> Outcome {
    let folder = project.unwrap_or(Path::new(".")).canonicalize();
    let folder = folder.map_err(|error| usage(format!("cannot open the folder: {error}")))?;
    let path = folder.join(PROJECT_FILE);
    if path.exists() && !arguments.force {
        return Err(usage(format!(
            "{} exists already; edit it, or replace it with --force",
            path.display()
        )));
    }
    check_paths(&arguments.paths)?;
    let (found_servers, paths) = arguments.choose(&folder)?;
    let interrupt = interrupt_on_signals()?;
    let observer = Observer {
        layout: Layout::at(&folder),
        arguments,
        interrupt: &interrupt,
    };
    let described = observer.describe(found_servers, &paths)?;
    if interrupt.load(Relaxed) {
        return Ok(ExitCode::from(INTERRUPTED));
    }
    write(&path, &file::text(&described), arguments.force)?;
    Ok(said(&path, &described))
}

fn said(path: &Path, described: &[DescribedServer]) -> ExitCode {
    let responds = described.iter().any(|one| !one.observed.is_empty());
    outln!("written  {}", path.display());
    for server in described {
        let id = server.found_server.id();
        for observed in &server.observed {
            outln!(
                "responds {id}: GET {} with status {}",
                observed.path,
                observed.status
            );
        }
    }
    if responds {
        outln!("\nNext: check the expected responses in {PROJECT_FILE}, then: prony run");
        ExitCode::SUCCESS
    } else {
        outln!("\nNext: correct {PROJECT_FILE}, then: prony verify");
        ExitCode::from(FAILURE)
    }
}

fn write(path: &Path, text: &str, replace: bool) -> Result<(), Box<dyn Error>> {
    let file = if replace {
        File::create(path)
    } else {
        File::create_new(path)
    };
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}

impl Arguments {
    /// The servers that the user wants, and the paths to request.
    fn choose(&self, folder: &Path) -> Result<(Vec<FoundServer>, Vec<String>), Box<dyn Error>> {
        if let Some(url) = &self.url {
            let found_server = FoundServer::Running {
                id: candidates::id_of_folder(folder),
                url: url.clone(),
            };
            return Ok((vec![found_server], self.paths.clone()));
        }
        if let Some(run) = &self.run {
            let candidate = Candidate {
                id: candidates::id_of_folder(folder),
                found_by: "the command line".to_owned(),
                build: self.build.clone(),
                run: run.clone(),
                ..Candidate::default()
            };
            return Ok((vec![FoundServer::Program(candidate)], self.paths.clone()));
        }
        let found = candidates::look(folder);
        if found.is_empty() {
            return Err(usage(format!(
                "{} has nothing that Prony knows how to start; give the command with --run, for instance: prony init --run 'npm start', or the `url` of a server that already runs: prony init --url http://localhost:8080",
                folder.display()
            )));
        }
        if self.yes {
            let found = found.into_iter().map(FoundServer::Program);
            return Ok((found.collect(), self.paths.clone()));
        }
        if !io::stdin().is_terminal() {
            return Err(usage(
                "standard input is not a terminal; use --yes to take what Prony finds",
            ));
        }
        let chosen = ask_which(found)?;
        let paths = if self.paths.is_empty() {
            ask_paths("Which paths should Prony request, separated by blanks? [default: /] ")?
        } else {
            self.paths.clone()
        };
        Ok((vec![FoundServer::Program(chosen)], paths))
    }
}

/// Asks which of the candidates is the server; the first if the reply is empty.
fn ask_which(mut found: Vec<Candidate>) -> Result<Candidate, Box<dyn Error>> {
    for (index, candidate) in found.iter().enumerate() {
        outln!(
            "  {}  {} ({}): {}",
            index + 1,
            candidate.id,
            candidate.found_by,
            candidate.run
        );
    }
    let count = found.len();
    let reply = ask(&format!(
        "Which is the server? [1–{count}, or another command; default 1] "
    ))?;
    match reply.parse::<usize>() {
        Ok(number) if (1..=count).contains(&number) => Ok(found.swap_remove(number - 1)),
        Ok(number) => Err(usage(format!("{number} is none of them"))),
        Err(_) if reply.is_empty() => Ok(found.swap_remove(0)),
        Err(_) => Ok(Candidate {
            run: reply,
            ..found.swap_remove(0)
        }),
    }
}

fn ask_paths(question: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let reply = ask(question)?;
    let paths: Vec<String> = reply.split_whitespace().map(str::to_owned).collect();
    check_paths(&paths)?;
    Ok(paths)
}

fn check_paths(paths: &[String]) -> Result<(), Box<dyn Error>> {
    match paths.iter().find(|path| !path.starts_with('/')) {
        Some(wrong) => Err(usage(format!("{wrong}: a path begins with `/`"))),
        None => Ok(()),
    }
}

fn ask(question: &str) -> io::Result<String> {
    out!("{question}");
    io::stdout().flush()?;
    let mut reply = String::new();
    io::stdin().read_line(&mut reply)?;
    Ok(reply.trim().to_owned())
}

struct Observer<'a> {
    layout: Layout,
    arguments: &'a Arguments,
    interrupt: &'a Arc<AtomicBool>,
}

impl Observer<'_> {
    /// The servers that respond, with their responses; if none does, the first one without.
    fn describe(
        &self,
        found_servers: Vec<FoundServer>,
        paths: &[String],
    ) -> Result<Vec<DescribedServer>, Box<dyn Error>> {
        self.layout.make_state()?;
        let mut described: Vec<DescribedServer> = Vec::new();
        let mut silent = Vec::new();
        let mut may_be_tried_again = false;
        for found_server in found_servers {
            if self.interrupt.load(Relaxed) {
                break;
            }
            match self.observe_with_help(&found_server, paths)? {
                Ok(observed) => described.push(found_server.described(observed)),
                Err(NotObserved::WrongScheme(wrong)) => {
                    let right = wrong.right_url();
                    return Err(usage(format!("{wrong}; use --url {right}")));
                }
                Err(NotObserved::NoPath(reason) | NotObserved::Unfit(reason)) => {
                    errln!("FAILED   {}: {reason}", found_server.id());
                    may_be_tried_again = true;
                }
                Err(NotObserved::Because(reason)) => {
                    errln!("FAILED   {}: {reason}", found_server.id());
                    silent.push(found_server);
                }
            }
        }
        if described.is_empty() && may_be_tried_again {
            // With a file, the next `prony init` would refuse.
            return Err(format!(
                "{PROJECT_FILE} is not written; correct that, and run `prony init` again"
            )
            .into());
        }
        if described.is_empty() {
            let first = silent.into_iter().take(1);
            described.extend(first.map(|server| server.described(Vec::new())));
        }
        Ok(described)
    }

    /// Asks the user for a path if the server has none of those that Prony tries.
    fn observe_with_help(
        &self,
        found_server: &FoundServer,
        paths: &[String],
    ) -> Result<Result<Vec<Observed>, NotObserved>, Box<dyn Error>> {
        let observed = self.observe(found_server, paths);
        let may_ask = !self.arguments.yes && io::stdin().is_terminal();
        match observed {
            Err(NotObserved::NoPath(reason)) if may_ask => {
                errln!("{}: {reason}", found_server.id());
                let paths = ask_paths(
                    "Which paths should Prony request, separated by blanks? [default: none] ",
                )?;
                if paths.is_empty() {
                    Ok(Err(NotObserved::NoPath(reason)))
                } else {
                    Ok(self.observe(found_server, &paths))
                }
            }
            observed => Ok(observed),
        }
    }

    fn observe(
        &self,
        found_server: &FoundServer,
        paths: &[String],
    ) -> Result<Vec<Observed>, NotObserved> {
        let alone = [found_server.clone().described(Vec::new())];
        let path = self.layout.root().join(PROJECT_FILE);
        let file = ProjectFile::of(&path, &file::text(&alone), &Workloads::default());
        let file = file.map_err(|error| error.to_string())?;
        let server = file.servers.first().ok_or("it has no server")?;
        let id = project::run_id("init");
        let cpus = default_assignment().map_err(|error| error.to_string())?;
        let testbed = self
            .arguments
            .building
            .testbed(&self.layout, cpus, &id, self.interrupt);
        let testbed = testbed.map_err(|error| error.to_string())?;
        let wanted = WantedPaths {
            paths,
            timeout: self.arguments.timeout,
            sources: &server.folder,
        };
        let observed = observe::observe(&testbed, server, &wanted);
        // Removes the folders only if they are empty, which they are if the server responded.
        let _ = [&testbed.logs, &self.layout.runs().join(id)].map(std::fs::remove_dir);
        observed
    }
}
