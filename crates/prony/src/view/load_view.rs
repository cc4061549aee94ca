//! Where a load shows how far it has come: a live screen, lines, or nowhere.

use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use prony_kernel::allowed_cpus;
use prony_live::screen::{LoadOutline, LoadScreen, LoadUpdate, ServerUse};
use prony_load::{Endpoint, LoadPlan, Progress};
use prony_model::LoadShape;
use prony_present::load;
use prony_server::{ProcessTree, TreeUsage};

use super::load_progress::LoadProgress;
use super::requested;
use super::screen_thread::{LiveMode, ScreenSettings, ScreenThread};
use crate::output;

/// A load that takes less time than this has no screen: nobody could read it.
const SHORTEST: Duration = Duration::from_secs(1);
/// How often the server's usage is read.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Where a load is shown.
pub(crate) enum LoadView {
    /// Lines on standard error.
    Lines(Box<LoadProgress>),
    /// Nowhere.
    Quiet,
    /// Nowhere yet: a load of a number of requests, which may be over before a screen could be read.
    Later {
        starts: Instant,
        prepared: Box<(LoadScreen, ScreenSettings<LoadUpdate>)>,
    },
    /// The screen, in a thread of its own.
    Screen(ScreenThread<LoadUpdate>),
}

pub(crate) struct ShownLoad<'a> {
    pub(crate) plan: &'a LoadPlan,
    /// The requests in words, if there are several: `3 requests of checkout.hurl in each flow`.
    pub(crate) requests: Option<&'a str>,
    /// The server's process, if the user names it.
    pub(crate) server: Option<ProcessTree>,
    /// Where the thread of the screen runs.
    pub(crate) cpus: Vec<usize>,
    pub(crate) interrupt: &'a Arc<AtomicBool>,
}

impl LoadView {
    /// Starts to show a load. A terminal that cannot show the screen gets lines.
    pub(crate) fn start(mode: LiveMode, shown: ShownLoad<'_>) -> Self {
        let plan = shown.plan;
        let is_long = plan
            .load
            .duration
            .is_none_or(|measured| *measured >= SHORTEST);
        if mode.is_quiet() {
            return Self::Quiet;
        }
        let outline = outline(plan, shown.requests);
        if mode == LiveMode::Screen && is_long && LiveMode::has_screen() {
            let prepared = prepare(outline.clone(), shown);
            if plan.load.duration.is_none() {
                let starts = Instant::now() + SHORTEST;
                let prepared = Box::new(prepared);
                return Self::Later { starts, prepared };
            }
            if let Ok(screen) = ScreenThread::start(prepared.0, prepared.1) {
                return Self::Screen(screen);
            }
        }
        let line = LoadProgress::start(mode.line(), outline, plan, Instant::now());
        Self::Lines(Box::new(line))
    }

    /// Shows the current figures. `silent` names an agent that may be lost.
    pub(crate) fn show(&mut self, progress: Progress, silent: Option<String>) {
        self.start_later();
        match self {
            Self::Lines(lines) => lines.show(progress, silent, Instant::now()),
            Self::Quiet | Self::Later { .. } => {}
            Self::Screen(screen) => {
                screen.send(LoadUpdate::Progress(Box::new(progress)));
                screen.send(LoadUpdate::Silent(silent));
            }
        }
    }

    /// Starts the screen if the load has run long enough.
    fn start_later(&mut self) {
        let is_due = matches!(self, Self::Later { starts, .. } if *starts <= Instant::now());
        if !is_due {
            return;
        }
        let Self::Later { prepared, .. } = mem::replace(self, Self::Quiet) else {
            return;
        };
        if let Ok(screen) = ScreenThread::start(prepared.0, prepared.1) {
            *self = Self::Screen(screen);
        }
    }

    /// Shows a line that stays.
    pub(crate) fn keep(&self, line: &str) {
        match self {
            Self::Lines(lines) => lines.print(line),
            Self::Quiet | Self::Later { .. } => errln!("{line}"),
            Self::Screen(screen) => screen.keep(line),
        }
    }

    /// Clears what changes.
    pub(crate) fn finish(self) {
        match self {
            Self::Lines(lines) => lines.finish(),
            Self::Quiet | Self::Later { .. } => {}
            Self::Screen(screen) => screen.close(),
        }
    }
}

/// The screen of a load, and how its thread behaves.
fn prepare(outline: LoadOutline, shown: ShownLoad<'_>) -> (LoadScreen, ScreenSettings<LoadUpdate>) {
    let screen = LoadScreen::new(outline, output::shows_colours(&std::io::stderr()));
    let address = match shown.plan.endpoint {
        Endpoint::Tcp(address) => Some(address),
        Endpoint::Unix(_) => None,
    };
    let mut watch = ServerWatch::new(shown.server, address);
    let settings = ScreenSettings {
        begun: Instant::now(),
        cpus: shown.cpus,
        interrupt: shown.interrupt.clone(),
        ending: "ending: what was measured is kept; Ctrl-C ends at once",
        look: Box::new(move || watch.look(Instant::now())),
    };
    (screen, settings)
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

/// Watches the server, if it runs on this machine.
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
