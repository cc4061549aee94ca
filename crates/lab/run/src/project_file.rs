//! `prony.toml`: a project's servers, workloads and suite in one file.

mod outline;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::Range;
use std::path::{Path, PathBuf};

use prony_manifest::{FileError, Source, UnknownName, fields};
use prony_model::objective::Objectives;
use prony_server::{
    Catalogue, Described, Layout, Manifest, PROJECT_FILE, SelectError, Server, ServerError,
    ServerTable, ServerUrl,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;
use toml::de::DeTable;

use crate::adaptive::Precision;
use crate::suite::{Budget, MeasureTable, Suite, SuiteTable, is_id};
use crate::workload::{Workload, Workloads};

/// The id of the suite of a project whose folder has a name that cannot be one.
const UNNAMED: &str = "project";

/// What a project measures, as its `prony.toml` says.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectFile {
    /// Where the file is.
    pub path: PathBuf,
    /// Its servers, in the order of the file.
    pub servers: Vec<Server>,
    /// Its workloads, in the order of the file.
    pub workloads: Vec<Workload>,
    /// What `prony run` measures by default.
    pub suite: Suite,
    /// What each of its servers must achieve under each of its loads.
    pub objectives: Option<Objectives>,
    /// The ids of the servers to compare them with.
    beside: Option<Spanned<Names>>,
    source: Source,
}

/// Why a project file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProjectFileError {
    /// It cannot be read, or something in it is wrong.
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}: server `{id}`: {error}", path.display())]
    Server {
        path: PathBuf,
        id: String,
        error: Box<ServerError>,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProject {
    title: Option<String>,
    rounds: Option<NonZeroU32>,
    precision: Option<Precision>,
    budget: Option<Spanned<Budget>>,
    objectives: Option<Objectives>,
    /// Servers that Prony ships, to compare with.
    beside: Option<Spanned<Names>>,
    /// Where loads are generated, which the commands that generate some read.
    #[serde(rename = "fleet")]
    _fleet: Option<IgnoredAny>,
    #[serde(default)]
    server: Tables<ServerTable>,
    #[serde(default)]
    workload: Tables<Workload>,
    #[serde(default)]
    measure: Vec<MeasureTable>,
}

/// A non-empty list of different names.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Names(#[serde(deserialize_with = "fields::names")] Vec<String>);

/// The tables `[kind.NAME]`, by name.
type Tables<T> = BTreeMap<String, Spanned<T>>;

/// The tables with their names, in the order of the file.
fn in_order<T>(tables: Tables<T>) -> Vec<(String, Spanned<T>)> {
    let mut tables: Vec<_> = tables.into_iter().collect();
    tables.sort_by_key(|(_, table)| table.span().start);
    tables
}

impl ProjectFile {
    /// Reads `prony.toml` in the root of `layout`; `None` if there is none, or if it has nothing but `[fleet]`. Its suite and
    /// servers may use the workloads in `known` as well as its own.
    ///
    /// # Errors
    /// If it cannot be read or is invalid, with file, line and field.
    pub fn read(layout: &Layout, known: &Workloads) -> Result<Option<Self>, ProjectFileError> {
        let path = layout.root().join(PROJECT_FILE);
        if path.is_file() {
            let source = Source::open(&path)?;
            if has_only_a_fleet(&source) {
                Ok(None)
            } else {
                Self::parse(&source, &path, known).map(Some)
            }
        } else {
            Ok(None)
        }
    }

    /// The file with this text, as if it were at `path`.
    ///
    /// # Errors
    /// If it is invalid, with file, line and field.
    pub fn of(path: &Path, text: &str, known: &Workloads) -> Result<Self, ProjectFileError> {
        Self::parse(&Source::new(path, text), path, known)
    }

    fn parse(source: &Source, path: &Path, known: &Workloads) -> Result<Self, ProjectFileError> {
        let raw = source.parse::<RawProject>();
        let raw = raw.map_err(|error| outline::fault(source).unwrap_or(error))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let workloads = workloads(source, folder, raw.workload)?;
        let all: Vec<String> = workloads.iter().map(|one| one.id.clone()).collect();
        let file = File {
            source,
            folder,
            own: &workloads,
            known,
        };
        let mut servers = Vec::new();
        for (id, table) in in_order(raw.server) {
            let span = table.span();
            let server = file.server(&id, span.clone(), table.into_inner());
            servers.push(server.map_err(|error| match error {
                ServerError::File(error @ FileError::Content { .. }) => error.into(),
                ServerError::BadName(_) => ProjectFileError::File(source.fault(
                    span,
                    format!("`{id}` is not a valid server name: use lower-case letters, digits and hyphens{}", instead("server", &id.to_lowercase().replace('_', "-"))),
                )),
                error => ProjectFileError::Server {
                    path: path.to_owned(),
                    id: id.clone(),
                    error: Box::new(error),
                },
            })?);
        }
        let beside = raw.beside;
        if servers.is_empty() {
            return Err(no_server(source, beside.as_ref()).into());
        }
        let ids = servers.iter().map(|server| &server.id);
        let also = beside.iter().flat_map(|names| &names.get_ref().0);
        let ids: Vec<String> = ids.chain(also).cloned().collect();
        let suite = SuiteTable {
            title: raw.title,
            rounds: raw.rounds,
            precision: raw.precision,
            budget: raw.budget,
            measures: raw.measure,
        };
        let served = served(&servers, &all);
        Ok(Self {
            suite: suite.suite(source, &suite_id(folder), ids, &served, &|id| {
                file.workload(id)
            })?,
            path: path.to_owned(),
            objectives: raw.objectives,
            servers,
            workloads,
            beside,
            source: source.clone(),
        })
    }

    /// Checks that each server to compare with is in `catalogue`.
    ///
    /// # Errors
    /// The first that is not, with file, line and nearest name.
    pub fn check_beside(&self, catalogue: &Catalogue) -> Result<(), FileError> {
        let Some(beside) = &self.beside else {
            return Ok(());
        };
        for id in &beside.get_ref().0 {
            if let Err(SelectError::Unknown(unknown)) = catalogue.get(id) {
                return Err(self.source.fault(beside.span(), unknown));
            }
        }
        Ok(())
    }
}

/// Whether a file has `[fleet]` and nothing else.
fn has_only_a_fleet(source: &Source) -> bool {
    DeTable::parse(source.text()).is_ok_and(|file| {
        let file = file.get_ref();
        file.len() == 1 && file.contains_key("fleet")
    })
}

fn no_server(source: &Source, beside: Option<&Spanned<Names>>) -> FileError {
    const ADD: &str = "add one, for instance `[server.web]` with `run = \"npm start\"`";
    match beside {
        None => source.fault(0..0, format!("it has no server; {ADD}")),
        Some(beside) => source.fault(
            beside.span(),
            format!("the file has no server that these could be compared with; {ADD}"),
        ),
    }
}

/// What is measured by default: the file's own workloads, or else all that its servers serve.
fn served(servers: &[Server], own: &[String]) -> Vec<String> {
    if !own.is_empty() {
        return own.to_vec();
    }
    let mut served: Vec<String> = Vec::new();
    for id in servers.iter().flat_map(|server| &server.manifest.workloads) {
        if !served.contains(id) {
            served.push(id.clone());
        }
    }
    served
}

fn workloads(
    source: &Source,
    folder: &Path,
    tables: Tables<Workload>,
) -> Result<Vec<Workload>, FileError> {
    let tables = in_order(tables).into_iter();
    tables
        .map(|(id, table)| {
            if is_id(&id) {
                Ok(table.into_inner().named(id, folder))
            } else {
                Err(source.fault(
                    table.span(),
                    format!("`{id}` is not a valid workload name: use letters, digits, hyphens and underscores{}", instead("workload", &id)),
                ))
            }
        })
        .collect()
}

/// The header with a valid name that is like this one.
fn instead(kind: &str, name: &str) -> String {
    let name = name.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_', "-");
    match name.trim_matches('-') {
        "" => String::new(),
        name => format!(", for instance [{kind}.{name}]"),
    }
}

/// What the servers of a file are read with.
struct File<'a> {
    source: &'a Source,
    folder: &'a Path,
    /// The workloads of the file.
    own: &'a [Workload],
    /// The others.
    known: &'a Workloads,
}

impl File<'_> {
    fn workload(&self, id: &str) -> Result<&Workload, UnknownName> {
        let own = self.own.iter().find(|one| one.id == id);
        own.map_or_else(|| self.known.get(id).ok(), Some)
            .ok_or_else(|| {
                let ids = self.own.iter().map(|one| one.id.as_str());
                UnknownName::new("workload", id, ids.chain(self.known.ids()))
            })
    }

    fn server(
        &self,
        id: &str,
        span: Range<usize>,
        table: ServerTable,
    ) -> Result<Server, ServerError> {
        let own = match table.folder() {
            Some(below) => self.folder.join(below),
            None => self.folder.to_owned(),
        };
        let named = table.workloads_span();
        let all: Vec<String> = self.own.iter().map(|one| one.id.clone()).collect();
        let described = table.describe(self.source, (id, span.clone()), self.folder, &all);
        let (mut manifest, described) = described?;
        for id in &manifest.workloads {
            let place = named.clone().unwrap_or_else(|| span.clone());
            let known = self.workload(id);
            known.map_err(|unknown| self.source.fault(place, unknown))?;
        }
        match described {
            Described::Started(_) => Server::of_project(id, &own, manifest, described),
            Described::Outside(ref outside) => {
                if named.is_none()
                    && manifest
                        .workloads
                        .iter()
                        .any(|id| self.fits(id, &outside.url))
                {
                    manifest.workloads.retain(|id| self.fits(id, &outside.url));
                }
                self.check_scheme(&manifest, &outside.url, named.unwrap_or(span))?;
                Server::of_project(id, self.folder, manifest, described)
            }
        }
    }

    /// Whether a workload is encrypted as a URL says.
    fn fits(&self, id: &str, url: &ServerUrl) -> bool {
        let workload = self.workload(id);
        workload.is_ok_and(|one| one.protocol().is_tls() == url.is_tls())
    }

    fn check_scheme(
        &self,
        manifest: &Manifest,
        url: &ServerUrl,
        span: Range<usize>,
    ) -> Result<(), FileError> {
        let mut served = manifest.workloads.iter();
        let Some(misfit) = served.find(|id| !self.fits(id, url)) else {
            return Ok(());
        };
        let advice = if url.is_tls() {
            "requested without TLS, but the server's URL is {url}; add `tls = true` to its request"
        } else {
            "requested over TLS, but the server's URL is {url}; remove `tls = true` from its request"
        };
        let advice = advice.replace("{url}", &url.to_string());
        let message = format!("`{misfit}` is {advice}");
        Err(self.source.fault(span, message))
    }
}

/// The name of the folder, without what a run's id cannot contain.
fn suite_id(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_lowercase().replace([' ', '.'], "-");
    if is_id(&name) {
        name
    } else {
        UNNAMED.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_server::{CertificateTrust, Origin, Outside, TlsOptions};
    use prony_testkit::contains;
    use prony_testkit::table::{refused, refused_changes};

    const FILE: &str = r#"rounds = 3
objectives = "p99 < 50ms"

[server.web]
build = ["cargo build --release", "touch 'a b'"]
run = "{cargo_target}/release/web --quiet"
env = { ADDRESS = "{host}:{port}" }

[server.old]
folder = "old"
run = ["node", "server.js"]
workloads = ["home"]

[workload.home]
request = { method = "GET", path = "/" }
response = { status = 200, content_type = "text/html", body = { text = "hi" } }

[workload.about]
request = { method = "GET", path = "/about" }
response = { status = 200, content_type = "text/html", body = { text = "hi" } }

[[measure]]
load = { shape = "closed", connections = 8, duration = "1s" }
"#;

    /// Reads the text in a folder that has another one, `old`.
    fn read_any(text: &str) -> Result<Option<ProjectFile>, String> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("My shop");
        std::fs::create_dir_all(root.join("old")).unwrap();
        std::fs::write(root.join(PROJECT_FILE), text).unwrap();
        let read = ProjectFile::read(&Layout::at(&root), &Workloads::default());
        let place = format!("{}/", root.display());
        read.map_err(|error| error.to_string().replace(&place, ""))
    }

    fn read(text: &str) -> Result<ProjectFile, String> {
        read_any(text).map(Option::unwrap)
    }

    #[test]
    fn a_fleet_may_stand_beside_servers_or_alone() {
        const FLEET: &str = "[fleet]\non = \"slurm\"\nslurm = { partition = \"short\" }\n";
        let beside = read(&format!("{FILE}{FLEET}")).unwrap();
        assert_eq!(beside.suite.servers, read(FILE).unwrap().suite.servers);
        assert_eq!(read_any(FLEET), Ok(None));
        refused(
            read,
            "rounds = 3\\n[fleet]\\non = \"slurm\"\\n | it has no server",
        );
    }

    const OUTSIDE: &str = r#"[server.shop]
url = "http://localhost:8080"
keep_alive = false

[workload.home]
request = { method = "GET", path = "/" }
response = { status = 200 }

[workload.safe]
request = { method = "GET", path = "/", tls = true }
response = { status = 200 }
"#;

    #[test]
    fn a_server_that_already_runs_serves_what_is_encrypted_as_its_url_says() {
        let shop = |text: &str| read(text).unwrap().servers.remove(0);
        let plain = shop(OUTSIDE);
        assert_eq!(plain.manifest.workloads, ["home"]);
        assert!(plain.started().is_none() && !plain.manifest.keep_alive);
        let safe = shop(&OUTSIDE.replace("http:", "https:"));
        assert_eq!(safe.manifest.workloads, ["safe"]);
        let options = |line: &str| -> TlsOptions {
            let url = format!("\"https://localhost:8080\"\n{line}");
            match shop(&OUTSIDE.replace("\"http://localhost:8080\"", &url)).origin {
                Origin::Outside(Outside {
                    tls: Some(options), ..
                }) => options,
                other => panic!("{other:?}"),
            }
        };
        let trust = |line: &str| options(line).trust;
        assert_eq!(trust("insecure = true"), CertificateTrust::Any);
        assert_eq!(trust("insecure = false"), CertificateTrust::Roots);
        match trust("cacert = \"ca.pem\"") {
            CertificateTrust::File(file) => assert!(file.ends_with("My shop/ca.pem")),
            other => panic!("{other:?}"),
        }
        for (line, key) in [
            ("cert = \"both.pem\"", "My shop/both.pem"),
            ("cert = \"both.pem\"\nkey = \"key.pem\"", "My shop/key.pem"),
        ] {
            let identity = options(line).identity.unwrap();
            assert!(identity.certificates.ends_with("My shop/both.pem"));
            assert!(identity.key.ends_with(key), "{key}");
        }
        let named = options("sni = \"a.test\"").server_name;
        assert_eq!(named.as_deref(), Some("a.test"));
        let none = options("");
        assert_eq!((none.identity, none.server_name), (None, None));
    }

    #[test]
    fn faults_of_a_server_that_already_runs_are_located() {
        refused_changes(
            OUTSIDE,
            read,
            r#"
            url = "http://localhost:8080" | "" | prony.toml:1: field `server.shop`: `shop` has neither `run` nor `url`
            http:// | "" | prony.toml:2: field `url`: `localhost:8080` does not begin with http://
            url = | run = "a"\nurl = | prony.toml:3: `run` and `url` exclude each other
            keep_alive = false | build = "make" | `build` and `url` exclude each other
            keep_alive = false | folder = "old" | `folder` and `url` exclude each other
            keep_alive = false | env = { A = "b" } | `env` and `url` exclude each other
            keep_alive = false | needs = ["go"] | `needs` and `url` exclude each other
            keep_alive = false | version = { text = "1" } | `version` and `url` exclude each other
            keep_alive = false | insecure = true | `insecure` needs a `url` that begins with https://
            keep_alive = false | cert = "a" | prony.toml:3: `cert` needs a `url` that begins with https://
            keep_alive = false | sni = "a" | `sni` needs a `url` that begins with https://
            http://localhost:8080" | https://a"\nkey = "a" | prony.toml:3: `key` needs `cert`
            http://localhost:8080" | https://a"\nsni = " " | prony.toml:3: field `sni`: it must not be empty
            http://localhost:8080" | https://a"\ncert = "" | prony.toml:3: field `cert`: it must not be empty
            http://localhost:8080" | https://a"\ninsecure = true\ncacert = "a" | exclude each other: the one
            url = "http://localhost:8080" | run = "a"\nkey = "a" | prony.toml:3: `key` needs `url`
            url = "http://localhost:8080" | run = "a"\ncacert = "a" | prony.toml:3: `cacert` needs `url`
            keep_alive = false | workloads = ["safe"] | prony.toml:3: field `workloads`: `safe` is requested over TLS, but the server's URL is http://localhost:8080; remove `tls = true`
            url = | urll = | did you mean `url`?
            "#,
        );
        let none_fits = OUTSIDE.replace(", tls = true", "");
        let none_fits = read(&none_fits.replace("http:", "https:")).unwrap_err();
        contains(&none_fits, "add `tls = true` to its request");
    }

    #[test]
    fn servers_workloads_and_measures_are_read_in_their_order() {
        let file = read(FILE).unwrap();
        let [web, old] = &file.servers[..] else {
            panic!("{:?}", file.servers);
        };
        assert_eq!((&*web.id, &*old.id), ("web", "old"));
        let words = |command: &[prony_server::Word]| {
            let words = command.iter().map(ToString::to_string);
            words.collect::<Vec<String>>()
        };
        let recipe = &web.started().unwrap().recipe;
        assert_eq!(words(&recipe.build[0]), ["cargo", "build", "--release"]);
        assert_eq!(words(&recipe.build[1]), ["touch", "a b"]);
        let run = ["{cargo_target}/release/web", "--quiet"];
        assert_eq!(words(&recipe.run), run);
        assert_eq!(web.manifest.workloads, ["home", "about"]);
        assert!(old.folder.ends_with("old"), "{}", old.folder.display());
        let recipe = &old.started().unwrap().recipe;
        assert_eq!(words(&recipe.run), ["node", "server.js"]);
        assert_eq!(old.manifest.workloads, ["home"]);
        let objectives = file.objectives.map(|objectives| objectives.to_string());
        assert_eq!(objectives.as_deref(), Some("p99<50ms,errors<0.1%"));
        let suite = &file.suite;
        assert_eq!((suite.id.as_str(), suite.rounds()), ("my-shop", 3));
        assert_eq!(suite.servers, ["web", "old"]);
        assert_eq!(suite.workloads(), ["home", "about"]);
    }

    #[test]
    fn without_measures_there_is_a_usual_one() {
        let text = FILE.split("[[measure]]").next().unwrap();
        let file = read(&text.replace("rounds = 3", "")).unwrap();
        assert_eq!((file.suite.measures.len(), file.suite.rounds()), (1, 6));
        assert_eq!(file.suite.workloads(), ["home", "about"]);
    }

    #[test]
    fn faults_are_reported_with_file_line_and_what_to_write() {
        refused_changes(
            FILE,
            read,
            r#"
            [server.web] | [sever.web] | prony.toml:4: unknown field `sever`
            [server.web] | [sever.web] | did you mean `server`?
            [server.web] | [server.Web] | `Web` is not a valid server name
            [workload.home] | [workload."a b"] | `a b` is not a valid workload name
            run = ["node" | rnu = ["node" | did you mean `run`?
            "cargo build --release",\u{20} | "cargo build && true",\u{20} | prony.toml:5: field `build`: Prony starts commands without a shell
            ["cargo build --release", "touch 'a b'"] | ["cargo", "build", "--release"] | `--release` is not a program; write a whole command as one text
            'a b'" | 'a b" | a quotation mark has no other end
            --quiet | --port=$PORT | field `run`: Prony starts commands without a shell
            "{cargo_target} | "PORT=1 {cargo_target} | set variables in `env`
            [[measure]] | [[measure]]\nworkloads = [] | field `workloads`: it must not be empty
            {cargo_target} | {cargo_targt} | did you mean `cargo_target`?
            workloads = ["home"] | workloads = ["hoem"] | prony.toml:12: field `workloads`: there is no workload `hoem`; did you mean `home`?
            [[measure]] | [[measure]]\nworkloads = ["hme"] | there is no workload `hme`; did you mean `home`?
            p99 < 50ms | p99 < 50 | prony.toml:2: field `objectives`: `p99 < 50`
            folder = "old" | folder = "odl" | server `old`: cannot read\u{20}
            "#,
        );
        refused(read, "rounds = 3 | it has no server; add one");
    }

    #[test]
    fn values_of_another_kind_are_reported_in_words_of_toml() {
        refused_changes(
            FILE,
            read,
            r#"
            rounds = 3 | rounds = 0 | 1: field `rounds`: it must be at least 1
            rounds = 3 | rounds = 1.5 | 1: field `rounds`: expected a whole number of at least 1, not the number 1.5
            rounds = 3 | beside = "a" | 1: field `beside`: expected a list, not the text "a"
            rounds = 3 | budget = 10 | 1: field `budget`: expected text in quotation marks, not the number 10
            "p99 < 50ms" | 50 | 2: field `objectives`: expected text in quotation marks, not the number 50
            run = ["node", "server.js"] | run = 3 | 11: field `run`: expected a command, such as "npm start", or the list of its words, not the number 3
            ["cargo build --release", "touch 'a b'"] | true | 5: field `build`: expected a command, such as "cargo build", or a list of commands, not `true`
            ["home"] | "home" | 12: field `workloads`: expected a list, not the text "home"
            run = ["node", "server.js"] | run = "a"\nkeep_alive = "no" | 12: field `keep_alive`: expected `true` or `false`, not the text "no"
            run = ["node", "server.js"] | run = "a"\nversion = 2 | 12: field `version`: expected text in quotation marks, or a table with one field
            { ADDRESS = "{host}:{port}" } | { ADDRESS = 3 } | 7: field `ADDRESS`: expected text
            [[measure]] | [measure] | 22: field `measure`: expected a list, not a table; the header of a table in a list has two pairs of brackets
            [server.old]\nfolder = "old"\n | [server]\nold = 3\n[server.more]\n | expected a table, not the number 3
            connections = 8 | connections = 0 | 23: field `connections`: it must be at least 1
            connections = 8 | connections = "8" | 23: field `connections`: expected a whole number of at least 1, not the text "8"
            connections = 8 | connections = 8, streams = -1 | 23: field `streams`: it must be at least 0
            "closed" | "open" | 23: field `shape`: unknown name `open`, expected one of `closed`,\u{20}
            { shape = "closed", connections = 8, duration = "1s" } | "closed" | 23: field `load`: expected a table, not the text "closed"
            status = 200 | status = "ok" | 16: field `status`: expected a whole number, not the text "ok"
            status = 200 | status = 70000 | 16: field `status`: 70000 is not a final status
            body = { text = "hi" } | body = 3 | 16: field `body`: expected a table, not the number 3
            path = "/" } | path = "/", body = {} } | 15: field `body`: the table is empty; it needs one field
            path = "/" } | path = "/", tls = 1 } | 15: field `tls`: expected `true` or `false`, not the number 1
            "#,
        );
    }

    #[test]
    fn headers_that_mean_something_else_are_reported_with_what_to_write() {
        refused_changes(
            FILE,
            read,
            r#"
            [workload.about] | [workload.home.about] | 18: field `workload.home.about`: because of the dot, `about` is a field of the workload `home`; a workload has no dot in its name: write [workload.home-about]
            [server.old] | [server.web.old] | a server has no dot in its name: write [server.web-old]
            [workload.about] | [workload."about.us"] | 18: field `workload."about.us"`: `about.us` is not a valid workload name: use letters, digits, hyphens and underscores, for instance [workload.about-us]
            [workload.about] | [workload.über] | 18: field `workload.über`: put a name in quotation marks if it has anything else than letters
            [workload.about] | [workload.""] | `` is not a valid workload name: use letters, digits, hyphens and underscores
            [workload.about] | [workload] | a workload needs a name: write its header as [workload.NAME]
            [workload.about] | [workloads.about] | 18: unknown field `workloads`, expected one of
            [server.web] | [server] | 4: field `server`: a server needs a name: write its header as [server.NAME]
            [server.old] | [[server.old]] | 9: field `server.old`: write the header with one pair of brackets: [server.old]
            [server.old] | [server.Old_one] | for instance [server.old-one]
            [server.old] | [server.old.environ]\nA = "1"\n[server.old] | 9: unknown field `environ`
            "#,
        );
    }

    #[test]
    fn servers_to_compare_with_exist_and_are_compared_with_something() {
        let error = read("title = \"a\"\nbeside = [\"go\"]").unwrap_err();
        assert_eq!(
            error,
            "prony.toml:2: field `beside`: the file has no server that these could be compared with; add one, for \
             instance `[server.web]` with `run = \"npm start\"`"
        );
        let file = read(&format!("\nbeside = [\"older\"]\n{FILE}")).unwrap();
        assert_eq!(file.suite.servers, ["web", "old", "older"]);
        let mut catalogue = Catalogue::default();
        catalogue.add(file.servers[1].clone());
        let error = file.check_beside(&catalogue).unwrap_err().to_string();
        let place = "prony.toml:2: field `beside`: there is no server `older`; did you mean `old`?";
        assert!(error.ends_with(place), "{error}");
        catalogue.servers[0].id = "older".to_owned();
        assert!(file.check_beside(&catalogue).is_ok());
    }
}
