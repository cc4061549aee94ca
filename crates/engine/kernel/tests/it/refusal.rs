//! If the kernel refuses a ring, the error has its reason.

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use prony_kernel::{Ring, RingSettings};
use prony_testkit::alone::alone;

#[test]
fn a_refused_ring_reports_the_kernels_error() {
    // The limit of files would affect other tests.
    alone("refusal::a_refused_ring_reports_the_kernels_error", refuse);
}

fn refuse() {
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
    assert_eq!(errno, Some(Errno::EMFILE));
}
