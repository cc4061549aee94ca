use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, SystemTime};

use tempfile::{TempDir, tempdir};

use crate::shipped::unpack::{FOLDERS, unpack};
use crate::shipped::{NAME, UnpackError, archive};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The contents of all files below `folder`, by path, without what builds leave behind.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    const LEFT_BEHIND: [&str; 4] = ["target", "node_modules", "__pycache__", "zig-out"];
    let mut found = BTreeMap::new();
    let mut pending = FOLDERS.map(|name| folder.join(name)).to_vec();
    while let Some(path) = pending.pop() {
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_file() && !name.starts_with('.') {
            let relative = path.strip_prefix(folder).unwrap().to_owned();
            found.insert(relative, fs::read(&path).unwrap());
        } else if path.is_dir() && !name.starts_with('.') && !LEFT_BEHIND.contains(&name) {
            let entries = fs::read_dir(&path).unwrap();
            pending.extend(entries.map(|entry| entry.unwrap().path()));
        }
    }
    found
}

/// A folder with an executable and a plain file in `servers/`, and what Git ignores.
fn sources() -> TempDir {
    let root = tempdir().unwrap();
    for folder in FOLDERS {
        fs::create_dir(root.path().join(folder)).unwrap();
    }
    let write = |path: &str, mode: u32| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, path.to_str().unwrap().len().to_string()).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    fs::write(root.path().join(".gitignore"), "servers/*/target/\n*.pyc\n").unwrap();
    write("servers/a/run", 0o700);
    write("servers/a/server.toml", 0o664);
    write("servers/a/target/artefact", 0o755);
    write("servers/a/x.pyc", 0o644);
    write("suites/.hidden", 0o644);
    write("elsewhere/file", 0o644);
    root
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Sets when a file or folder was last changed.
fn set_age(path: &Path, age: Duration) {
    let times = FileTimes::new().set_modified(SystemTime::now() - age);
    File::open(path).unwrap().set_times(times).unwrap();
}

fn packed(root: &Path) -> Vec<u8> {
    archive::pack(root, &archive::files(root).unwrap()).unwrap()
}

/// The names of the entries of a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

#[test]
fn every_file_of_the_repository_is_unpacked_to_the_byte() {
    let parent = tempdir().unwrap();
    let unpacked = crate::shipped::unpack(&parent.path().join("new/folder")).unwrap();
    let folder = unpacked.path();
    assert_eq!(folder, parent.path().join("new/folder").join(NAME));
    let expected = contents(&repository());
    assert!(expected.contains_key(Path::new("servers/go-nethttp/server.toml")));
    // Whole contents would be a long message.
    let unpacked = contents(folder);
    assert!(unpacked.keys().eq(expected.keys()), "{:?}", unpacked.keys());
    for (path, contents) in expected {
        assert!(unpacked[&path] == contents, "{} differs", path.display());
    }
    let mut folders = FOLDERS.map(str::to_owned);
    folders.sort();
    assert_eq!(names(folder), folders);
}

#[test]
fn the_folders_are_those_that_are_packed() {
    assert_eq!(FOLDERS, archive::FOLDERS);
}

#[test]
fn only_sources_are_packed_and_executables_stay_executable() {
    let root = sources();
    let parent = tempdir().unwrap();
    let unpacked = unpack(&packed(root.path()), "x", parent.path()).unwrap();
    let folder = unpacked.path();
    assert_eq!(names(folder), ["servers"]);
    assert_eq!(names(&folder.join("servers/a")), ["run", "server.toml"]);
    // Other users can read the folder.
    for (path, mask, expected) in [
        ("servers/a/run", 0o777, 0o755),
        ("servers/a/server.toml", 0o777, 0o644),
        ("", 0o555, 0o555),
    ] {
        let permissions = fs::metadata(folder.join(path)).unwrap().permissions();
        assert_eq!(permissions.mode() & mask, expected, "{path}");
    }
}

#[test]
fn the_same_files_give_the_same_archive() {
    let root = sources();
    let before = packed(root.path());
    let program = root.path().join("servers/a/run");
    set_age(&program, 365 * DAY);
    fs::set_permissions(&program, Permissions::from_mode(0o777)).unwrap();
    assert!(packed(root.path()) == before);
    fs::write(&program, "2").unwrap();
    assert!(packed(root.path()) != before);
}

#[test]
fn a_missing_folder_fails_the_build() {
    let root = sources();
    fs::remove_dir(root.path().join("drivers")).unwrap();
    let error = archive::files(root.path()).unwrap_err().to_string();
    assert!(error.contains("drivers"), "{error}");
}

#[test]
fn an_unpacked_folder_is_used_as_it_is() {
    let parent = tempdir().unwrap();
    let unpacked = crate::shipped::unpack(parent.path()).unwrap();
    let folder = unpacked.path();
    fs::write(folder.join("suites/mine.toml"), "").unwrap();
    assert_eq!(
        crate::shipped::unpack(parent.path()).unwrap().path(),
        folder
    );
    assert!(folder.join("suites/mine.toml").exists());
}

#[test]
fn a_half_unpacked_folder_is_never_used_and_is_removed_after_an_hour() {
    let parent = tempdir().unwrap();
    let half = |name: &str, age: Duration| {
        let folder = parent.path().join(name);
        fs::create_dir_all(folder.join("servers/half")).unwrap();
        set_age(&folder, age);
    };
    half(".unpacking-new", DAY / 100);
    half(".unpacking-old", DAY / 12);
    half("somebody's", DAY / 12);
    let unpacked = crate::shipped::unpack(parent.path()).unwrap();
    assert!(!unpacked.path().join("servers/half").exists());
    assert_eq!(names(parent.path()), [".unpacking-new", NAME, "somebody's"]);
}

/// A folder with the files of another version, unused for this many days.
fn other_version(folder: PathBuf, unused_days: u32) -> PathBuf {
    for name in FOLDERS {
        fs::create_dir_all(folder.join(name).join("a")).unwrap();
    }
    set_age(&folder, unused_days * DAY);
    folder
}

#[test]
fn files_of_other_versions_are_removed_after_30_unused_days() {
    let parent = tempdir().unwrap();
    let other = |name: &str, days| other_version(parent.path().join(name), days);
    let old = [
        other("0.0.1-0123456789ab", 31),
        other("0.0.2-beta.1-0123456789ab", 400),
    ];
    other("0.0.3-0123456789ab", 29);
    other("notes-0123456789ab", 31);
    other("0.0.4-mine", 31);
    fs::write(parent.path().join("0.0.5-0123456789ab"), "a file").unwrap();
    for removed in 1..=3 {
        crate::shipped::unpack(parent.path()).unwrap();
        let left = old.iter().filter(|folder| folder.exists()).count();
        // One is removed with each call.
        assert_eq!(left, old.len().saturating_sub(removed));
    }
    let [new, mine, file] = ["0.0.3-0123456789ab", "0.0.4-mine", "0.0.5-0123456789ab"];
    let left = [new, mine, file, NAME, "notes-0123456789ab"];
    assert_eq!(names(parent.path()), left);
}

#[test]
fn files_of_another_version_stay_while_a_process_uses_them() {
    let parent = tempdir().unwrap();
    let name = "0.0.1-0123456789ab";
    let folder = other_version(parent.path().join(name), 31);
    // Using them marks them as used; here that was long ago.
    let in_use = unpack(crate::shipped::ARCHIVE, name, parent.path()).unwrap();
    crate::shipped::unpack(parent.path()).unwrap();
    assert!(folder.exists(), "used today");
    other_version(folder.clone(), 31);
    crate::shipped::unpack(parent.path()).unwrap();
    assert!(folder.exists(), "in use");
    drop(in_use);
    crate::shipped::unpack(parent.path()).unwrap();
    assert_eq!(names(parent.path()), [NAME]);
}

#[test]
fn many_at_once_get_the_same_whole_folder() {
    const THREADS: usize = 8;
    let parent = tempdir().unwrap();
    let begin = Barrier::new(THREADS);
    let expected = contents(&repository()).len();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                begin.wait();
                let unpacked = crate::shipped::unpack(parent.path()).unwrap();
                assert_eq!(contents(unpacked.path()).len(), expected);
            });
        }
    });
    assert_eq!(names(parent.path()), [NAME]);
}

#[test]
fn errors_name_the_path_and_leave_nothing() {
    let parent = tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    let error = crate::shipped::unpack(&file.join("shipped")).unwrap_err();
    assert!(matches!(&error, UnpackError::Folder { path, .. } if *path == file.join("shipped")));
    let text = error.to_string();
    assert!(text.contains(file.to_str().unwrap()), "{text}");

    let error = unpack(crate::shipped::ARCHIVE, "file", parent.path()).unwrap_err();
    assert!(matches!(&error, UnpackError::Rename { path, .. } if *path == file));

    let error = unpack(&crate::shipped::ARCHIVE[..1000], "part", parent.path()).unwrap_err();
    assert!(matches!(error, UnpackError::Write { .. }));
    assert_eq!(names(parent.path()), ["file"]);
}
