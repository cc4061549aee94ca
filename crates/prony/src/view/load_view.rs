//! How far a load has come: a live screen, a line that changes, or lines now and then.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use prony_kernel::allowed_cpus;
use prony_live::screen::{LoadModel, LoadOutline, LoadScreen, LoadUpdate, ServerUse};
use prony_load::{Endpoint, LoadPlan, Progress};
use prony_model::LoadShape;
use prony_present::load;
use prony_present::words::plural;
use prony_server::{ProcessTree, TreeUsage};

use super::live_view::LiveView;
use super::requested;
use super::screen_thread::{LiveMode, ScreenSettings};

/// A load that takes less time than this has no screen: nobody could read it.
const SHORTEST: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The least time between two lines without a terminal.
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct LoadView {
    view: LiveView<LoadUpdate>,
    /// What lines say.
    model: LoadModel,
    begun: Instant,
    next_line: Instant,
    pause: Duration,
    /// `3 agents`; `None` if this process generates the load.
    agents: Option<String>,
    /// When to show the screen, and how: a load of a number of requests may be over before a screen could be read.
    later: Option<(Instant, ScreenSettings<LoadUpdate>)>,
}

pub(crate) struct ShownLoad<'a> {
    pub(crate) plan: &'a LoadPlan,
    /// The requests in words, if there are several: `3 requests of checkout.hurl in each flow`.
    pub(crate) requests: Option<&'a str>,
    /// The server's process, if the user names it.
    pub(crate) server: Option<ProcessTree>,
    pub(crate) cpus: Vec<usize>,
    pub(crate) interrupt: &'a Arc<AtomicBool>,
}

impl LoadView {
    pub(crate) fn start(mode: LiveMode, shown: ShownLoad<'_>) -> Self {
        let (plan, now) = (shown.plan, Instant::now());
        let outline = outline(plan, shown.requests);
        let duration = plan.load.duration;
        let is_short = duration.is_some_and(|measured| *measured < SHORTEST);
        let settings = || settings(shown);
        if mode == LiveMode::Screen && duration.is_none() && LiveMode::has_screen() {
            let later = Some((now + SHORTEST, settings()));
            let view = Self::of(LiveView::Quiet, outline, plan, now);
            return Self { later, ..view };
        }
        let mode = match mode {
            LiveMode::Screen if is_short => LiveMode::Line,
            mode => mode,
        };
        let screen = |colour| LoadScreen::new(outline.clone(), colour);
        let view = LiveView::start(mode, screen, settings);
        Self::of(view, outline, plan, now)
    }

    pub(super) fn of(
        view: LiveView<LoadUpdate>,
        outline: LoadOutline,
        plan: &LoadPlan,
        begun: Instant,
    ) -> Self {
        // About ten lines without a terminal, however long the load takes.
        let pause = plan.load.duration.map_or(PAUSE, |whole| *whole / 10);
        let pause = pause.max(PAUSE);
        Self {
            view,
            model: LoadModel::new(outline),
            begun,
            next_line: begun + pause,
            pause,
            agents: (plan.agents > 1).then(|| plural(plan.agents, "agent")),
            later: None,
        }
    }

    /// Shows the current figures. `silent` names an agent that may be lost.
    pub(crate) fn show(&mut self, progress: Progress, silent: Option<String>, now: Instant) {
        if let Some((_, settings)) = self.later.take_if(|(starts, _)| *starts <= now) {
            let screen = |colour| LoadScreen::new(self.model.outline.clone(), colour);
            self.view = LiveView::start(LiveMode::Screen, screen, || settings);
        }
        let progress = LoadUpdate::Progress(Box::new(progress));
        let silent = LoadUpdate::Silent(silent);
        match &self.view {
            LiveView::Quiet => {}
            LiveView::Screen(screen) => {
                screen.send(progress);
                screen.send(silent);
            }
            LiveView::Lines(line) => {
                self.model.update(progress);
                self.model.update(silent);
                let mut parts = self.model.line();
                parts.extend(self.agents.clone());
                let is_due = self.model.last.measuring && now >= self.next_line;
                if is_due && !line.is_on_terminal() {
                    self.next_line = now + self.pause;
                    let measured_s = self.model.measuring_seconds(self.model.last.at_s);
                    errln!("  {measured_s:>5.1} s  {}", parts.join("  "));
                }
                line.show(&parts, self.model.share(now - self.begun));
            }
        }
    }

    pub(crate) fn keep(&self, line: &str) {
        self.view.warn(line);
    }
}

/// How the thread of the screen behaves.
fn settings(shown: ShownLoad<'_>) -> ScreenSettings<LoadUpdate> {
    let address = match shown.plan.endpoint {
        Endpoint::Tcp(address) => Some(address),
        Endpoint::Unix(_) => None,
    };
    let mut watch = ServerWatch::new(shown.server, address);
    ScreenSettings {
        begun: Instant::now(),
        cpus: shown.cpus,
        interrupt: shown.interrupt.clone(),
        ending: "ending: what was measured is kept; Ctrl-C ends at once",
        look: Box::new(move || watch.look(Instant::now())),
    }
}

/// The CPUs that this process may use beside those of the load's threads and of the server that Prony started; those of
/// the load if there are no others, and none, which means any, if neither is pinned.
pub(crate) fn cpus_beside(load: &[usize], server: &[usize]) -> Vec<usize> {
    if load.is_empty() && server.is_empty() {
        return Vec::new();
    }
    let mut cpus = allowed_cpus().unwrap_or_default();
    cpus.retain(|cpu| !load.contains(cpu) && !server.contains(cpu));
    if cpus.is_empty() { load.to_vec() } else { cpus }
}

pub(super) fn outline(plan: &LoadPlan, requests: Option<&str>) -> LoadOutline {
    let spec = plan.recorded();
    let is_of_requests = plan.request.scenario().is_none();
    let words = [load::shape(&spec)].into_iter().chain(load::traits(&spec));
    let title = requested(&plan.target(), &spec);
    LoadOutline {
        title: match requests.filter(|_| spec.flows) {
            Some(requests) => format!("{title}, {requests}"),
            None => title,
        },
        has_flows: spec.flows,
        load: words.collect::<Vec<_>>().join(", "),
        warmup: *plan.load.warmup,
        duration: plan.load.duration.map(Duration::from),
        // The figures are those of single requests, and not of flows.
        requests: plan.load.requests.filter(|_| is_of_requests),
        schedule: match &plan.load.shape {
            LoadShape::Rate(schedule) if is_of_requests => schedule.stages.clone(),
            _ => Vec::new(),
        },
    }
}

struct ServerWatch {
    server: Option<ProcessTree>,
    /// Where it is looked for at the first look.
    address: Option<SocketAddr>,
    last: Option<(Instant, TreeUsage)>,
    next: Option<Instant>,
}

impl ServerWatch {
    fn new(server: Option<ProcessTree>, address: Option<SocketAddr>) -> Self {
        Self {
            address: address.filter(|_| server.is_none()),
            server,
            last: None,
            next: None,
        }
    }

    /// What the server has used since the last look, now and then.
    fn look(&mut self, now: Instant) -> Option<LoadUpdate> {
        if let Some(address) = self.address.take() {
            self.server = ProcessTree::at(address).ok();
        }
        if self.next.is_some_and(|next| now < next) {
            return None;
        }
        self.next = Some(now + LOOK_EVERY);
        let Ok(usage) = self.server.as_ref()?.usage() else {
            self.server = None;
            return Some(LoadUpdate::Server(ServerUse::Ended));
        };
        let before = self.last.replace((now, usage));
        let (then, before) = before?;
        let time_s = (now - then).as_secs_f64();
        Some(LoadUpdate::Server(ServerUse::Running {
            cpus: (usage.cpu_s() - before.cpu_s()).max(0.0) / time_s,
            memory_bytes: usage.resident_bytes,
            processes: usage.processes,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_screen_leaves_the_load_and_the_server_their_cpus() {
        let all = allowed_cpus().unwrap();
        let (first, others) = all.split_at(1);
        assert_eq!(cpus_beside(&[], &[]), Vec::<usize>::new());
        assert_eq!(cpus_beside(&all, &[]), all);
        assert_eq!(cpus_beside(&[], &all), Vec::<usize>::new());
        assert_eq!(cpus_beside(first, others), first);
        assert_eq!(cpus_beside(others, first), others);
        if !others.is_empty() {
            assert_eq!(cpus_beside(first, &[]), others);
            assert_eq!(cpus_beside(&[], first), others);
        }
    }

    #[test]
    fn a_server_is_found_by_its_port_and_its_usage_read_now_and_then() {
        let own = i32::try_from(std::process::id()).unwrap();
        let parent = i32::try_from(std::os::unix::process::parent_id()).unwrap();
        assert_ne!(own, parent);
        let server = ProcessTree::of_process(parent);
        let mut watch = ServerWatch::new(server, None);
        let begun = Instant::now();
        assert!(watch.look(begun).is_none());
        assert!(watch.look(begun + LOOK_EVERY / 2).is_none());
        let update = watch.look(begun + LOOK_EVERY);
        assert!(
            matches!(
                update,
                Some(LoadUpdate::Server(ServerUse::Running { memory_bytes, .. })) if memory_bytes > 0
            ),
            "{update:?}"
        );
    }
}
