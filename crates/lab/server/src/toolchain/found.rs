//! An installed toolchain, and the variables with which other programs find it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prony_kernel::{on_path, path_folders};

use super::need::Version;
use super::table::Toolchain;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub tool: Arc<Toolchain>,
    /// Its program, absolute.
    pub path: PathBuf,
    pub version: Version,
}

impl Found {
    /// The name of a missing file of the toolchain, if any.
    pub(super) fn lacks(&self) -> Option<&str> {
        let part = self.tool.part.as_ref()?;
        let real = self.real_path();
        let folder = real.parent()?;
        let places = part.folders.iter().map(|below| folder.join(below));
        let is_there = places
            .map(|place| place.join(&part.file))
            .any(|file| file.is_file());
        (!is_there).then_some(&*part.file)
    }

    /// The variable that names its folder for other programs. A program outside a `bin` folder is a version manager's
    /// stand-in, without a home above it.
    fn home(&self) -> Option<(OsString, OsString)> {
        let variable = self.tool.home_variable.as_ref()?;
        let real = self.real_path();
        let bin = real.parent().filter(|bin| bin.ends_with("bin"))?;
        Some((variable.into(), bin.parent()?.into()))
    }

    fn is_reached(&self) -> bool {
        let first = on_path(&self.tool.program).into_iter().next();
        first.is_some_and(|first| {
            first == self.path || first.canonicalize().ok() == Some(self.real_path())
        })
    }

    fn real_path(&self) -> PathBuf {
        let real = self.path.canonicalize();
        real.unwrap_or_else(|_| self.path.clone())
    }
}

/// The variables with which a program finds exactly these toolchains.
pub(crate) fn environment(found: &[Found]) -> Vec<(OsString, OsString)> {
    let homes = found.iter().filter_map(Found::home);
    [(OsString::from("PATH"), search_path(found))]
        .into_iter()
        .chain(homes)
        .collect()
}

/// `PATH` with the folders of `found` before it, if `PATH` alone would not lead to them.
fn search_path(found: &[Found]) -> OsString {
    let path = path_folders();
    let unreached = found.iter().filter(|found| !found.is_reached());
    let mut folders: Vec<PathBuf> = unreached
        .filter_map(|found| found.path.parent().map(Path::to_owned))
        .collect();
    // Folders of `PATH` have many other programs, which must not hide those of other folders.
    folders.sort_by_key(|folder| path.contains(folder));
    folders.extend(path);
    std::env::join_paths(folders).unwrap_or_else(|_| std::env::var_os("PATH").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn found(name: &str, path: impl Into<PathBuf>) -> Found {
        Found {
            tool: Toolchain::named(name).unwrap().clone(),
            path: path.into(),
            version: Version::parse("3.0").unwrap(),
        }
    }

    #[test]
    fn the_search_path_leads_to_what_was_found() {
        let path = std::env::var_os("PATH").unwrap();
        let first = on_path("python3").remove(0);
        assert_eq!(search_path(&[found("python", &first)]), path);
        // Whatever name it reports.
        let real = first.canonicalize().unwrap();
        assert_eq!(search_path(&[found("python", real)]), path);
        let folders = |found: Vec<Found>| {
            let path = search_path(&found);
            std::env::split_paths(&path).collect::<Vec<_>>()
        };
        let elsewhere = found("python", "/elsewhere/bin/python3");
        let path = folders(vec![elsewhere.clone()]);
        assert_eq!(path[0], Path::new("/elsewhere/bin"));
        assert_eq!(path[1..], path_folders());
        // A folder of PATH that is moved up does not hide programs elsewhere.
        let late = path_folders().pop().unwrap();
        let path = folders(vec![found("go", late.join("no-such-program")), elsewhere]);
        assert_eq!(path[..2], [PathBuf::from("/elsewhere/bin"), late]);
    }

    /// A folder with these empty files, and a link to the last one in `links`.
    fn folder_with(files: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for file in files {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "").unwrap();
        }
        let last = root.join(files.last().unwrap());
        fs::create_dir_all(root.join("links")).unwrap();
        symlink(&last, root.join("links").join(last.file_name().unwrap())).unwrap();
        (folder, root)
    }

    #[test]
    fn the_home_is_above_the_real_bin() {
        let (_folder, root) = folder_with(&["shims/java", "jdk/bin/java"]);
        let home = |name| {
            let variables = environment(&[found("java", root.join(name))]);
            let home = variables.into_iter().find(|(name, _)| name == "JAVA_HOME");
            home.map(|(_, home)| PathBuf::from(home))
        };
        assert_eq!(home("jdk/bin/java"), Some(root.join("jdk")));
        assert_eq!(home("links/java"), Some(root.join("jdk")));
        assert_eq!(home("shims/java"), None);
        let python = environment(&[found("python", "/elsewhere/bin/python3")]);
        assert_eq!(python.len(), 1);
    }

    #[test]
    fn a_part_is_looked_for_beside_the_real_program() {
        // A javac beside a link does not belong to the runtime that the link leads to.
        let (_folder, root) = folder_with(&["links/javac", "nginx/sbin/nginx", "jre/bin/java"]);
        let modules = root.join("nginx/lib64/nginx/modules");
        fs::create_dir_all(&modules).unwrap();
        let lacks = |tool, name| found(tool, root.join(name)).lacks().map(str::to_owned);
        assert_eq!(lacks("java", "links/java").as_deref(), Some("javac"));
        assert_eq!(lacks("nginx", "nginx/sbin/nginx"), None);
        let module = "ngx_http_js_module.so";
        assert_eq!(lacks("njs", "nginx/sbin/nginx").as_deref(), Some(module));

        fs::write(modules.join(module), "").unwrap();
        fs::write(root.join("jre/bin/javac"), "").unwrap();
        assert_eq!(lacks("java", "links/java"), None);
        assert_eq!(lacks("njs", "nginx/sbin/nginx"), None);
    }
}
