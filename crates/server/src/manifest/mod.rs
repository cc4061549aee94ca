//! A server's manifest, `server.toml`.

mod input;
mod place;
mod read;

use std::collections::BTreeMap;
use std::path::Path;

pub use input::{Input, Pattern};
pub use place::{Place, Word};
use prony_manifest::{FileError, Source};

use crate::toolchain::Need;

/// The manifest's file name.
pub const MANIFEST_FILE: &str = "server.toml";

/// What kind of server it is, for the reader of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Only what the language brings.
    Stdlib,
    /// A framework or library as its users use it.
    Framework,
    /// Tuned beyond how it is commonly used.
    Tuned,
    /// Not for use: the others are measured against it.
    Reference,
}

impl Class {
    /// Every class.
    pub const ALL: [Class; 4] = [
        Class::Stdlib,
        Class::Framework,
        Class::Tuned,
        Class::Reference,
    ];

    /// Its name in manifests and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Stdlib => "stdlib",
            Class::Framework => "framework",
            Class::Tuned => "tuned",
            Class::Reference => "reference",
        }
    }
}

/// The protocol that a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wire {
    /// HTTP/1.1 with connections kept alive, unless the manifest says otherwise (`keep_alive = false`).
    Http11,
    /// HTTP/1.0, a connection for each request.
    Http10,
    /// gRPC over HTTP/2.
    Grpc,
}

impl Wire {
    /// Every wire.
    pub const ALL: [Wire; 3] = [Wire::Http11, Wire::Http10, Wire::Grpc];

    /// Its name in manifests and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Wire::Http11 => "http/1.1",
            Wire::Http10 => "http/1.0",
            Wire::Grpc => "grpc",
        }
    }
}

/// Where Prony reads the version of a server's framework.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionSource {
    /// It is the version of this toolchain, one of the manifest's needs.
    Toolchain(String),
    /// It is the version of this package in the folder's `Cargo.lock`.
    CargoLock(String),
    /// It is the version that the folder's `go.mod` requires of this module.
    GoMod(String),
    /// It is the version that the folder's `requirements.txt` pins this package to.
    Requirements(String),
    /// It is the value of this property in the folder's `pom.xml`.
    PomProperty(String),
    /// It is this text.
    Text(String),
}

/// A server's manifest, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its name for tables.
    pub title: String,
    /// Programming language.
    pub language: String,
    /// Framework or library.
    pub framework: String,
    /// What kind of server it is.
    pub class: Class,
    /// The protocol it speaks.
    pub wire: Wire,
    /// Whether it keeps connections open between requests, as HTTP/1.1 servers do unless their manifest says otherwise.
    pub keep_alive: bool,
    /// The workloads it serves.
    pub workloads: Vec<String>,
    /// The toolchains it needs.
    pub needs: Vec<Need>,
    /// Where its version is read, if anywhere.
    pub version: Option<VersionSource>,
    /// What its build reads outside its folder.
    pub inputs: Vec<Input>,
    /// The commands that build it, run in its folder one after the other.
    pub build: Vec<Vec<Word>>,
    /// The files whose size is reported.
    pub artefacts: Vec<Word>,
    /// The command that runs it, run in its folder.
    pub run: Vec<Word>,
    /// Variables that its build and its run get.
    pub env: BTreeMap<String, Word>,
    /// What the reader of a report should know.
    pub notes: Option<String>,
    /// Other ways to build and run it.
    pub variants: Vec<Variant>,
}

/// Another way to build and run the same server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Its name, which follows the server's id: `ID@NAME`.
    pub name: String,
    /// Variables that are added, or that replace those of the same name.
    pub env: BTreeMap<String, Word>,
    /// The command that runs it, if it is another one.
    pub run: Option<Vec<Word>>,
    /// The commands that build it, if they are other ones.
    pub build: Option<Vec<Vec<Word>>>,
}

impl Manifest {
    /// Reads the text of a manifest; `file` is for the errors only.
    ///
    /// # Errors
    /// The first fault, with file, line and field.
    pub fn parse(file: &Path, text: &str) -> Result<Manifest, FileError> {
        read::manifest(&Source::new(file, text))
    }

    /// The manifest of its variant of this name, which has no variants itself.
    pub fn variant(&self, name: &str) -> Option<Manifest> {
        let variant = self.variants.iter().find(|variant| variant.name == name)?;
        let mut manifest = self.clone();
        manifest.title = format!("{} ({name})", self.title);
        manifest.env.extend(variant.env.clone());
        manifest.run = variant.run.clone().unwrap_or(manifest.run);
        manifest.build = variant.build.clone().unwrap_or(manifest.build);
        manifest.variants.clear();
        Some(manifest)
    }
}
