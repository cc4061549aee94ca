//! The tracepoints of the kernel: their ids and their fields, from tracefs.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// The kernel's description of its tracepoints.
#[derive(Debug)]
pub struct Tracefs {
    root: OwnedFd,
}

/// A field in the raw data of a tracepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Where it starts, in bytes.
    pub offset: usize,
    /// Its length in bytes.
    pub size: usize,
}

/// Why the tracepoints are unknown.
#[derive(Debug, thiserror::Error)]
pub enum TracefsError {
    #[error("{0} is readable by root alone")]
    Forbidden(&'static str),
    #[error("tracefs is not mounted")]
    NotMounted,
    #[error("the kernel has no tracefs")]
    Unsupported,
}

const MOUNT_POINTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

impl Tracefs {
    /// Opens it if it is mounted and this user may read it. If not, and if this user may mount, it is mounted for this
    /// process alone, at no path.
    ///
    /// # Errors
    /// If this user may neither read nor mount it, or the kernel has none.
    pub fn open() -> Result<Tracefs, TracefsError> {
        Self::open_at(&MOUNT_POINTS)
    }

    fn open_at(mount_points: &[&'static str]) -> Result<Tracefs, TracefsError> {
        let mut forbidden = None;
        for &path in mount_points {
            let tracefs = open_folder(path).map(|root| Tracefs { root });
            match tracefs.and_then(|tracefs| tracefs.can_be_read().map(|()| tracefs)) {
                Ok(tracefs) => return Ok(tracefs),
                Err(rustix::io::Errno::ACCESS) => {
                    forbidden.get_or_insert(path);
                }
                Err(_) => (),
            }
        }
        match (mount(), forbidden) {
            (Ok(root), _) => Ok(Tracefs { root }),
            (Err(_), Some(path)) => Err(TracefsError::Forbidden(path)),
            (Err(rustix::io::Errno::NODEV), None) => Err(TracefsError::Unsupported),
            (Err(_), None) => Err(TracefsError::NotMounted),
        }
    }

    /// The id of a tracepoint, such as `raw_syscalls`, `sys_enter`.
    ///
    /// # Errors
    /// If there is no such tracepoint.
    pub fn event_id(&self, group: &str, name: &str) -> io::Result<u64> {
        let text = self.read(&format!("events/{group}/{name}/id"))?;
        let id = text.trim().parse();
        id.map_err(|_| io::Error::other(format!("{group}:{name} has no id: {text:?}")))
    }

    /// Where the raw data of a tracepoint has a field.
    ///
    /// # Errors
    /// If there is no such tracepoint or field.
    pub fn field(&self, group: &str, name: &str, field: &str) -> io::Result<Field> {
        let format = self.read(&format!("events/{group}/{name}/format"))?;
        find_field(&format, field)
            .ok_or_else(|| io::Error::other(format!("{group}:{name} has no field {field}")))
    }

    fn read(&self, path: &str) -> io::Result<String> {
        let mut text = String::new();
        self.file(path)?.read_to_string(&mut text)?;
        Ok(text)
    }

    fn file(&self, path: &str) -> rustix::io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        openat(&self.root, path, flags, Mode::empty()).map(File::from)
    }

    /// The folder is readable for more users than the files in it, depending on how it was mounted.
    fn can_be_read(&self) -> rustix::io::Result<()> {
        self.file("events/raw_syscalls/sys_enter/id").map(drop)
    }
}

fn open_folder(path: impl AsRef<Path>) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path.as_ref(), flags, Mode::empty())
}

/// A mount that ends when its descriptor is closed.
fn mount() -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    fsmount(
        &context,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_RDONLY
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC,
    )
}

/// A line such as `field:pid_t pid; offset:24; size:4; signed:1;`, with tabs.
fn find_field(format: &str, name: &str) -> Option<Field> {
    format.lines().find_map(|line| {
        let mut parts = line.trim().split(';').map(str::trim);
        let declaration = parts.next()?.strip_prefix("field:")?;
        let declared = declaration.rsplit(' ').next()?;
        if declared.split('[').next()? != name {
            return None;
        }
        let offset = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
        let size = parts.next()?.strip_prefix("size:")?.parse().ok()?;
        Some(Field { offset, size })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::testing::{is_required, report_skipped};

    const FORMAT: &str = "\
name: sched_waking
ID: 375
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;
\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;

print fmt: \"comm=%s pid=%d\", REC->comm, REC->pid
";

    #[test]
    fn fields_have_their_places() {
        let field = |name| find_field(FORMAT, name).map(|field| (field.offset, field.size));
        assert_eq!(field("pid"), Some((24, 4)));
        assert_eq!(field("comm"), Some((8, 16)));
        assert_eq!(field("common_pid"), Some((4, 4)));
        assert_eq!(field("prio"), None);
        assert_eq!(find_field("field:int pid;\toffset:x;", "pid"), None);
    }

    #[test]
    fn this_kernels_tracepoints_have_ids_and_fields() {
        let tracefs = match Tracefs::open_at(&["/nowhere"]) {
            Ok(tracefs) => tracefs,
            Err(error) if is_required() => panic!("{error}"),
            Err(error) => return report_skipped(&error.to_string()),
        };
        assert!(tracefs.event_id("raw_syscalls", "sys_enter").unwrap() > 0);
        let id = tracefs.field("raw_syscalls", "sys_enter", "id").unwrap();
        assert_eq!(id, Field { offset: 8, size: 8 });
        assert!(tracefs.event_id("raw_syscalls", "sys_away").is_err());
        let mounts = || {
            let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
            mounts.matches(" tracefs ").count()
        };
        let before = mounts();
        assert!(Tracefs::open_at(&MOUNT_POINTS).is_ok());
        assert_eq!(mounts(), before);
    }
}
