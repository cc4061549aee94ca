//! A lock that another thread or program may hold for minutes.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Takes the lock on `file`, which is made where it is not there, and holds it until what is given
/// back is dropped; `None` where `interrupt` is set before it is free.
pub fn lock_unless(interrupt: &AtomicBool, file: &Path) -> io::Result<Option<File>> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let lock = File::create(file)?;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(Some(lock)),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(50)),
        }
        if interrupt.load(Ordering::Relaxed) {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_waited_for_unless_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("below/lock");
        let [go_on, interrupted] = [false, true].map(AtomicBool::new);
        let held = lock_unless(&interrupted, &file).unwrap();
        assert!(held.is_some());
        assert!(lock_unless(&interrupted, &file).unwrap().is_none());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| lock_unless(&go_on, &file).unwrap().is_some());
            std::thread::sleep(Duration::from_millis(100));
            assert!(!waits.is_finished());
            drop(held);
            assert!(waits.join().unwrap());
        });
    }
}
