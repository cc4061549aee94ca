//! What a load may have beside its arrivals and its end.

use prony_model::LoadSpec;

use crate::format;

/// What a load may have beside its arrivals, in words and as a part of a file name.
pub struct Trait {
    /// What it is, so that two loads can be held against each other in it.
    pub kind: TraitKind,
    /// In words.
    pub words: String,
    /// In a file name.
    pub slug: String,
}

/// The kinds of them, in the order in which they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraitKind {
    /// Connections are closed after some responses.
    Churn,
    /// Several requests are in flight over a connection.
    Pipeline,
    /// A time from the scheduled arrival.
    Deadline,
    /// Streams are held open beside it.
    Streams,
    /// The responses' events are counted.
    Events,
    /// The first byte is timed.
    FirstByte,
    /// The generator busy-waits.
    Spin,
}

impl TraitKind {
    /// All of them.
    pub const ALL: [TraitKind; 7] = [
        Self::Churn,
        Self::Pipeline,
        Self::Deadline,
        Self::Streams,
        Self::Events,
        Self::FirstByte,
        Self::Spin,
    ];
}

/// Those that the load has.
pub fn traits(load: &LoadSpec) -> Vec<Trait> {
    let of_kind = |kind| {
        let (words, slug) = words_and_slug(load, kind)?;
        Some(Trait { kind, words, slug })
    };
    TraitKind::ALL.into_iter().filter_map(of_kind).collect()
}

fn words_and_slug(load: &LoadSpec, kind: TraitKind) -> Option<(String, String)> {
    let fixed = |has: bool, words: &str, slug: &str| has.then(|| (words.into(), slug.into()));
    match kind {
        TraitKind::Churn => load.requests_per_connection.map(|requests| {
            let words = match requests {
                1 => "a new connection for each request".to_owned(),
                n => format!("a new connection every {} requests", format::exact(n)),
            };
            (words, format!("anew-{requests}"))
        }),
        TraitKind::Pipeline => (load.pipeline > 1).then(|| {
            let depth = load.pipeline;
            (
                format!("pipelined {depth} deep"),
                format!("pipeline-{depth}"),
            )
        }),
        TraitKind::Deadline => load.deadline_s.map(|seconds| {
            let words = format!("deadline {}", format::seconds(seconds));
            (words, format!("deadline-{seconds}s"))
        }),
        TraitKind::Streams => (load.streams > 0).then(|| {
            let count = load.streams;
            let streams = format::exact(count as u64);
            (
                format!("beside {streams} held streams"),
                format!("streams-{count}"),
            )
        }),
        TraitKind::Events => fixed(load.events, "events counted", "events"),
        TraitKind::FirstByte => fixed(load.first_byte, "first byte timed", "first-byte"),
        TraitKind::Spin => fixed(load.spin, "busy-waiting generator", "spin"),
    }
}
