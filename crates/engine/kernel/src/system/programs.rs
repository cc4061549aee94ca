//! Programs on `PATH`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The folders of `PATH`.
pub fn path_folders() -> Vec<PathBuf> {
    std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default()
}

/// Every program with this name on `PATH`, in its order.
pub fn on_path(program: &str) -> Vec<PathBuf> {
    path_folders()
        .into_iter()
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .filter(|path| is_program(path))
        .collect()
}

/// Whether it is a file that may be executed.
pub fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
