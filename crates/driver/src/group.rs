//! A process group that does not outlive Prony, however Prony ends.
//!
//! Its leader is a **watcher**, a shell that waits at a pipe from Prony and kills the group, itself
//! included, when that closes. As long as the watcher is not reaped the group's id is nobody
//! else's, so the group can be killed by it safely, even after all others in it have ended.
//!
//! The supervisor of the servers is not used here, because it is a tool's parent then, and the kernel
//! tells what a process used to its parent alone.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// What the watcher does: it says that it is there, and waits.
const WATCH: &str = "trap '' HUP INT TERM; echo; read -r nothing; kill -KILL 0";

/// A process group. Dropping it kills all that is in it.
#[derive(Debug)]
pub(crate) struct Group {
    /// It holds Prony's end of the pipe.
    watcher: Child,
}

impl Group {
    /// A group with nothing in it but its watcher, which already waits.
    ///
    /// # Errors
    /// Where the watcher cannot be started.
    pub(crate) fn new() -> io::Result<Group> {
        let mut watcher = Command::new("/bin/sh")
            .args(["-c", WATCH])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let said = watcher.stdout.take();
        // From here on it is killed and reaped, whatever happens.
        let group = Group { watcher };
        let said = said.ok_or_else(|| io::Error::other("the watcher has no output"))?;
        await_line(said).map_err(|error| {
            io::Error::new(error.kind(), format!("/bin/sh does not watch: {error}"))
        })?;
        Ok(group)
    }

    /// Has a command start in this group.
    pub(crate) fn take(&self, command: &mut Command) {
        command.process_group(self.id().as_raw());
    }

    /// Kills all that is in it.
    pub(crate) fn kill(&self) {
        // It cannot fail: the watcher is in it until it is reaped.
        let _ = killpg(self.id(), Signal::SIGKILL);
    }

    fn id(&self) -> Pid {
        // Linux keeps process ids below 2^22.
        Pid::from_raw(self.watcher.id() as i32)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        // It was killed, so this does not wait long; there is nobody to tell of a failure.
        let _ = self.watcher.wait();
    }
}

fn await_line(mut from: impl Read) -> io::Result<()> {
    from.read_exact(&mut [0])
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    /// Something that stays, in the group.
    fn member(group: &Group) -> Child {
        let mut command = Command::new("sleep");
        command.arg("600");
        group.take(&mut command);
        command.spawn().unwrap()
    }

    fn killed(mut member: Child) -> bool {
        member.wait().unwrap().signal() == Some(Signal::SIGKILL as i32)
    }

    #[test]
    fn what_is_in_it_goes_with_it() {
        let group = Group::new().unwrap();
        let members = [member(&group), member(&group)];
        drop(group);
        assert!(members.into_iter().all(killed));
    }

    #[test]
    fn what_is_in_it_goes_when_the_pipe_closes() {
        let mut group = Group::new().unwrap();
        let member = member(&group);
        drop(group.watcher.stdin.take());
        assert!(killed(member));
    }

    #[test]
    fn a_signal_to_all_of_it_does_not_end_the_watch() {
        let mut group = Group::new().unwrap();
        let mut first = member(&group);
        killpg(group.id(), Signal::SIGTERM).unwrap();
        assert_eq!(first.wait().unwrap().signal(), Some(Signal::SIGTERM as i32));
        let second = member(&group);
        drop(group.watcher.stdin.take());
        assert!(killed(second));
    }
}
