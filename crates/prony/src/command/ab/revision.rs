//! A revision of a subject: the same folder, at one commit or as it is now.

use std::error::Error;
use std::fs;
use std::path::Path;

use prony_subject::{Layout, MANIFEST_FILE, Manifest, Subject, SubjectError, Template};

use super::checkout::{Checkout, Shelf};
use super::git::{Commit, Repository};

/// The revision that is no commit: the working tree as it is, with all that is not committed.
const WORKING_TREE: &str = ".";

/// Cargo's target folder where revisions are built. In the one that all subjects share, each revision would write its
/// program over the other's.
const OWN_TARGET: &str = "{out}/cargo-target";

/// A subject at a revision.
pub struct Revision<'a> {
    pub subject: Subject,
    /// Its files lie here as long as it is needed; `None` for the working tree.
    _checkout: Option<Checkout<'a>>,
}

/// What a revision on the command line stands for.
enum Named {
    Commit(Commit),
    WorkingTree,
}

impl Named {
    fn of(repository: &Repository, revision: &str) -> Result<Self, String> {
        match revision {
            WORKING_TREE => Ok(Named::WorkingTree),
            revision => repository.commit(revision).map(Named::Commit),
        }
    }

    /// As a part of a subject's id.
    fn label(&self) -> &str {
        match self {
            Named::Commit(commit) => &commit.short,
            Named::WorkingTree => "working-tree",
        }
    }
}

/// Which revision of a subject, and what it is called.
pub struct Wanted<'a> {
    subject: &'a Subject,
    named: Named,
    /// Its label, and where that is the other revision's as well, more.
    label: String,
}

impl<'s> Wanted<'s> {
    /// Two revisions; they may be the same, to see how noisy the machine is.
    pub fn two(
        repository: &Repository,
        subject: &'s Subject,
        [base, new]: [&str; 2],
    ) -> Result<[Self; 2], String> {
        let wanted = |revision| -> Result<Self, String> {
            let named = Named::of(repository, revision)?;
            let label = named.label().to_owned();
            Ok(Self {
                subject,
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

    /// The subject at this revision, its files in place.
    pub fn fetch<'a>(
        &self,
        repository: &'a Repository,
        shelf: &Shelf,
        layout: &Layout,
    ) -> Result<Revision<'a>, Box<dyn Error>> {
        let checkout = match &self.named {
            Named::WorkingTree => None,
            Named::Commit(commit) => {
                let name = commit.hash.clone() + self.label.trim_start_matches(&commit.short);
                Some(shelf.check_out(repository, commit, &name)?)
            }
        };
        let mut subject = match &checkout {
            None => self.subject.clone(),
            Some(checkout) => self.open_in(checkout, repository)?,
        };
        subject.id = format!("{}@{}", self.subject.id, self.label);
        build_apart(&mut subject.manifest)?;
        if checkout.is_none() {
            build_anew(&subject, layout);
        }
        Ok(Revision {
            subject,
            _checkout: checkout,
        })
    }

    fn open_in(
        &self,
        checkout: &Checkout<'_>,
        repository: &Repository,
    ) -> Result<Subject, Box<dyn Error>> {
        let folder = checkout.folder().join(&repository.inside);
        if !folder.join(MANIFEST_FILE).is_file() {
            return Err(format!(
                "the revision {} has no subject `{}`: there is no {} in it",
                self.label,
                self.subject.id,
                repository.inside.join(MANIFEST_FILE).display()
            )
            .into());
        }
        if checkout.folder().join(".gitmodules").is_file() {
            errln!(
                "note: {} has submodules, which are not checked out",
                self.label
            );
        }
        let of_revision = |error: SubjectError| format!("revision {}: {error}", self.label);
        let subject = Subject::open(&folder).map_err(of_revision)?;
        match self.subject.id.split_once('@') {
            Some((_, variant)) => Ok(subject.variant(variant).map_err(of_revision)?),
            None => Ok(subject),
        }
    }
}

/// Gives a build a target folder of its own wherever it names the shared one.
fn build_apart(manifest: &mut Manifest) -> Result<(), Box<dyn Error>> {
    let own =
        |word: &Template| Template::for_start(&word.as_str().replace("{cargo_target}", OWN_TARGET));
    let commands = manifest.build.iter_mut().flatten();
    let words = commands
        .chain(&mut manifest.artefacts)
        .chain(&mut manifest.run)
        .chain(manifest.inputs.iter_mut().map(|input| &mut input.path))
        .chain(manifest.env.values_mut());
    for word in words {
        *word = own(word)?;
    }
    let target = manifest.env.entry("CARGO_TARGET_DIR".into());
    target.or_insert(Template::new(OWN_TARGET)?);
    Ok(())
}

/// The working tree is built in any case: what the build reads outside of the subject's folder, a library beside it,
/// may have changed, and the stamp of an earlier build does not tell.
fn build_anew(subject: &Subject, layout: &Layout) {
    let name = format!("{}-{}", subject.id, subject.short_hash());
    // Where there was none there is nothing to take away.
    let _ = fs::remove_file(layout.builds().join(name).join("stamp.json"));
}

/// Whether a subject is given by its folder, not by its id.
pub fn is_folder(text: &str) -> bool {
    text.contains('/') || Path::new(text).join(MANIFEST_FILE).is_file()
}
