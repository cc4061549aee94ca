//! What is measured of two revisions: which workloads, under which load, how often, and whether that was enough.

use std::collections::BTreeSet;
use std::error::Error;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use clap::{Args, ValueEnum};
use prony_model::{EnoughRounds, LoadShape, LoadSpec, MeasuredBy, Run, Seconds};
use prony_present::number;
use prony_report::compare::{Comparison, Metric, What};
use prony_run::run::Task;
use prony_run::{AdaptiveRounds, Measure, Precision, ProjectFile, WARMUP_LIMIT, Workloads};
use prony_server::Server;

use crate::arguments;
use crate::command::flags::TrialFlags;
use crate::project::{self, Project};

/// How many workloads are measured by default: with more, each would get too few rounds.
const DEFAULT_WORKLOADS: usize = 3;
/// How long a response may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How many connections load a server by default.
const CONNECTIONS: usize = 64;
/// How many requests have their instructions counted in a trial by default.
const REQUESTS: u64 = 1000;
/// How long a response of an emulated server may take.
const EMULATED_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a server may take to warm up before its instructions are counted: an emulator runs it, and the budget is short.
const EMULATED_WARMUP: Duration = Duration::from_secs(4);
/// The budget and the precision of a comparison by instructions.
const INSTRUCTIONS_BUDGET: Duration = Duration::from_secs(60);
const INSTRUCTIONS_PRECISION: Precision = Precision::of_share(0.001);
/// The same of one by time.
const BUDGET: Duration = Duration::from_secs(5 * 60);
const PRECISION: Precision = Precision::of_share(0.02);
/// How long a trial is measured by default.
const DURATION: Duration = Duration::from_secs(1);
/// How long each trial is loaded before it is measured, by default.
const WARMUP: Duration = Duration::from_millis(500);

/// The help of --warmup-limit without the limits of a suite, which `prony ab` does not have.
const WARMUP_LIMIT_HELP: &str = "Warm each server up until it stops getting faster, for at most this long; 0s does \
                                 not wait for that [default: 20s]";

/// What is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    /// Rates, latencies and CPU time
    #[default]
    Time,
    /// The user-space instructions of a request, which do not depend on how busy the machine is
    Instructions,
}

/// How the two revisions are measured.
#[derive(Args, Clone)]
#[command(mut_arg("warmup_limit", |flag| flag.help(WARMUP_LIMIT_HELP)))]
pub(super) struct MeasureFlags {
    /// Compare what a request costs in this: `time`, or `instructions` in user mode, which show 1 % on any
    /// machine but do not include system calls, caches and waiting
    #[arg(
        long,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        value_name = "WHAT"
    )]
    pub(crate) by: By,
    /// Count the instructions of this many requests in each trial; needs --by instructions
    #[arg(long, value_name = "N", default_value_t = REQUESTS, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    requests: u64,
    /// Measure only these workloads, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "IDS", value_parser = arguments::name)]
    workloads: Vec<String>,
    /// Load each server over this many connections [default: what prony.toml says, or else 64, in a
    /// closed loop]
    #[arg(long, value_name = "N", value_parser = arguments::connections)]
    connections: Option<usize>,
    /// Measure each trial for this long [default: what prony.toml says, or else 1s]
    #[arg(long, value_parser = arguments::measured_duration)]
    duration: Option<Duration>,
    /// Add rounds until the change of every rate is known to within this; takes at least 12 rounds,
    /// unless --budget ends first [default: 2%; of instructions 0.1%]
    #[arg(long, value_name = "PERCENT")]
    precision: Option<Precision>,
    /// Start no round that would make the trials take longer than this in total; runs at least two
    /// rounds [default: 5m; with --by instructions 60s]
    #[arg(long, value_name = "DURATION", value_parser = arguments::some_duration)]
    budget: Option<Duration>,
    /// Run exactly this many rounds, whatever --precision and --budget say; a verdict on times needs at
    /// least 6
    #[arg(long, value_name = "N", value_parser = arguments::rounds)]
    rounds: Option<NonZeroU32>,
    #[command(flatten)]
    pub(crate) trials: TrialFlags,
}

/// What is measured.
pub(super) struct Measures {
    pub(crate) tasks: Vec<Task>,
    pub(crate) measures: Vec<Measure>,
}

impl MeasureFlags {
    /// What is measured of two servers.
    pub(super) fn choose(
        &self,
        project: &Project,
        pair: [&Server; 2],
        load_cpus: usize,
    ) -> Result<Measures, Box<dyn Error>> {
        let workloads = project.workloads(&pair)?;
        let chosen = if self.workloads.is_empty() {
            None
        } else {
            Some(chosen_ids(workloads, pair, &self.workloads)?)
        };
        let measures = match self.of_file(project, workloads, pair, load_cpus, chosen.as_deref()) {
            measures if !measures.is_empty() => measures,
            _ => {
                let ids = chosen.map_or_else(|| self.default_ids(workloads, pair), Ok)?;
                let measure = |id: &String| {
                    let mut measure = self.measure(id, load_cpus);
                    measure.load = workloads.get(id)?.under(measure.load);
                    Ok(measure)
                };
                ids.iter()
                    .map(measure)
                    .collect::<Result<_, Box<dyn Error>>>()?
            }
        };
        let ids = measures.iter().map(|measure| measure.workload.as_str());
        Ok(Measures {
            tasks: project::tasks(&project.layout, workloads, ids)?,
            measures,
        })
    }

    /// The measures of `prony.toml` of these workloads, or of all that both servers serve, as far as the command line
    /// does not change them; none if the servers are not the project's.
    fn of_file(
        &self,
        project: &Project,
        workloads: &Workloads,
        pair: [&Server; 2],
        load_cpus: usize,
        chosen: Option<&[String]>,
    ) -> Vec<Measure> {
        let name = |server: &Server| server.id.split('@').next().map(str::to_owned);
        let is_of = |file: &&ProjectFile| {
            let mut ids = file.servers.iter().map(|server| Some(server.id.clone()));
            ids.any(|id| id == name(pair[0]))
        };
        let Some(file) = project.file().filter(is_of) else {
            return Vec::new();
        };
        let cpus = NonZeroUsize::new(load_cpus).unwrap_or(NonZeroUsize::MIN);
        let mut measures = file.suite.measures_on(cpus);
        measures.retain(|measure| {
            let id = &measure.workload;
            let is_served = pair.iter().all(|one| one.manifest.workloads.contains(id));
            is_served && chosen.is_none_or(|chosen| chosen.contains(id))
        });
        if self.by == By::Instructions {
            // A project may measure one workload under several loads, whose requests cost the same.
            let mut ids = BTreeSet::new();
            measures.retain(|measure| ids.insert(measure.workload.clone()));
            let own = measures.iter();
            return own
                .map(|one| self.measure(&one.workload, load_cpus))
                .collect();
        }
        for measure in &mut measures {
            if let Ok(workload) = workloads.get(&measure.workload) {
                measure.load = workload.under(measure.load.clone());
            }
            self.change(measure, load_cpus);
        }
        measures
    }

    /// Changes a measure as the command line says.
    fn change(&self, measure: &mut Measure, load_cpus: usize) {
        let (load, trials) = (&mut measure.load, &self.trials);
        if let Some(duration) = self.duration {
            load.duration = Some(Seconds(duration));
        }
        if let Some(connections) = self.connections {
            load.connections = connections;
            load.threads = load_cpus.clamp(1, connections);
        }
        if let Some(warmup) = trials.warmup {
            load.warmup = Seconds(warmup);
        }
        if trials.warmup.is_some() || trials.warmup_limit.is_some() {
            measure.warmup_limit = self.warmup_limit();
        }
        measure.rounds = self.most_rounds();
    }

    /// The measure of a workload as the command line says.
    fn measure(&self, workload: &str, load_cpus: usize) -> Measure {
        if self.by == By::Instructions {
            return self.counted(workload);
        }
        let connections = self.connections.unwrap_or(CONNECTIONS);
        Measure {
            workload: workload.to_owned(),
            load: LoadSpec {
                shape: LoadShape::Closed,
                connections,
                // A thread without a connection would have nothing to do.
                threads: load_cpus.clamp(1, connections),
                duration: Some(Seconds(self.duration.unwrap_or(DURATION))),
                warmup: Seconds(self.trials.warmup.unwrap_or(WARMUP)),
                timeout: Seconds(TIMEOUT),
                ..LoadSpec::default()
            },
            rounds: self.most_rounds(),
            warmup_limit: self.warmup_limit(),
        }
    }

    /// The measure of a workload whose requests have their instructions counted.
    fn counted(&self, workload: &str) -> Measure {
        let connections = self.connections.unwrap_or(1);
        let limit = self.trials.warmup_limit.or(self.trials.warmup);
        Measure {
            workload: workload.to_owned(),
            load: LoadSpec {
                connections,
                requests: Some(self.requests),
                timeout: Seconds(EMULATED_TIMEOUT),
                by: MeasuredBy::Instructions,
                ..LoadSpec::default()
            },
            rounds: self.most_rounds(),
            warmup_limit: limit.unwrap_or(EMULATED_WARMUP),
        }
    }

    /// How precise every comparison must be.
    fn precision(&self) -> Precision {
        let usual = match self.by {
            By::Time => PRECISION,
            By::Instructions => INSTRUCTIONS_PRECISION,
        };
        self.precision.unwrap_or(usual)
    }

    /// How long all trials together may take.
    fn budget(&self) -> Duration {
        self.budget.unwrap_or(match self.by {
            By::Time => BUDGET,
            By::Instructions => INSTRUCTIONS_BUDGET,
        })
    }

    fn warmup_limit(&self) -> Duration {
        self.trials.limit(WARMUP_LIMIT)
    }

    /// The workloads that are measured by default.
    fn default_ids(
        &self,
        workloads: &Workloads,
        pair: [&Server; 2],
    ) -> Result<Vec<String>, Box<dyn Error>> {
        let most = match self.by {
            By::Time => DEFAULT_WORKLOADS,
            By::Instructions => 1,
        };
        default_ids(workloads, pair, most)
    }

    /// Rounds that are added as needed; `None` if their number is fixed.
    pub(super) fn adaptive(&self) -> Option<AdaptiveRounds> {
        self.rounds.is_none().then_some(AdaptiveRounds {
            precision: self.precision(),
            budget: self.budget(),
            most_rounds: AdaptiveRounds::MOST_ROUNDS,
        })
    }

    fn most_rounds(&self) -> u32 {
        self.rounds
            .map_or(AdaptiveRounds::MOST_ROUNDS, NonZeroU32::get)
    }

    /// A line for each change of rate that is known less precisely than the user asked for.
    pub(super) fn too_wide(&self, comparison: &Comparison, run: &Run) -> Vec<String> {
        let cases = comparison.cases.iter();
        let rows = cases.flat_map(|case| case.rows.iter().map(move |row| (case, row)));
        let rates = rows.filter(|(_, row)| row.what == What::Metric(Metric::Rate));
        let wide = rates.filter_map(|(case, row)| {
            let half_width = row.change.as_ref()?.half_width();
            (half_width > self.precision().share()).then(|| {
                format!(
                    "the rate's change on {} is known to ±{} instead of ±{}; {}",
                    case.workload,
                    number::short(&number::share(half_width)),
                    self.precision(),
                    advice(run, &case.workload)
                )
            })
        });
        wide.collect()
    }
}

/// What makes an interval narrower: more of whatever ended the rounds of its workload.
fn advice(run: &Run, workload: &str) -> &'static str {
    let ends = run.adaptive.iter().flat_map(|adaptive| &adaptive.ends);
    let mut ends = ends.filter(|end| end.workload == workload);
    match ends.next().map(|end| end.reason) {
        None => "more --rounds would narrow it",
        Some(EnoughRounds::Budget) => "a longer --budget would narrow it",
        Some(EnoughRounds::MostRounds) => {
            "this is the largest number of rounds; a longer --duration may help"
        }
        // Prony did not wait for rounds that failed.
        Some(EnoughRounds::Precise | EnoughRounds::Interrupted) => "a quieter machine may help",
    }
}

/// The ids that the user chose, each once. Both servers must serve them.
fn chosen_ids(
    workloads: &Workloads,
    pair: [&Server; 2],
    asked: &[String],
) -> Result<Vec<String>, Box<dyn Error>> {
    let mut ids: Vec<String> = Vec::new();
    for workload in workloads.select(asked.iter().map(String::as_str))? {
        let id = &workload.id;
        for server in pair {
            if !server.manifest.workloads.contains(id) {
                return Err(format!("{} does not serve `{id}`", server.id).into());
            }
        }
        if !ids.contains(id) {
            ids.push(id.clone());
        }
    }
    Ok(ids)
}

/// The first `most` workloads that both servers serve, over HTTP if there are any.
fn default_ids(
    workloads: &Workloads,
    pair: [&Server; 2],
    most: usize,
) -> Result<Vec<String>, Box<dyn Error>> {
    let chosen = project::common_workloads(workloads, &pair, most);
    if chosen.is_empty() {
        Err("the two revisions serve no workload in common".into())
    } else {
        Ok(chosen)
    }
}
