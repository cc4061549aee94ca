//! Ctrl-C: the first asks for a clean end, the second ends at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::INTERRUPTED;

/// A flag that SIGINT, SIGTERM and SIGHUP set. A second signal ends the process there and then;
/// the servers go with it, whatever happens.
pub fn on_signals() -> io::Result<Arc<AtomicBool>> {
    let interrupt = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // This order: the second signal finds the flag set, the first one does not.
        flag::register_conditional_shutdown(signal, i32::from(INTERRUPTED), interrupt.clone())?;
        flag::register(signal, interrupt.clone())?;
    }
    Ok(interrupt)
}
