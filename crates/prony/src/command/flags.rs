//! The flags that several commands have, each described once.

use std::error::Error;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use prony_kernel::default_assignment;
use prony_model::CpuAssignment;
use prony_run::run::Testbed;
use prony_server::{Freshness, Layout, SupervisorProgram};
use prony_store::Store;

use crate::arguments;
use crate::exit::usage;
use crate::project;
use crate::recorded::{Recorded, RunName};
use crate::result_file::{self, ResultFile};
use crate::view::screen_thread::LiveMode;

#[derive(Args, Clone)]
pub(super) struct CpuFlags {
    /// Run the server on these CPUs, for instance 0 or 0-3 [default: half of the CPUs]
    #[arg(long, value_name = "LIST")]
    server_cpus: Option<String>,
    /// Run the load generator on these CPUs [default: the other half]
    #[arg(long, value_name = "LIST")]
    pub(crate) load_cpus: Option<String>,
}

impl CpuFlags {
    /// The CPUs that the flags name, or else those that the machine suggests.
    pub(super) fn assign(&self) -> Result<CpuAssignment, Box<dyn Error>> {
        let mut cpus = default_assignment()?;
        for (flag, list, into) in [
            ("--server-cpus", &self.server_cpus, &mut cpus.server),
            ("--load-cpus", &self.load_cpus, &mut cpus.load),
        ] {
            if let Some(list) = list {
                *into = arguments::cpus(flag, list).map_err(usage)?;
            }
        }
        Ok(cpus)
    }
}

#[derive(Args, Clone)]
pub(super) struct LiveFlags {
    /// Show progress as plain lines instead of a live screen
    #[arg(long)]
    pub(crate) no_tui: bool,
    /// Show no progress, only results, warnings and errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl LiveFlags {
    pub(super) fn mode(&self) -> LiveMode {
        if self.quiet {
            LiveMode::Quiet
        } else if self.no_tui {
            LiveMode::Plain
        } else {
            LiveMode::Screen
        }
    }

    /// The same for a command without a live screen.
    pub(super) fn line_mode(&self) -> LiveMode {
        match self.mode() {
            LiveMode::Screen => LiveMode::Line,
            mode => mode,
        }
    }
}

#[derive(Args, Clone)]
pub(super) struct StoreFlag {
    /// Use this record file [default: .prony/prony.sqlite]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

impl StoreFlag {
    pub(super) fn open(&self, layout: &Layout) -> Result<Store, Box<dyn Error>> {
        layout.make_state()?;
        let own = || layout.state().join("prony.sqlite");
        Ok(Store::open(self.store.clone().unwrap_or_else(own))?)
    }

    pub(super) fn open_read(&self, project: Option<&Path>) -> Result<Store, Box<dyn Error>> {
        Ok(Store::open_read(self.path(project)?)?)
    }

    /// Its path. Only the default file needs a project.
    pub(super) fn path(&self, project: Option<&Path>) -> Result<PathBuf, Box<dyn Error>> {
        Ok(match &self.store {
            Some(file) => file.clone(),
            None => project::layout(project)?.state().join("prony.sqlite"),
        })
    }
}

#[derive(Args, Clone)]
pub(super) struct RunFlags {
    /// Use this run: its id, `latest`, `latest~1` (the one before), or a file written by
    /// `prony export`
    #[arg(default_value = "latest", hide_default_value = true)]
    run: String,
    #[command(flatten)]
    pub(crate) store: StoreFlag,
}

impl RunFlags {
    pub(super) fn read(&self, project: Option<&Path>) -> Result<Recorded, Box<dyn Error>> {
        RunName::of(&self.run).read(|| self.store.open_read(project))
    }
}

#[derive(Args, Clone)]
pub(super) struct BuildFlags {
    /// Wait at most this long for a started server's first expected response
    #[arg(long, value_name = "DURATION", value_parser = arguments::timeout, default_value = "30s")]
    ready_timeout: Duration,
    /// Rebuild the servers, even if nothing has changed
    #[arg(long)]
    pub(crate) rebuild: bool,
}

impl BuildFlags {
    /// The testbed of the run with this id, whose servers write their output to the run's folder.
    pub(super) fn testbed(
        &self,
        layout: &Layout,
        cpus: CpuAssignment,
        run: &str,
        interrupt: &Arc<AtomicBool>,
    ) -> Result<Testbed, Box<dyn Error>> {
        Ok(Testbed {
            layout: layout.clone(),
            supervisor: SupervisorProgram::current()?,
            cpus,
            host: Ipv4Addr::LOCALHOST.into(),
            logs: layout.runs().join(run).join("logs"),
            ready_timeout: self.ready_timeout,
            freshness: if self.rebuild {
                Freshness::Rebuild
            } else {
                Freshness::IfUnchanged
            },
            interrupt: interrupt.clone(),
        })
    }
}

/// What `prony run` and `prony ab` say about each trial.
#[derive(Args, Clone)]
pub(super) struct TrialFlags {
    /// Send requests for this long before measuring, and do not wait until the server is warm
    /// unless --warmup-limit is given; 0s measures from the first request
    #[arg(long, value_name = "DURATION", value_parser = arguments::duration)]
    pub(crate) warmup: Option<Duration>,
    /// Warm each server up until it stops getting faster, for at most this long; 0s does not wait
    /// for that [default: 20s, or the suite's limit]
    #[arg(long, value_name = "DURATION", value_parser = arguments::duration)]
    pub(crate) warmup_limit: Option<Duration>,
    /// Do not measure the ceiling (reference server)
    #[arg(long)]
    pub(crate) no_ceiling: bool,
    /// Shuffle the order with this seed, to repeat an earlier order
    #[arg(long, value_name = "N", value_parser = arguments::seed)]
    seed: Option<u64>,
}

impl TrialFlags {
    /// How long a server may take to warm up. A warm-up of a given length without a limit is exactly as long as that.
    pub(super) fn limit(&self, default: Duration) -> Duration {
        match (self.warmup, self.warmup_limit) {
            (Some(Duration::ZERO), _) | (Some(_), None) => Duration::ZERO,
            (_, Some(limit)) => limit,
            (None, None) => default,
        }
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(arguments::new_seed)
    }
}

#[derive(Args, Clone)]
pub(super) struct JsonFlag {
    /// Write the result as JSON to this file, or to standard output with `-`
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Args, Clone)]
pub(super) struct JunitFlag {
    /// Write the verdicts as JUnit XML to this file, or to standard output with `-`
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

#[derive(Args, Clone)]
pub(super) struct ResultFlags {
    #[command(flatten)]
    pub(crate) json: JsonFlag,
    /// Write the result as Markdown to this file, or to standard output with `-`
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
}

impl ResultFlags {
    /// Tries the files: that for Markdown and that for JSON.
    pub(super) fn open(&self) -> Result<[Option<ResultFile>; 2], Box<dyn Error>> {
        result_file::open([
            ("--markdown", self.markdown.as_deref()),
            ("--json", self.json.json.as_deref()),
        ])
    }
}
