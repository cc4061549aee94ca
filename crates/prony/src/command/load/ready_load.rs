//! A load that is ready to be run.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use prony_load::LoadPlan;

use crate::fleet::Loads;
use crate::tls::Offered;
use crate::view::screen_thread::LiveMode;

/// It is run once or, in search of a capacity, several times.
pub(super) struct ReadyLoad {
    pub(crate) plan: LoadPlan,
    /// What its connections offer if they are encrypted.
    pub(crate) offered: Option<Offered>,
    /// How several requests are chosen, if there are several.
    pub(crate) requests: Option<String>,
    /// Whether anything is drawn at random, so that the seed matters.
    pub(crate) is_random: bool,
    pub(crate) loads: Loads,
    pub(crate) live: LiveMode,
    pub(crate) interrupt: Arc<AtomicBool>,
}
