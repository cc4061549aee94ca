//! Agents that generate a load together: where the command line and `prony.toml` want them, and how they are started.

mod agent_location;
mod settings;

use std::collections::BTreeMap;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::Args;
use prony_fleet::{Fleet, Host, Launcher, Limits, Local, SilentAgent, Ssh};
use prony_kernel::{allowed_cpus, load_threads, numa_nodes};
use prony_load::{
    LoadError, LoadPlan, LoadRunner, Progress, Recording, Records, ThisProcess, run_recording,
};
use prony_model::LoadResult;
use prony_present::terminal::cut;
use prony_present::words::plural;
use prony_run::run::{Agents, Generator};

pub(crate) use self::agent_location::AgentLocation;
use self::settings::{Settings, agents};
use crate::arguments;
use crate::exit::usage;
use crate::project;
use crate::view::screen_thread::LiveMode;

fn agents_of(text: &str) -> Result<usize, String> {
    arguments::positive(text).and_then(agents)
}

#[derive(Args)]
#[command(next_help_heading = "Fleet")]
pub(crate) struct FleetFlags {
    /// Generate the load with several agents: local, ssh:HOST,…, slurm or kubernetes; none turns off
    /// `on` of prony.toml
    #[arg(long, value_name = "WHERE")]
    on: Option<AgentLocation>,
    /// Divide the load among this many agents [default: one for each host of ssh, and for local one for
    /// each NUMA node, at least 2; slurm and kubernetes need it]
    #[arg(long, value_name = "N", value_parser = agents_of)]
    agents: Option<usize>,
}

/// Agents to start.
pub(crate) struct FleetPlan {
    place: AgentLocation,
    pub(crate) agents: usize,
    settings: Settings,
}

impl FleetFlags {
    /// The agents that the command line, or else `prony.toml`, wants; `None` if this process generates the load.
    pub(crate) fn plan(&self, project: Option<&Path>) -> Result<Option<FleetPlan>, Box<dyn Error>> {
        if self.on == Some(AgentLocation::None) && self.agents.is_none() {
            return Ok(None);
        }
        let settings = Settings::read(&project::layout(project)?)?;
        let place = self.on.as_ref().or(settings.on.as_ref()).cloned();
        let Some(place) = place.filter(|place| *place != AgentLocation::None) else {
            return match self.agents {
                None => Ok(None),
                Some(_) => Err(usage(
                    "--agents needs a place where the agents run, for instance --on local",
                )),
            };
        };
        let agents = agents_at(&place, self.agents.or(settings.agents)).map_err(usage)?;
        Ok(Some(FleetPlan {
            place,
            agents,
            settings,
        }))
    }
}

/// How many agents there are at a place.
fn agents_at(place: &AgentLocation, wanted: Option<usize>) -> Result<usize, String> {
    match (place, wanted) {
        (AgentLocation::Ssh(hosts), Some(wanted)) if wanted != hosts.len() => Err(format!(
            "{} on {} named for ssh: each host runs one agent, so name as many hosts, or leave --agents out",
            plural(wanted, "agent"),
            plural(hosts.len(), "host"),
        )),
        (AgentLocation::Ssh(hosts), _) => agents(hosts.len()),
        (_, Some(wanted)) => Ok(wanted),
        (AgentLocation::Local, None) => Ok(numa_nodes().max(2)),
        (place, None) => Err(format!(
            "--on {} needs --agents, or `agents` in [fleet] of prony.toml",
            place.name()
        )),
    }
}

impl FleetPlan {
    pub(crate) fn on(&self) -> &'static str {
        self.place.name()
    }

    pub(crate) fn is_here(&self) -> bool {
        self.place.is_here()
    }

    /// Refuses a flag that means nothing on other hosts.
    pub(crate) fn refuse(&self, flag: &str, names: &str) -> Box<dyn Error> {
        usage(format!(
            "{flag} names {names} of this machine, and the agents of --on {} run on other hosts: leave it out",
            self.on()
        ))
    }

    /// Refuses a flag for a file that only a load of this process writes.
    pub(crate) fn refuse_record(&self, flag: &str) -> Box<dyn Error> {
        usage(format!(
            "{flag} records what this process sends, and the agents of --on {} send the load: leave {flag} out, or use --on none",
            self.on()
        ))
    }

    /// Checks that agents can perhaps reach a host.
    pub(crate) fn check_host(&self, host: &str) -> Result<(), Box<dyn Error>> {
        if self.is_here() || !is_each_hosts_own(host) {
            Ok(())
        } else {
            Err(usage(format!(
                "agents on other hosts cannot reach {host}, which is each host itself: write the address of the server that \
                 they can reach"
            )))
        }
    }

    /// The address at which agents reach the servers that Prony starts.
    pub(crate) fn server_host(&self) -> Result<IpAddr, Box<dyn Error>> {
        let address = match &self.settings.server_address {
            Some(address) => *address.get_ref(),
            None if self.is_here() => return Ok(Ipv4Addr::LOCALHOST.into()),
            None => {
                return Err(usage(format!(
                    "agents on other hosts cannot reach a server at 127.0.0.1: write the address of this machine that they can \
                     reach into prony.toml, as server_address = \"ADDRESS\" in [fleet], or use --on local instead of --on {}",
                    self.on()
                )));
            }
        };
        self.check_host(&address.to_string())?;
        match arguments::own_address(address) {
            Ok(()) => Ok(address),
            Err(why) => Err(format!("`server_address` in [fleet] of prony.toml: {why}").into()),
        }
    }

    /// A scheduler may let agents wait for their turn.
    fn limits(&self) -> Limits {
        let limits = Limits::default();
        let waits = match &self.place {
            AgentLocation::Slurm => self.settings.slurm.wait,
            AgentLocation::Kubernetes => self.settings.kubernetes.placement_timeout,
            AgentLocation::Local | AgentLocation::None | AgentLocation::Ssh(_) => Duration::ZERO,
        };
        Limits {
            launch: limits.launch + waits,
            ..limits
        }
    }

    fn launcher(&self) -> Result<Box<dyn Launcher>, Box<dyn Error>> {
        Ok(match &self.place {
            AgentLocation::Local | AgentLocation::None => Box::new(Local::new()?),
            AgentLocation::Ssh(hosts) => Box::new(Ssh::new(hosts, self.settings.ssh.clone())?),
            AgentLocation::Slurm => Box::new(self.settings.slurm.clone()),
            AgentLocation::Kubernetes => Box::new(self.settings.kubernetes.clone()),
        })
    }

    /// How many threads each agent may use, so that none shares a CPU with another agent. On this machine half of the
    /// CPUs are for the server.
    fn threads_each(&self, hosts: &[Host]) -> usize {
        if self.is_here() {
            let cpus = allowed_cpus().map_or(1, |cpus| cpus.len());
            (load_threads(cpus.div_ceil(2)) / self.agents).max(1)
        } else {
            least_cpus(hosts)
        }
    }
}

/// How many CPUs the agent has that has the fewest, if agents on the same host share theirs.
fn least_cpus(hosts: &[Host]) -> usize {
    let agents = agents_by_host(hosts.iter().map(|host| host.name.as_str()));
    let each = hosts
        .iter()
        .map(|host| host.cpus / agents[host.name.as_str()]);
    each.min().unwrap_or(1).max(1)
}

/// How many agents each host has, given the host of each.
fn agents_by_host<'a>(hosts: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut counts = BTreeMap::new();
    hosts.for_each(|host| *counts.entry(host).or_default() += 1);
    counts
}

/// Whether a host is another one on each host.
fn is_each_hosts_own(host: &str) -> bool {
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    let address: Option<IpAddr> = name.trim_matches(['[', ']']).parse().ok();
    name == "localhost"
        || name.ends_with(".localhost")
        || address.is_some_and(|it| {
            let it = it.to_canonical();
            it.is_loopback() || it.is_unspecified()
        })
}

/// `waiting for 2 of 12 agents`.
fn waiting(replied: usize, agents: usize) -> String {
    let missing = agents.saturating_sub(replied);
    format!("waiting for {missing} of {}", plural(agents, "agent"))
}

/// `3 agents on slurm`.
pub(crate) fn described(agents: usize, on: &str) -> String {
    format!("{} on {on}", plural(agents, "agent"))
}

/// How many hosts are named.
const MOST_NAMED: usize = 8;
/// How much of each name is shown.
const LONGEST_NAME: usize = 63;

/// `2 on node-a, node-b and node-c`, with as many names as fit a line.
fn hosts_in_words<'a>(hosts: impl Iterator<Item = &'a str>) -> String {
    let counts = agents_by_host(hosts);
    let more = counts.len().saturating_sub(MOST_NAMED);
    let named = counts.iter().take(MOST_NAMED).map(|(host, count)| {
        let host = cut(host, LONGEST_NAME);
        match count {
            1 => format!("on {host}"),
            count => format!("{count} on {host}"),
        }
    });
    let mut text = named.collect::<Vec<_>>().join(", ");
    if more > 0 {
        text += &format!(" and on {}", plural(more, "other host"));
    }
    text
}

/// `agent 2 on node-b silent for 1.4 s`.
fn silent_in_words(SilentAgent { agent, silent }: &SilentAgent) -> String {
    format!("{agent} silent for {:.1} s", silent.as_secs_f64())
}

/// What generates loads: this process, or the agents that were started. Dropping it ends them.
pub(crate) struct Loads(Option<(Fleet, Agents)>);

impl Loads {
    /// Starts the agents, if there are to be any, and waits until each is there.
    pub(crate) fn start(
        plan: Option<&FleetPlan>,
        live: LiveMode,
        interrupt: &AtomicBool,
    ) -> Result<Self, Box<dyn Error>> {
        let Some(plan) = plan else {
            return Ok(Self(None));
        };
        if !live.is_quiet() {
            errln!("starting {}", described(plan.agents, plan.on()));
        }
        let launcher = plan.launcher()?;
        let line = live.line();
        let fleet = Fleet::launch(
            launcher.as_ref(),
            plan.agents,
            plan.limits(),
            interrupt,
            &mut |replied, agents| {
                let share = replied as f64 / agents as f64;
                line.show(&[waiting(replied, agents)], Some(share));
            },
        );
        drop(line);
        let fleet = fleet?;
        let agents = Agents {
            on: plan.on().to_owned(),
            count: plan.agents,
            threads: plan.threads_each(fleet.hosts()),
            are_here: plan.is_here(),
        };
        let hosts = fleet.hosts().iter().map(|host| host.name.as_str());
        if !live.is_quiet() {
            errln!("agents   {}", hosts_in_words(hosts));
        }
        Ok(Self(Some((fleet, agents))))
    }

    pub(crate) fn agents(&self) -> Option<&Agents> {
        self.0.as_ref().map(|(_, agents)| agents)
    }

    /// Whether the loads come from other machines.
    pub(crate) fn are_elsewhere(&self) -> bool {
        self.agents().is_some_and(|agents| !agents.are_here)
    }

    /// `agent 2 on node-b silent for 1.4 s`, if one has sent nothing for a while during a load.
    pub(crate) fn silent(&self) -> Option<String> {
        let (fleet, _) = self.0.as_ref()?;
        fleet.silent_agent().map(|it| silent_in_words(&it))
    }

    pub(crate) fn runner(&self) -> &dyn LoadRunner {
        match &self.0 {
            None => &ThisProcess,
            Some((fleet, _)) => fleet,
        }
    }

    /// Runs a load, and records what is wanted beside its result. Agents record nothing: a command refuses to want it.
    pub(crate) fn run_recording(
        &self,
        plan: &LoadPlan,
        recording: Recording,
        interrupt: &AtomicBool,
        observe: &mut dyn FnMut(Progress),
    ) -> Result<(LoadResult, Records), LoadError> {
        match &self.0 {
            None => run_recording(plan, recording, interrupt, observe),
            Some((fleet, _)) => {
                let result = fleet.run(plan, interrupt, observe)?;
                Ok((result, Records::default()))
            }
        }
    }

    pub(crate) fn generator(&self) -> Generator<'_> {
        match &self.0 {
            None => Generator::this_process(),
            Some((fleet, agents)) => Generator::agents(fleet, agents.clone()),
        }
    }

    /// Gives each agent its threads, unless the command line does.
    pub(crate) fn spread(&self, plan: &mut LoadPlan, threads: Option<usize>) {
        if let Some(agents) = self.agents() {
            let fitting = (plan.load.connections / agents.count).max(1);
            plan.load.threads = threads.unwrap_or_else(|| agents.threads.min(fitting));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::starts_with;

    fn host(name: &str, cpus: usize) -> Host {
        Host {
            name: name.into(),
            cpus,
            version: String::new(),
        }
    }

    #[test]
    fn agents_on_one_host_share_its_cpus() {
        assert_eq!(least_cpus(&[host("a", 8), host("b", 4)]), 4);
        assert_eq!(least_cpus(&[host("a", 8), host("a", 8), host("a", 8)]), 2);
        assert_eq!(least_cpus(&[host("a", 1), host("a", 1)]), 1);
    }

    #[test]
    fn the_number_of_agents_has_a_default_where_one_is_obvious() {
        let ssh = AgentLocation::Ssh(["a", "b", "c"].map(String::from).to_vec());
        assert_eq!(agents_at(&ssh, None), Ok(3));
        assert_eq!(agents_at(&ssh, Some(3)), Ok(3));
        let message = agents_at(&ssh, Some(4)).unwrap_err();
        starts_with(&message, "4 agents on 3 hosts named for ssh");
        assert!(agents_at(&AgentLocation::Local, None).unwrap() >= 2);
        assert_eq!(agents_at(&AgentLocation::Slurm, Some(7)), Ok(7));
        let message = agents_at(&AgentLocation::Slurm, None).unwrap_err();
        starts_with(&message, "--on slurm needs --agents");
    }

    #[test]
    fn an_address_that_each_host_has_itself_is_recognised() {
        let own = "localhost LOCALHOST. a.localhost 127.0.0.1 127.9.9.9 ::1 [::1] 0.0.0.0 ::ffff:127.0.0.1";
        for host in own.split(' ') {
            assert!(is_each_hosts_own(host), "{host}");
        }
        for host in ["localhost.example.com", "10.0.0.1", "::2", "shop"] {
            assert!(!is_each_hosts_own(host), "{host}");
        }
    }

    #[test]
    fn missing_and_silent_agents_are_shown() {
        assert_eq!(waiting(10, 12), "waiting for 2 of 12 agents");
        assert_eq!(waiting(0, 1), "waiting for 1 of 1 agent");
        let silent = SilentAgent {
            agent: prony_fleet::AgentName {
                index: 2,
                host: Some("node-b".into()),
            },
            silent: Duration::from_millis(1440),
        };
        let words = silent_in_words(&silent);
        assert_eq!(words, "agent 2 on node-b silent for 1.4 s");
    }

    #[test]
    fn hosts_are_named_up_to_a_line() {
        let words = |names: &[&str]| hosts_in_words(names.iter().copied());
        assert_eq!(words(&["b", "a"]), "on a, on b");
        assert_eq!(words(&["a", "b", "a"]), "2 on a, on b");
        let many: Vec<String> = (10..30).map(|i| format!("n{i}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let many = words(&many);
        assert!(many.ends_with("on n17 and on 12 other hosts"), "{many}");
    }
}
