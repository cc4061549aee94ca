//! The names of system calls.

use syscall_numbers::native::sys_call_name;

/// The call that submits work to io_uring. What the ring then does is no system call: a server that makes this call
/// reads and writes without any that can be counted.
pub const IO_URING: &str = "io_uring_enter";

/// The name of a system call by its number on this architecture, such as `read`; `syscall_N` for one without a name.
pub fn name_of(number: i64) -> String {
    let named = sys_call_name(number);
    named.map_or_else(|| format!("syscall_{number}"), str::to_owned)
}

/// Whether the system call of this name writes to a file or socket.
pub fn is_write(name: &str) -> bool {
    matches!(
        name,
        "write"
            | "writev"
            | "pwrite64"
            | "pwritev"
            | "pwritev2"
            | "send"
            | "sendto"
            | "sendmsg"
            | "sendmmsg"
            | "sendfile"
            | "sendfile64"
            | "splice"
            | "tee"
            | "vmsplice"
            | "copy_file_range"
    )
}

#[cfg(test)]
mod tests {
    use syscall_numbers::native;

    use super::*;

    #[test]
    fn numbers_have_names() {
        assert_eq!(name_of(native::SYS_read), "read");
        assert_eq!(name_of(native::SYS_epoll_pwait2), "epoll_pwait2");
        assert_eq!(name_of(native::SYS_io_uring_enter), IO_URING);
        assert_eq!(name_of(100_000), "syscall_100000");
        assert_eq!(name_of(-1), "syscall_-1");
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_numbers_are_those_of_this_architecture() {
        assert_eq!([0, 1, 44].map(name_of), ["read", "write", "sendto"]);
    }

    #[cfg(target_arch = "aarch64")]
    #[test]
    fn the_numbers_are_those_of_this_architecture() {
        assert_eq!([63, 64, 206].map(name_of), ["read", "write", "sendto"]);
    }

    #[test]
    fn calls_that_write_are_told_from_others() {
        for name in [
            "write", "writev", "pwritev2", "sendto", "sendmsg", "sendmmsg", "sendfile", "splice",
        ] {
            assert!(is_write(name), "{name}");
        }
        for name in ["read", "recvfrom", "epoll_wait", "io_uring_enter", "futex"] {
            assert!(!is_write(name), "{name}");
        }
    }
}
