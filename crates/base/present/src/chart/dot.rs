//! The styles of dots.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dot {
    P50,
    P90,
    P99,
    P999,
    Plain,
    /// A noisy trial.
    Noisy,
    /// A trial whose server was still warming up.
    Warming,
}

impl Dot {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::P999 => "p999",
            Self::Plain => "dot",
            Self::Noisy => "dot noisy",
            Self::Warming => "warming",
        }
    }
}
