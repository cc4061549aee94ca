//! The users of a scenario: where each is in its flow.

use std::fmt::Display;
use std::net::IpAddr;
use std::time::Duration;

use prony_model::Outcome;
use prony_traffic::{
    FlowShare, HttpVersion, Keep, LONGEST_BODY, Reply, Scenario, ScenarioRequest, Sending, Turn,
    User,
};

use super::clock::{Nanoseconds, nanoseconds};
use super::judge::Sample;
use super::pacer::{exponential, random_source};
use super::phase::{Begin, Phase};
use super::tally::FlowTally;
use super::worker_number::WorkerNumber;
use crate::plan::LoadPlan;

/// How many bytes the bodies that all users keep may take, unless each keeps [`LEAST_BODY`].
const MOST_KEPT: u64 = 1 << 30;
const LEAST_BODY: u64 = 64 * 1024;
/// How long a user waits after a flow that has sent nothing: otherwise it would occupy the thread.
const AFTER_NOTHING: Nanoseconds = 10_000_000;
/// Derives the users' random source from the seed of the load.
const USERS: u64 = 0xa5a5_a5a5_a5a5_a5a5;

/// The users of one worker.
pub(super) struct Flows<'a> {
    scenario: &'a Scenario,
    http: HttpVersion,
    /// Whether each flow is one request, whose response the plan judges.
    are_requests: bool,
    users: Vec<FlowUser<'a>>,
    worker: WorkerNumber,
    /// Which of the load's flows the worker's agent begins.
    share: FlowShare,
    /// How many flows have begun.
    begun: u64,
    seed: u64,
    think: Option<ThinkTime>,
    longest_body: u64,
    /// The address of the server, if it has one.
    server: Option<IpAddr>,
    /// Flows that have begun and not ended.
    in_progress: u64,
}

/// Random times between two requests of a flow.
struct ThinkTime {
    mean: Nanoseconds,
    random: fastrand::Rng,
}

struct FlowUser<'a> {
    user: User<'a>,
    flow: Option<Flow>,
    /// Whether the response is compared with the one that the plan expects.
    is_compared: bool,
    /// Memory for the next response.
    spare: Option<Box<Sample>>,
}

/// A flow that has begun.
#[derive(Default)]
struct Flow {
    begin: Begin,
    /// The start of the first request's latency, if that is due and not sent.
    first_from: Option<Nanoseconds>,
    /// Whether a request was sent.
    has_sent: bool,
    /// What is sent after a pause.
    waiting: Option<Sending>,
    /// What was sent last.
    sent: Option<Sending>,
    /// Whether that was due at an instant.
    sent_due: bool,
}

/// How long a response may take, beside the timeout of the load.
pub(super) struct Limits {
    /// By its entry.
    pub(super) timeout: Option<Duration>,
    /// Whether its request was due at an instant, so that a deadline binds it.
    pub(super) is_due: bool,
}

impl Limits {
    /// Those of a request that belongs to no flow.
    pub(super) fn of_every_request() -> Self {
        Self {
            timeout: None,
            is_due: true,
        }
    }
}

/// What a user does next.
pub(super) enum Step {
    /// Sends a request of that entry, whose latency runs from a due time if there is one.
    Send {
        entry: usize,
        from: Option<Nanoseconds>,
    },
    /// Waits until then.
    Pause(Nanoseconds),
    /// Nothing more: the flow has ended, and another may begin.
    Ended,
}

impl<'a> Flows<'a> {
    /// Those of one worker; `None` if the load has no scenario.
    pub(super) fn of(plan: &'a LoadPlan, agent: usize, worker: WorkerNumber) -> Option<Self> {
        let scenario = plan.request.scenario()?;
        let users = plan.load.most_connections() as u64;
        Some(Self {
            scenario,
            http: plan.request.http(),
            are_requests: scenario.is_one_request(),
            users: Vec::new(),
            worker,
            share: FlowShare {
                agent: agent as u64,
                agents: plan.agents as u64,
            },
            begun: 0,
            seed: plan.load.seed ^ USERS,
            think: plan.flow_think_time.map(|mean| ThinkTime {
                mean: nanoseconds(mean),
                random: worker.random(plan.load.seed.rotate_left(32)),
            }),
            longest_body: (MOST_KEPT / users.max(1)).clamp(LEAST_BODY, LONGEST_BODY),
            server: plan.endpoint.ip(),
            in_progress: 0,
        })
    }

    /// Whether each flow is one request, whose response the plan judges.
    pub(super) fn are_requests(&self) -> bool {
        self.are_requests
    }

    /// How many flows have begun, warm-up included.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    pub(super) fn in_progress(&self) -> u64 {
        self.in_progress
    }

    pub(super) fn is_in_flow(&self, user: usize) -> bool {
        self.users.get(user).is_some_and(|user| user.flow.is_some())
    }

    /// Begins a flow, which was due at `from` if it was due at an instant.
    pub(super) fn begin(&mut self, user: usize, begin: Begin, from: Option<Nanoseconds>) {
        while self.users.len() <= user {
            let WorkerNumber { worker, workers } = self.worker;
            let number = (worker + self.users.len() * workers) as u64;
            let seed = random_source(self.seed, number).u64(..);
            self.users.push(FlowUser {
                user: self.scenario.user(seed, self.share),
                flow: None,
                is_compared: false,
                spare: None,
            });
        }
        let user = &mut self.users[user];
        user.user.begin();
        user.flow = Some(Flow {
            begin,
            first_from: from,
            ..Flow::default()
        });
        self.in_progress += 1;
        self.begun += 1;
    }

    /// When the flow that the user is in began.
    pub(super) fn begin_of(&self, user: usize) -> Option<Begin> {
        Some(self.users.get(user)?.flow.as_ref()?.begin)
    }

    /// What a user who is in a flow, and has no request in flight, does next.
    pub(super) fn step(
        &mut self,
        user: usize,
        now: Nanoseconds,
        phase: &Phase,
        tally: &mut FlowTally,
    ) -> Step {
        let FlowUser { user, flow, .. } = &mut self.users[user];
        let Some(running) = flow else {
            return Step::Ended;
        };
        if let Some(sending) = running.waiting.take() {
            return running.send(sending, None);
        }
        let failure = match user.next_turn() {
            Turn::Send(sending) => {
                let thinks = running.has_sent && !sending.is_redirected;
                let think = self.think.as_mut().filter(|_| thinks);
                let think = think.map_or(0, ThinkTime::draw);
                let pause = nanoseconds(sending.pause).saturating_add(think);
                if pause == 0 {
                    let from = running.first_from.take();
                    return running.send(sending, from);
                }
                running.waiting = Some(sending);
                return Step::Pause(now.saturating_add(pause));
            }
            Turn::End => None,
            Turn::Fail(reason) => Some(reason),
        };
        let has_sent = running.has_sent;
        match failure {
            None => tally.ok(
                now.saturating_sub(running.begin.due),
                phase.counts(running.begin),
            ),
            Some(reason) => tally.failed_without_request(reason),
        }
        *flow = None;
        self.in_progress -= 1;
        if has_sent {
            Step::Ended
        } else {
            Step::Pause(now.saturating_add(AFTER_NOTHING))
        }
    }

    /// The request that the user sends now.
    pub(super) fn request(&self, user: usize) -> &ScenarioRequest {
        self.users[user].user.request()
    }

    /// How long its response may take.
    pub(super) fn limits(&self, user: usize) -> Limits {
        let flow = self.users[user].flow.as_ref();
        Limits {
            timeout: flow.and_then(|flow| flow.sent.as_ref()?.timeout),
            is_due: flow.is_some_and(|flow| flow.sent_due),
        }
    }

    /// Keeps as much of its response as the user needs, or what is `compared` with the one that the plan expects.
    pub(super) fn sample(
        &mut self,
        user: usize,
        compared: Option<Box<Sample>>,
    ) -> Option<Box<Sample>> {
        let user = &mut self.users[user];
        user.is_compared = compared.is_some();
        if compared.is_some() {
            return compared;
        }
        let keep = user.flow.as_ref()?.sent.as_ref()?.keep;
        let longest = match keep {
            Keep::Status => return None,
            Keep::Head => 0,
            Keep::All => self.longest_body,
        };
        let mut sample = user.spare.take().unwrap_or_default();
        sample.collect.restart(longest);
        Some(sample)
    }

    /// The user takes a whole response. Returns it if it is to be compared with the one that the plan expects, or the
    /// outcome and the reason if it is not as the user expects.
    pub(super) fn respond(
        &mut self,
        user: usize,
        status: u16,
        sample: Option<Box<Sample>>,
        latency: Nanoseconds,
    ) -> Result<Option<Box<Sample>>, (Outcome, String)> {
        let user = &mut self.users[user];
        let sent = user.flow.as_ref().and_then(|flow| flow.sent.as_ref());
        let needs_body = sent.is_some_and(|sent| sent.keep == Keep::All);
        let kept = sample.as_ref().map(|sample| &sample.collect);
        if needs_body && kept.is_some_and(|kept| kept.is_cut()) {
            let longest = self.longest_body;
            let detail = format!(
                "the body is longer than the {longest} bytes that Prony keeps for each of this many users"
            );
            return Err((Outcome::WrongBody, detail));
        }
        let reply = Reply {
            status,
            http: self.http,
            kept,
            duration: Duration::from_nanos(latency),
            server: self.server,
        };
        let result = user.user.respond(&reply);
        let result = result.map_err(|rejection| (rejection.outcome, rejection.detail));
        if user.is_compared {
            return result.map(|()| sample);
        }
        // A long body is rare, and must not occupy memory for ever.
        user.spare = sample.filter(|sample| sample.collect.kept_body().len() as u64 <= LEAST_BODY);
        result.map(|()| None)
    }

    /// Ends a flow, because its last request was not ok. `entry` is that of the request.
    pub(super) fn failed(
        &mut self,
        user: usize,
        entry: usize,
        tally: &mut FlowTally,
        outcome: Outcome,
        detail: impl Display,
    ) {
        tally.entry_not_ok(entry, outcome, detail);
        if self.users[user].flow.take().is_some() {
            tally.failed += 1;
            self.in_progress -= 1;
        }
    }
}

impl Flow {
    fn send(&mut self, sending: Sending, from: Option<Nanoseconds>) -> Step {
        let entry = sending.entry;
        self.has_sent = true;
        self.sent = Some(sending);
        self.sent_due = from.is_some();
        Step::Send { entry, from }
    }
}

impl ThinkTime {
    fn draw(&mut self) -> Nanoseconds {
        (exponential(&mut self.random) * self.mean as f64) as Nanoseconds
    }
}
