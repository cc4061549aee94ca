//! Whether the program was started with an open standard output.
//!
//! Rust's runtime opens `/dev/null` in place of a standard stream that is closed, before `main`. So
//! `program >&-` would write its result to nowhere and never know. This looks before the runtime does.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: F_GETFD reads a flag of a descriptor and touches no memory of this program.
    let is_closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1;
    WAS_CLOSED.store(is_closed, Relaxed);
}

// SAFETY: the loader calls every function in this section once, before `main`, on the only thread.
// `look` fits: it takes no arguments (those that are passed are ignored in the C calling convention),
// needs nothing of Rust's runtime and cannot panic.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look;

/// Whether standard output was closed when the program was started, as `program >&-` starts it.
pub fn stdout_was_closed() -> bool {
    WAS_CLOSED.load(Relaxed)
}
