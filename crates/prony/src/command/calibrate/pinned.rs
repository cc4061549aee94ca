//! Something done on a thread of its own that keeps to its CPUs.

use std::io;
use std::thread;

use nix::sys::prctl::set_timerslack;
use prony_system::pin_current_thread;

/// Does it on a thread that is pinned to `cpus`, and waits for it.
///
/// # Errors
/// Where the thread cannot be started or pinned, and what the work itself says.
pub fn on<T: Send>(cpus: &[usize], work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, || {
            prepare(cpus)?;
            work()
        })?;
        thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("a measuring thread panicked")))
    })
}

/// Pins the calling thread, and lets its waits be as exact as those of the engine.
pub fn prepare(cpus: &[usize]) -> io::Result<()> {
    pin_current_thread(cpus)?;
    Ok(set_timerslack(1)?)
}
