//! Whether the program was started with an open standard output.
//!
//! Before `main`, Rust's runtime opens `/dev/null` in place of a closed standard stream, so `program >&-` would
//! silently lose its output. This looks before the runtime does.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: F_GETFD reads a flag of a descriptor and touches no memory of this program.
    let is_closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1;
    WAS_CLOSED.store(is_closed, Relaxed);
}

// SAFETY: the loader calls every function in this section once, before `main`, on the only thread. `look` is sound
// there: it takes no arguments (the C calling convention ignores those passed), needs nothing of Rust's runtime and
// cannot panic.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look;

/// Whether standard output was closed when the program started, as with `program >&-`.
pub fn stdout_was_closed() -> bool {
    WAS_CLOSED.load(Relaxed)
}
