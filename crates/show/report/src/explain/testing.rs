//! Builds explanations for unit tests.

use prony_model::{
    CostFigure, CostRound, CostUnit, Explanation, Frame, FrameKind, LoadSpec, Profile, Stack,
};

/// How each of five rounds differs from the middle one.
const NOISE: [f64; 5] = [1.0, 1.004, 0.997, 0.995, 1.006];

/// An explanation that is being built.
pub(super) struct Builder(Explanation);

impl Builder {
    /// A server with five rounds and no figures.
    pub(super) fn server(id: &str) -> Self {
        Self(Explanation {
            server: id.into(),
            workload: "hello".into(),
            load: LoadSpec::default(),
            unit: CostUnit::Request,
            rounds: vec![CostRound::default(); NOISE.len()],
            on_cpu: None,
            off_cpu: None,
            unavailable: Vec::new(),
        })
    }

    /// Counts events instead of requests.
    pub(super) fn events(mut self) -> Self {
        self.0.unit = CostUnit::Event;
        self
    }

    /// A figure of about this size in every round.
    pub(super) fn with(mut self, figure: CostFigure, value: f64) -> Self {
        for (round, noise) in self.0.rounds.iter_mut().zip(NOISE) {
            round.figures.insert(figure, value * noise);
        }
        self
    }

    /// A figure with exactly these rounds, which become the rounds of the server.
    pub(super) fn exactly(mut self, figure: CostFigure, values: &[f64]) -> Self {
        self.0.rounds.resize(values.len(), CostRound::default());
        for (round, value) in self.0.rounds.iter_mut().zip(values) {
            round.figures.insert(figure, *value);
        }
        self
    }

    /// A system call that a request makes about this often.
    pub(super) fn call(mut self, name: &str, times: f64) -> Self {
        for (round, noise) in self.0.rounds.iter_mut().zip(NOISE) {
            round.system_calls.insert(name.into(), times * noise);
        }
        self
    }

    /// A profile with these stacks: functions joined by `;`, and samples.
    pub(super) fn profile(mut self, stacks: &[(&str, f64)]) -> Self {
        self.0.on_cpu = Some(profile(stacks));
        self
    }

    pub(super) fn done(self) -> Explanation {
        self.0
    }
}

/// A profile over 1,000 requests at 100 Hz. A function that begins with `k:` is the kernel's.
pub(super) fn profile(stacks: &[(&str, f64)]) -> Profile {
    let mut frames: Vec<Frame> = Vec::new();
    let mut index = |name: &str| {
        let frame = match name.strip_prefix("k:") {
            Some(name) => frame(name, "[kernel]", FrameKind::Kernel),
            None => frame(name, "server", FrameKind::Native),
        };
        let known = frames.iter().position(|one| *one == frame);
        known.unwrap_or_else(|| {
            frames.push(frame);
            frames.len() - 1
        }) as u32
    };
    let stacks: Vec<Stack> = stacks
        .iter()
        .map(|(stack, weight)| Stack {
            frames: stack.split(';').map(&mut index).collect(),
            weight: *weight,
        })
        .collect();
    let samples: f64 = stacks.iter().map(|stack| stack.weight).sum();
    Profile {
        frequency_hz: 100.0,
        samples: samples as u64,
        lost: 0,
        seconds: samples / 100.0,
        units: 1000.0,
        cost: None,
        frames,
        stacks,
        left_out: 0.0,
        unnamed: Vec::new(),
    }
}

pub(super) fn frame(name: &str, module: &str, kind: FrameKind) -> Frame {
    Frame {
        name: name.into(),
        module: module.into(),
        kind,
    }
}
