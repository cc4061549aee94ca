//! Where the kernel gives no ring, its reason is handed on. A file of its own, so a process of its own: the limit would
//! hit other tests too.

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use prony_kernel::{Ring, RingSettings};

#[test]
fn the_kernels_reason_is_handed_on() {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 0, hard).unwrap();
    let refused = Ring::new(&RingSettings {
        slots: 1,
        small_buffers: 1,
        small_buffer_bytes: 1,
        large_buffers: 1,
        large_buffer_bytes: 1,
    });
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard).unwrap();
    let errno = refused.unwrap_err().raw_os_error().map(Errno::from_raw);
    // No descriptor is left.
    assert_eq!(errno, Some(Errno::EMFILE));
}
