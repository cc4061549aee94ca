//! Builds a server, unless the same build already exists.

mod inputs;
mod version;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Instant, UNIX_EPOCH};

use prony_manifest::FileError;
use serde::{Deserialize, Serialize};

use crate::Layout;
use crate::layout::lock_unless;
use crate::logs::{new_log, tail_or_note};
use crate::manifest::{Placeholder, Word};
use crate::server::{Server, Started};
use crate::sources::hash_file;
use crate::supervisor::{CommandError, SupervisorProgram, Task};
use crate::toolchain::{Found, environment};

/// How many last lines of a failed build are shown.
const TAIL_LINES: usize = 20;

#[derive(Clone, Debug, PartialEq)]
pub struct Built {
    /// The command that runs it, with the placeholders filled in that are known before it starts.
    pub run: Vec<Word>,
    /// Variables with which it finds its toolchains.
    pub toolchain_env: Vec<(OsString, OsString)>,
    /// Its manifest's variables, filled in likewise.
    pub env: BTreeMap<String, Word>,
    pub folder: PathBuf,
    /// Size of its artefacts in bytes, if its manifest names any.
    pub artefact_bytes: Option<u64>,
    /// The version of its framework or toolchain, if it could be read.
    pub version: Option<String>,
    /// How long the build took, in seconds; `None` if an earlier one was used or there is nothing to build.
    pub build_s: Option<f64>,
    pub log: PathBuf,
}

impl Built {
    /// A server without a build, whose command runs in `folder`.
    pub fn ready_made(run: Vec<Word>, folder: &Path) -> Self {
        Self {
            run,
            toolchain_env: Vec::new(),
            env: BTreeMap::new(),
            folder: folder.to_owned(),
            artefact_bytes: None,
            version: None,
            build_s: None,
            log: folder.join("build.log"),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error(transparent)]
    Command(CommandError),
    #[error(
        "the build did not create {artefact}, which the manifest lists under `artefacts`; last lines of its output:\n{tail}"
    )]
    NoArtefact { artefact: PathBuf, tail: String },
    #[error("{input} does not exist, but the manifest lists it under `inputs`")]
    NoInput { input: PathBuf },
    #[error("cannot use {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    /// Sources or inputs cannot be read.
    #[error(transparent)]
    Read(FileError),
    #[error("interrupted")]
    Interrupted,
}

impl From<CommandError> for BuildError {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Interrupted => Self::Interrupted,
            error => Self::Command(error),
        }
    }
}

/// Whether an earlier build may be used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Freshness {
    /// If nothing that it was built from has changed. Incremental tools such as Cargo and Go run each time.
    #[default]
    IfUnchanged,
    /// Never: the folder of the last build is removed, and the commands run.
    Rebuild,
}

/// Builds a server with the toolchains `found`, unless an earlier build may be used again.
pub fn build(
    server: &Server,
    started: &Started,
    layout: &Layout,
    found: &[Found],
    supervisor: &SupervisorProgram,
    freshness: Freshness,
    interrupt: &AtomicBool,
) -> Result<Built, BuildError> {
    let build = Build::new(server, started, layout, found, supervisor, interrupt)?;
    let build_s = build.bring_up_to_date(freshness)?;
    Ok(Built {
        artefact_bytes: build.artefact_bytes()?,
        version: version::read(server, started, found),
        folder: server.folder.clone(),
        run: build.run,
        toolchain_env: build.toolchain_env,
        env: build.env,
        log: build.log,
        build_s,
    })
}

/// What a build was built from and what it created. The same stamp means the same build.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    source_hash: String,
    /// The SHA-256 of each file outside the folder that the build reads.
    inputs: BTreeMap<PathBuf, String>,
    toolchains: BTreeMap<String, (PathBuf, String)>,
    commands: Vec<Vec<String>>,
    env: BTreeMap<String, String>,
    /// Another build with the same id may have overwritten them in a shared target folder.
    artefacts: Vec<ArtefactStamp>,
    /// The SHA-256 of each artefact of an incremental build, to see whether it changed.
    artefact_hashes: Vec<String>,
    /// The names of what is in the folder after the build: some builds write there, such as `npm ci`.
    folder: BTreeSet<OsString>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ArtefactStamp {
    path: PathBuf,
    bytes: u64,
    modified_ns: u128,
}

impl Stamp {
    /// Whether the build is still as it was; what came into its folder later does not matter.
    fn is_still(&self, mut current: Stamp) -> bool {
        current.folder.retain(|name| self.folder.contains(name));
        *self == current
    }

    /// Whether a later run of an incremental build created the same artefacts. Their times do not matter: Go updates
    /// them each time.
    fn has_the_artefacts_of(&self, later: &Stamp) -> bool {
        !self.artefact_hashes.is_empty() && self.artefact_hashes == later.artefact_hashes
    }
}

struct Build<'a> {
    server: &'a Server,
    started: &'a Started,
    found: &'a [Found],
    supervisor: &'a SupervisorProgram,
    interrupt: &'a AtomicBool,
    out: PathBuf,
    packages: PathBuf,
    toolchain_env: Vec<(OsString, OsString)>,
    env: BTreeMap<String, Word>,
    run: Vec<Word>,
    inputs: BTreeMap<PathBuf, String>,
    artefacts: Vec<PathBuf>,
    commands: Vec<Vec<String>>,
    log: PathBuf,
    stamp: PathBuf,
}

impl<'a> Build<'a> {
    fn new(
        server: &'a Server,
        started: &'a Started,
        layout: &Layout,
        found: &'a [Found],
        supervisor: &'a SupervisorProgram,
        interrupt: &'a AtomicBool,
    ) -> Result<Build<'a>, BuildError> {
        let absolute =
            |path: &Path| std::path::absolute(path).map_err(|source| io_error(path, source));
        let name = format!("{}-{}", server.id, started.short_hash());
        let out = absolute(&layout.builds().join(name))?;
        let packages = absolute(&layout.packages())?;
        let cargo_target = absolute(&layout.cargo_target_of(&server.id, &server.folder))?;
        let workloads = absolute(&layout.workloads_for(&server.folder))?;
        let prony = absolute(supervisor.path())?;
        let value = |placeholder| {
            let path = match placeholder {
                Placeholder::Out => &out,
                Placeholder::CargoTarget => &cargo_target,
                Placeholder::Packages => &packages,
                Placeholder::Workloads => &workloads,
                Placeholder::Prony => &prony,
                _ => return None,
            };
            Some(path.to_string_lossy().into_owned())
        };
        let fill = |word: &Word| word.fill_known(value);
        // Without placeholders that are known later.
        let text = |word: &Word| fill(word).to_string();
        let mut toolchain_env = environment(found);
        toolchain_env.push(("CARGO_TARGET_DIR".into(), cargo_target.clone().into()));
        let recipe = &started.recipe;
        let env = recipe.env.iter();
        let artefacts = recipe.artefacts.iter();
        let commands = recipe.build.iter();
        let inputs = recipe.inputs.iter().map(|input| {
            let path = server.folder.join(text(&input.path));
            (path, input.pattern.as_ref())
        });
        Ok(Build {
            toolchain_env,
            env: env
                .map(|(name, value)| (name.clone(), fill(value)))
                .collect(),
            run: recipe.run.iter().map(fill).collect(),
            inputs: inputs::inputs(&server.folder, inputs.collect()).map_err(input_error)?,
            artefacts: artefacts
                .map(|artefact| server.folder.join(text(artefact)))
                .collect(),
            commands: commands
                .map(|words| words.iter().map(text).collect())
                .collect(),
            log: out.join("build.log"),
            stamp: out.join("stamp.json"),
            server,
            started,
            found,
            supervisor,
            interrupt,
            out,
            packages,
        })
    }

    fn env_of_build(&self) -> Vec<(OsString, OsString)> {
        let own = self.env.iter().filter_map(|(name, value)| {
            let value = value.fill(|_| None)?;
            Some((name.into(), value.into()))
        });
        self.toolchain_env.iter().cloned().chain(own).collect()
    }

    /// Runs the build if necessary. Returns how long that took, if it created anything.
    fn bring_up_to_date(&self, freshness: Freshness) -> Result<Option<f64>, BuildError> {
        let earlier = self.earlier_stamp();
        let is_incremental = inputs::is_incremental(&self.commands);
        let is_current = || {
            let (earlier, current) = (earlier.as_ref(), self.current_stamp());
            earlier.is_some_and(|earlier| current.is_ok_and(|current| earlier.is_still(current)))
        };
        match freshness {
            Freshness::Rebuild => unless_missing(fs::remove_dir_all(&self.out), &self.out)?,
            Freshness::IfUnchanged if !is_incremental && is_current() => return Ok(None),
            Freshness::IfUnchanged => {}
        }
        let (took_s, stamp) = self.run_all()?;
        let nothing_is_new =
            |earlier: Stamp| is_incremental && earlier.has_the_artefacts_of(&stamp);
        let was_current =
            freshness == Freshness::IfUnchanged && earlier.is_some_and(nothing_is_new);
        Ok((!self.commands.is_empty() && !was_current).then_some(took_s))
    }

    fn earlier_stamp(&self) -> Option<Stamp> {
        let bytes = fs::read(&self.stamp).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    fn run_all(&self) -> Result<(f64, Stamp), BuildError> {
        // No stamp may outlive its build.
        unless_missing(fs::remove_file(&self.stamp), &self.stamp)?;
        new_log(&self.log).map_err(|source| io_error(&self.log, source))?;
        let _alone = self.alone_with_folder()?;
        let _alone_too = self.alone_with_packages()?;
        let start = Instant::now();
        for command in &self.commands {
            self.run(command)?;
        }
        let build_s = start.elapsed().as_secs_f64();
        let stamp = self.current_stamp()?;
        serde_json::to_vec(&stamp)
            .map_err(io::Error::other)
            .and_then(|bytes| fs::write(&self.stamp, bytes))
            .map_err(|source| io_error(&self.stamp, source))?;
        Ok((build_s, stamp))
    }

    /// While this build runs, builds of other variants wait: they may write into the same folder.
    fn alone_with_folder(&self) -> Result<File, BuildError> {
        let name = self.server.folder.file_name().unwrap_or_default();
        let mut file = name.to_owned();
        file.push(format!("-{}.lock", self.started.short_hash()));
        self.lock(&self.out.with_file_name(file))
    }

    /// Creates the packages folder. Builds that use it wait for each other: not every package manager tolerates another
    /// one in its cache.
    fn alone_with_packages(&self) -> Result<Option<File>, BuildError> {
        let folder = &self.packages;
        fs::create_dir_all(folder).map_err(|source| io_error(folder, source))?;
        let recipe = &self.started.recipe;
        let mut words = recipe.build.iter().flatten().chain(recipe.env.values());
        if !words.any(|word| word.placeholders().any(|it| it == Placeholder::Packages)) {
            return Ok(None);
        }
        self.lock(&folder.with_extension("lock")).map(Some)
    }

    fn lock(&self, file: &Path) -> Result<File, BuildError> {
        let lock = lock_unless(self.interrupt, file).map_err(|source| io_error(file, source))?;
        lock.ok_or(BuildError::Interrupted)
    }

    fn run(&self, command: &[String]) -> Result<(), BuildError> {
        let task = Task {
            command: command.to_vec(),
            folder: self.server.folder.clone(),
            env: self.env_of_build(),
            log: self.log.clone(),
            ..Task::default()
        };
        Ok(self.supervisor.run(&task, TAIL_LINES, self.interrupt)?)
    }

    fn current_stamp(&self) -> Result<Stamp, BuildError> {
        let toolchains = self.found.iter();
        let env = self.env.iter();
        Ok(Stamp {
            source_hash: self.started.source_hash.clone(),
            inputs: self.inputs.clone(),
            toolchains: toolchains
                .map(|found| {
                    let version = found.version.to_string();
                    (found.tool.name.clone(), (found.path.clone(), version))
                })
                .collect(),
            commands: self.commands.clone(),
            env: env
                .map(|(name, value)| (name.clone(), value.to_string()))
                .collect(),
            artefacts: self
                .artefacts
                .iter()
                .map(|path| {
                    let file = self.artefact(path)?;
                    let modified = file.modified().ok();
                    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                    Ok(ArtefactStamp {
                        path: path.clone(),
                        bytes: file.len(),
                        modified_ns: modified.map_or(0, |time| time.as_nanos()),
                    })
                })
                .collect::<Result<_, BuildError>>()?,
            artefact_hashes: self.artefact_hashes()?,
            folder: self.entries_of_folder()?,
        })
    }

    fn entries_of_folder(&self) -> Result<BTreeSet<OsString>, BuildError> {
        let folder = &self.server.folder;
        let entries = fs::read_dir(folder).map_err(|source| io_error(folder, source))?;
        let names = entries.map(|entry| Ok(entry?.file_name()));
        names
            .collect::<io::Result<_>>()
            .map_err(|source| io_error(folder, source))
    }

    fn artefact_hashes(&self) -> Result<Vec<String>, BuildError> {
        if !inputs::is_incremental(&self.commands) {
            return Ok(Vec::new());
        }
        let hashes = self.artefacts.iter().map(|path| hash_file(path));
        hashes.collect::<Result<_, _>>().map_err(BuildError::Read)
    }

    fn artefact(&self, path: &Path) -> Result<fs::Metadata, BuildError> {
        path.metadata().map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => BuildError::NoArtefact {
                artefact: path.to_owned(),
                tail: tail_or_note(&self.log, TAIL_LINES),
            },
            _ => io_error(path, source),
        })
    }

    fn artefact_bytes(&self) -> Result<Option<u64>, BuildError> {
        let sizes = self.artefacts.iter().map(|path| {
            let file = self.artefact(path)?;
            Ok(file.len())
        });
        let bytes: u64 = sizes.sum::<Result<u64, BuildError>>()?;
        Ok((!self.artefacts.is_empty()).then_some(bytes))
    }
}

/// The result of removing a file or folder, which need not have existed.
fn unless_missing(removed: io::Result<()>, path: &Path) -> Result<(), BuildError> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(path, error)),
        _ => Ok(()),
    }
}

fn io_error(path: &Path, source: io::Error) -> BuildError {
    BuildError::Io {
        path: path.to_owned(),
        source,
    }
}

fn input_error(error: FileError) -> BuildError {
    match error {
        FileError::Read { path, source } if source.kind() == io::ErrorKind::NotFound => {
            BuildError::NoInput { input: path }
        }
        error => BuildError::Read(error),
    }
}
