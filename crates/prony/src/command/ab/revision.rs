//! A revision of a server: the same folder, at one commit or as it is now.

use std::error::Error;
use std::fs;
use std::path::Path;

use prony_server::{
    Described, Layout, MANIFEST_FILE, Origin, PROJECT_FILE, Placeholder, Recipe, Server,
    ServerError, Started, Word,
};

use crate::project::Project;

use super::git::{Checkout, Checkouts, Commit, Repository};

/// The name of the working tree as it is, uncommitted changes included.
const WORKING_TREE: &str = ".";

/// Cargo's target folder for a revision. In the folder that all servers share, each revision would overwrite the
/// program of the other.
const OWN_TARGET: &str = "{out}/cargo-target";

/// A server at a revision.
pub(super) struct Revision<'a> {
    pub(crate) server: Server,
    /// Keeps its files; `None` for the working tree.
    _checkout: Option<Checkout<'a>>,
}

impl Revision<'_> {
    /// The hash of its sources.
    pub(super) fn source_hash(&self) -> Option<&str> {
        let started = self.server.started();
        started.map(|started| started.source_hash.as_str())
    }
}

/// What Prony builds of a server. It refuses one that already runs: two revisions of it would be the same process.
pub(super) fn started(server: &Server) -> Result<&Started, String> {
    match &server.origin {
        Origin::Started(started) => Ok(started),
        Origin::Outside(outside) => Err(format!(
            "`{}` already runs at {}, so Prony cannot build two revisions of it; give it `run` instead of `url`, or run both \
             revisions yourself, each with a `url` of its own, and compare them with `prony run`",
            server.id, outside.url
        )),
    }
}

/// What a revision on the command line names.
enum RevisionName {
    Commit(Commit),
    WorkingTree,
}

impl RevisionName {
    fn of(repository: &Repository, revision: &str) -> Result<Self, String> {
        match revision {
            WORKING_TREE => Ok(RevisionName::WorkingTree),
            revision => repository.commit(revision).map(RevisionName::Commit),
        }
    }

    /// As a part of a server's id.
    fn label(&self) -> &str {
        match self {
            RevisionName::Commit(commit) => &commit.short,
            RevisionName::WorkingTree => "working-tree",
        }
    }
}

/// A revision of a server, before its files are in place.
pub(super) struct WantedRevision<'a> {
    server: &'a Server,
    /// What Prony builds of it.
    started: &'a Started,
    named: RevisionName,
    /// What distinguishes it from the other revision.
    label: String,
}

impl<'s> WantedRevision<'s> {
    /// Two revisions. They may be the same, to see how noisy the machine is.
    pub(super) fn two(
        repository: &Repository,
        (server, started): (&'s Server, &'s Started),
        [base, new]: [&str; 2],
    ) -> Result<[Self; 2], String> {
        let wanted = |revision| -> Result<Self, String> {
            let named = RevisionName::of(repository, revision)?;
            let label = named.label().to_owned();
            Ok(Self {
                server,
                started,
                named,
                label,
            })
        };
        let (base, mut new) = (wanted(base)?, wanted(new)?);
        if base.label == new.label {
            new.label += "-again";
        }
        Ok([base, new])
    }

    /// The server at this revision, with its files in place.
    pub(super) fn fetch<'a>(
        &self,
        repository: &'a Repository,
        checkouts: &Checkouts,
        project: &Project,
    ) -> Result<Revision<'a>, Box<dyn Error>> {
        let checkout = match &self.named {
            RevisionName::WorkingTree => None,
            RevisionName::Commit(commit) => {
                let name = commit.hash.clone() + self.label.trim_start_matches(&commit.short);
                Some(checkouts.check_out(repository, commit, &name)?)
            }
        };
        let mut server = match &checkout {
            None => self.server.clone(),
            Some(checkout) => self.open_in(checkout, repository, project)?,
        };
        server.id = format!("{}@{}", self.server.id, self.label);
        let of_revision = |error| format!("revision {}: {error}", self.label);
        started(&server).map_err(of_revision)?;
        if let Origin::Started(started) = &mut server.origin {
            build_apart(&mut started.recipe)?;
            if checkout.is_none() || started.recipe.artefacts.is_empty() {
                rebuild(&server.id, started, &project.layout);
            }
        }
        Ok(Revision {
            server,
            _checkout: checkout,
        })
    }

    fn open_in(
        &self,
        checkout: &Checkout<'_>,
        repository: &Repository,
        project: &Project,
    ) -> Result<Server, Box<dyn Error>> {
        let folder = checkout.folder().join(&repository.inside);
        if project.describes(self.server) {
            return self.open_as_described(&folder, project);
        }
        if !folder.join(MANIFEST_FILE).is_file() {
            return Err(format!(
                "the revision {} has no server `{}`: it has no {}",
                self.label,
                self.server.id,
                repository.inside.join(MANIFEST_FILE).display()
            )
            .into());
        }
        let of_revision = |error: ServerError| format!("revision {}: {error}", self.label);
        let server = Server::open(&folder).map_err(of_revision)?;
        match self.server.id.split_once('@') {
            Some((_, variant)) => Ok(server.variant(variant).map_err(of_revision)?),
            None => Ok(server),
        }
    }
}

impl WantedRevision<'_> {
    /// The server in `folder`, as the `prony.toml` of its revision describes it, or that of the working tree if the
    /// revision does not.
    fn open_as_described(
        &self,
        folder: &Path,
        project: &Project,
    ) -> Result<Server, Box<dyn Error>> {
        let id = &self.server.id;
        let below = self.server.folder.strip_prefix(project.layout.root());
        let depth = below.map_or(0, |below| below.components().count());
        let root = folder.ancestors().nth(depth).unwrap_or(folder);
        let of_revision = |error: &dyn Error| format!("revision {}: {error}", self.label);
        let described = project
            .file_in(root)
            .map_err(|error| of_revision(&*error))?;
        let mut servers = described.into_iter().flat_map(|file| file.servers);
        if let Some(mut server) = servers.find(|server| server.id == *id) {
            // Prony sends the requests of the working tree, which may no longer have a workload of that name.
            let served = &mut server.manifest.workloads;
            served.retain(|id| project.has_workload(id));
            return Ok(server);
        }
        errln!(
            "note: {PROJECT_FILE} of {} does not describe {id}; Prony builds and runs it as that of the working tree says",
            self.label
        );
        let manifest = self.server.manifest.clone();
        let recipe = self.started.recipe.clone();
        let server = Server::of_project(id, folder, manifest, Described::Started(recipe));
        Ok(server.map_err(|error| of_revision(&error))?)
    }
}

/// Gives a build a target folder of its own instead of the shared one.
fn build_apart(recipe: &mut Recipe) -> Result<(), Box<dyn Error>> {
    let own = |word: &Word| {
        Word::new(
            &word.to_string().replace("{cargo_target}", OWN_TARGET),
            &Placeholder::ALL,
        )
    };
    let commands = recipe.build.iter_mut().flatten();
    let words = commands
        .chain(&mut recipe.artefacts)
        .chain(&mut recipe.run)
        .chain(recipe.inputs.iter_mut().map(|input| &mut input.path))
        .chain(recipe.env.values_mut());
    for word in words {
        *word = own(word)?;
    }
    let target = recipe.env.entry("CARGO_TARGET_DIR".into());
    target.or_insert(Word::new(OWN_TARGET, &Placeholder::ALL)?);
    Ok(())
}

/// Makes sure that it is built: the stamp of an earlier build does not cover files outside of the server's folder, such as
/// a library beside it, or what the build wrote into an earlier checkout without being an artefact.
fn rebuild(id: &str, started: &Started, layout: &Layout) {
    let name = format!("{id}-{}", started.short_hash());
    // There may be none.
    let _ = fs::remove_file(layout.builds().join(name).join("stamp.json"));
}
