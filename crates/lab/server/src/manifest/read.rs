//! A manifest as written, and its checks.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use prony_manifest::fields::{self, Filled};
use prony_manifest::{FileError, Source};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::text_or_list::{Element, TextOrList};
use super::{
    CertificateTrust, Class, ClientCertificate, Input, Manifest, Outside, Placeholder, Recipe,
    ServerUrl, TlsOptions, VersionSource, Word, is_id,
};
use crate::toolchain::Need;

const EMPTY: &str = "it must not be empty";

/// A server in `prony.toml`. Only `run` is required, or `url` if it already runs; a command is written as in a shell, or
/// as a list of words. A `server.toml` has the same fields, but more are required.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerTable {
    folder: Option<Spanned<String>>,
    title: Option<Filled>,
    language: Option<Filled>,
    framework: Option<Filled>,
    class: Option<Class>,
    keep_alive: Option<bool>,
    workloads: Option<Spanned<Names>>,
    #[serde(default)]
    needs: Vec<Need>,
    version: Option<Spanned<VersionSource>>,
    #[serde(default)]
    inputs: Vec<Input>,
    #[serde(default)]
    build: CommandLines,
    #[serde(default)]
    artefacts: Vec<Spanned<String>>,
    run: Option<Spanned<CommandLine>>,
    #[serde(default)]
    env: RawEnv,
    #[serde(default)]
    variant: Vec<RawVariant>,
    url: Option<Spanned<String>>,
    insecure: Option<Spanned<bool>>,
    cacert: Option<Spanned<Filled>>,
    cert: Option<Spanned<Filled>>,
    key: Option<Spanned<Filled>>,
    sni: Option<Spanned<Filled>>,
    notes: Option<String>,
}

#[derive(Deserialize)]
struct Names(#[serde(deserialize_with = "fields::names")] Vec<String>);

/// A server as a table of `prony.toml` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Described {
    Started(Recipe),
    Outside(Outside),
}

/// A command: text such as `npm run "my build"`, or its words.
type CommandLine = TextOrList<String>;

/// One command, or several.
#[derive(Default)]
struct CommandLines(Vec<Spanned<CommandLine>>);

type RawEnv = BTreeMap<String, Spanned<String>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawVariant {
    name: Spanned<String>,
    #[serde(default)]
    env: RawEnv,
    run: Option<Spanned<CommandLine>>,
    build: Option<CommandLines>,
}

impl Element for String {
    const EXPECTED: &'static str = "a command, such as \"npm start\", or the list of its words";
}

impl Element for Spanned<CommandLine> {
    const EXPECTED: &'static str = "a command, such as \"cargo build\", or a list of commands";
}

impl<'de> Deserialize<'de> for CommandLines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CommandLines, D::Error> {
        let commands = Spanned::deserialize(deserializer)?;
        let span = commands.span();
        Ok(CommandLines(match commands.into_inner() {
            TextOrList::Text(text) => vec![Spanned::new(span, CommandLine::Text(text))],
            TextOrList::List(commands) => commands,
        }))
    }
}

impl ServerTable {
    /// The fields that say which certificates are trusted and what is presented, and where they are.
    fn of_tls(&self) -> impl Iterator<Item = (&'static str, Range<usize>)> {
        let insecure = self.insecure.as_ref().map(|it| ("insecure", it.span()));
        let texts = [
            ("cacert", &self.cacert),
            ("cert", &self.cert),
            ("key", &self.key),
            ("sni", &self.sni),
        ];
        let texts = texts.into_iter();
        let texts = texts.filter_map(|(name, it)| Some((name, it.as_ref()?.span())));
        insecure.into_iter().chain(texts)
    }

    /// A field that says how the server is built or started, if there is one.
    fn of_a_start(&self) -> Option<&'static str> {
        let fields = [
            ("build", !self.build.0.is_empty()),
            ("folder", self.folder.is_some()),
            ("env", !self.env.is_empty()),
            ("needs", !self.needs.is_empty()),
            ("inputs", !self.inputs.is_empty()),
            ("artefacts", !self.artefacts.is_empty()),
            ("version", self.version.is_some()),
            ("variant", !self.variant.is_empty()),
        ];
        let given = fields.into_iter().find(|(_, is_given)| *is_given);
        given.map(|(field, _)| field)
    }

    /// The folder in which its commands run, as written; `None` for that of the file.
    pub fn folder(&self) -> Option<&str> {
        self.folder.as_ref().map(|folder| folder.get_ref().as_str())
    }

    /// Where it says which workloads it serves; `None` if it serves all of the file.
    pub fn workloads_span(&self) -> Option<Range<usize>> {
        self.workloads.as_ref().map(Spanned::span)
    }

    /// Its manifest, and how Prony comes to its process. Without `workloads` it serves `all`. The table is at `span`, and
    /// its certificates are relative to `folder`.
    pub fn describe(
        self,
        source: &Source,
        (id, span): (&str, Range<usize>),
        folder: &Path,
        all: &[String],
    ) -> Result<(Manifest, Described), FileError> {
        let checker = Checker(source);
        let described = match (&self.run, &self.url) {
            (Some(run), None) => Described::Started(checker.recipe(&self, run)?),
            (None, Some(url)) => Described::Outside(checker.outside(&self, url, folder)?),
            (Some(_), Some(url)) => return Err(source.fault(url.span(), exclusive("run"))),
            (None, None) => {
                return Err(source.fault(
                    span,
                    format!(
                        "`{id}` has neither `run` nor `url`: give the command that runs it, for instance run = \"npm start\", \
                         or the URL at which it already runs, for instance url = \"http://localhost:8080\""
                    ),
                ));
            }
        };
        Ok((self.manifest(id, all), described))
    }

    fn manifest(self, id: &str, all: &[String]) -> Manifest {
        let text = |field: Option<Filled>| field.map(|Filled(text)| text);
        let workloads = self.workloads.map(|names| names.into_inner().0);
        Manifest {
            title: text(self.title).unwrap_or_else(|| id.to_owned()),
            language: text(self.language).unwrap_or_default(),
            framework: text(self.framework).unwrap_or_default(),
            class: self.class.unwrap_or(Class::Framework),
            // As HTTP/1.1 servers do, unless their manifest says otherwise.
            keep_alive: self.keep_alive.unwrap_or(true),
            workloads: workloads.unwrap_or_else(|| all.to_vec()),
            notes: self.notes,
        }
    }
}

/// Why a field cannot be beside `url`.
fn exclusive(field: &str) -> String {
    format!(
        "`{field}` and `url` exclude each other: Prony neither builds nor starts a server that already runs; leave one of them out"
    )
}

impl Manifest {
    /// Parses a manifest; `file` is for the errors only.
    pub fn parse(file: &Path, text: &str) -> Result<(Manifest, Recipe), FileError> {
        let source = Source::new(file, text);
        let table: ServerTable = source.parse()?;
        let required = [
            ("title", table.title.is_some()),
            ("language", table.language.is_some()),
            ("framework", table.framework.is_some()),
            ("class", table.class.is_some()),
            ("workloads", table.workloads.is_some()),
        ];
        let missing = |field| source.fault(0..0, format!("missing field `{field}`"));
        if let Some((field, _)) = required.into_iter().find(|(_, is_given)| !is_given) {
            return Err(missing(field));
        }
        let of_project = [("url", &table.url), ("folder", &table.folder)];
        let of_project = of_project
            .into_iter()
            .find_map(|(field, it)| Some((field, it.as_ref()?)));
        if let Some((field, it)) = of_project {
            let message = format!("`{field}` has no effect here; only prony.toml has it");
            return Err(source.fault(it.span(), message));
        }
        let run = table.run.as_ref().ok_or_else(|| missing("run"))?;
        let recipe = Checker(&source).recipe(&table, run)?;
        Ok((table.manifest("", &[]), recipe))
    }
}

/// Checks the fields of a file, and locates faults.
struct Checker<'a>(&'a Source);

impl Checker<'_> {
    fn recipe(&self, raw: &ServerTable, run: &Spanned<CommandLine>) -> Result<Recipe, FileError> {
        if let Some((field, span)) = raw.of_tls().next() {
            let message = format!(
                "`{field}` needs `url`: Prony gives a server that it starts a certificate of its own"
            );
            return Err(self.0.fault(span, message));
        }
        let artefacts = raw.artefacts.iter();
        let mut recipe = Recipe {
            version: self.version(raw)?,
            needs: raw.needs.clone(),
            inputs: raw.inputs.clone(),
            build: self.build(&raw.build)?,
            artefacts: artefacts
                .map(|word| self.word(word.get_ref(), word.span(), Placeholder::OF_BUILD))
                .collect::<Result<_, _>>()?,
            run: self.command_line(run, &Placeholder::ALL)?,
            env: self.env(&raw.env)?,
            variants: Vec::new(),
        };
        recipe.variants = self.variants(&recipe, &raw.variant)?;
        Ok(recipe)
    }

    fn outside(
        &self,
        raw: &ServerTable,
        url: &Spanned<String>,
        folder: &Path,
    ) -> Result<Outside, FileError> {
        if let Some(field) = raw.of_a_start() {
            return Err(self.0.fault(url.span(), exclusive(field)));
        }
        let parsed: Result<ServerUrl, String> = url.get_ref().parse();
        let parsed = parsed.map_err(|message| self.0.fault(url.span(), message))?;
        let tls = match (parsed.is_tls(), raw.of_tls().next()) {
            (false, None) => None,
            (false, Some((field, span))) => {
                let message = format!("`{field}` needs a `url` that begins with https://");
                return Err(self.0.fault(span, message));
            }
            (true, _) => Some(TlsOptions {
                trust: self.trust(raw, folder)?,
                identity: self.identity(raw, folder)?,
                server_name: raw.sni.as_ref().map(|sni| sni.get_ref().0.clone()),
            }),
        };
        Ok(Outside { url: parsed, tls })
    }

    fn trust(&self, raw: &ServerTable, folder: &Path) -> Result<CertificateTrust, FileError> {
        let insecure = raw.insecure.as_ref().filter(|insecure| *insecure.get_ref());
        match (insecure, &raw.cacert) {
            (Some(insecure), Some(_)) => Err(self.0.fault(
                insecure.span(),
                "`insecure` and `cacert` exclude each other: the one trusts every certificate, the other only some",
            )),
            (Some(_), None) => Ok(CertificateTrust::Any),
            (None, Some(file)) => Ok(CertificateTrust::File(folder.join(&file.get_ref().0))),
            (None, None) => Ok(CertificateTrust::Roots),
        }
    }

    /// The certificate for a server that requests one. Without `key` its file has the key, too.
    fn identity(
        &self,
        raw: &ServerTable,
        folder: &Path,
    ) -> Result<Option<ClientCertificate>, FileError> {
        match (&raw.cert, &raw.key) {
            (None, None) => Ok(None),
            (None, Some(key)) => Err(self.0.fault(
                key.span(),
                "`key` needs `cert`: the file with the certificate that the key is for",
            )),
            (Some(cert), key) => Ok(Some(ClientCertificate {
                certificates: folder.join(&cert.get_ref().0),
                key: folder.join(&key.as_ref().unwrap_or(cert).get_ref().0),
            })),
        }
    }

    /// The words of a command, which no shell will read.
    fn command_line(
        &self,
        command: &Spanned<CommandLine>,
        allowed: &[Placeholder],
    ) -> Result<Vec<Word>, FileError> {
        let fault = |message: &str| Err(self.0.fault(command.span(), message));
        let words = match command.get_ref() {
            CommandLine::List(words) => words.clone(),
            CommandLine::Text(text) => match shlex::split(text) {
                None => return fault("a quotation mark has no other end"),
                Some(words) if words.iter().any(|word| is_for_a_shell(word)) => {
                    return fault(
                        "Prony starts commands without a shell; write several commands of a build as a list, use a placeholder such as {port} instead of a variable, or give the words [\"sh\", \"-c\", \"…\"]",
                    );
                }
                Some(words) if words.first().is_some_and(|first| first.contains('=')) => {
                    return fault(
                        "a command begins with its program; set variables in `env`, for instance env = { DEBUG = \"1\" }",
                    );
                }
                Some(words) => words,
            },
        };
        match words.first() {
            None => return fault(EMPTY),
            Some(first) if first.trim().is_empty() => return fault(EMPTY),
            Some(first) if first.starts_with('-') => {
                return fault(&format!(
                    "`{first}` is not a program; write a whole command as one text, for instance \"cargo build --release\""
                ));
            }
            Some(_) => {}
        }
        let words = words.iter();
        words
            .map(|word| self.word(word, command.span(), allowed))
            .collect()
    }

    fn version(&self, raw: &ServerTable) -> Result<Option<VersionSource>, FileError> {
        let Some(version) = &raw.version else {
            return Ok(None);
        };
        if let VersionSource::Toolchain(name) = version.get_ref()
            && !raw.needs.iter().any(|need| need.tool().name == *name)
        {
            let message = format!("its toolchain `{name}` is not among the `needs`; add it there");
            return Err(self.0.fault(version.span(), message));
        }
        Ok(Some(version.get_ref().clone()))
    }

    fn build(&self, commands: &CommandLines) -> Result<Vec<Vec<Word>>, FileError> {
        let commands = commands.0.iter();
        commands
            .map(|command| self.command_line(command, Placeholder::OF_BUILD))
            .collect()
    }

    fn env(&self, env: &RawEnv) -> Result<BTreeMap<String, Word>, FileError> {
        let word =
            |value: &Spanned<String>| self.word(value.get_ref(), value.span(), &Placeholder::ALL);
        env.iter()
            .map(|(name, value)| Ok((name.clone(), word(value)?)))
            .collect()
    }

    /// The recipes of the variants of one without any.
    fn variants(
        &self,
        recipe: &Recipe,
        list: &[RawVariant],
    ) -> Result<Vec<(String, Recipe)>, FileError> {
        let mut variants: Vec<(String, Recipe)> = Vec::new();
        for raw in list {
            let name = raw.name.get_ref();
            let fault = |message: String| Err(self.0.fault(raw.name.span(), message));
            if !is_id(name) {
                return fault(format!(
                    "`{name}` is not a valid variant name: use lower-case letters, digits and hyphens"
                ));
            }
            if variants.iter().any(|(known, _)| known == name) {
                return fault(format!("`{name}` appears twice"));
            }
            if raw.env.is_empty() && raw.run.is_none() && raw.build.is_none() {
                return fault(format!(
                    "the variant `{name}` changes nothing: give it `env`, `run` or `build`"
                ));
            }
            let mut variant = recipe.clone();
            variant.env.extend(self.env(&raw.env)?);
            if let Some(run) = &raw.run {
                variant.run = self.command_line(run, &Placeholder::ALL)?;
            }
            if let Some(build) = &raw.build {
                variant.build = self.build(build)?;
            }
            variants.push((name.clone(), variant));
        }
        Ok(variants)
    }

    fn word(
        &self,
        word: &str,
        span: Range<usize>,
        allowed: &[Placeholder],
    ) -> Result<Word, FileError> {
        Word::new(word, allowed).map_err(|unknown| {
            let name = &unknown.name;
            let message = match Placeholder::from_name(name) {
                Some(_) => format!(
                    "`{{{name}}}` is known only when the server starts: use it in `run` or `env`"
                ),
                None => unknown.to_string(),
            };
            self.0.fault(span, message)
        })
    }
}

/// Whether only a shell understands a word.
fn is_for_a_shell(word: &str) -> bool {
    let operators = ["&&", "||", "|", "&"];
    let redirection = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
    operators.contains(&word)
        || redirection.starts_with(['<', '>'])
        || word.ends_with(';')
        || word.contains(['$', '`'])
}

#[cfg(test)]
mod tests;
