//! A manifest as written, and its checks.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;

use prony_manifest::{FileError, Source};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use toml::Spanned;

use super::text_or_list::{Element, TextOrList};
use super::{
    CertificateTrust, Class, ClientCertificate, Encryption, Input, Manifest, Outside, Placeholder,
    Recipe, ServerUrl, TlsOptions, Variant, VersionSource, Word,
};
use crate::server::is_id;
use crate::toolchain::{Need, Program, Version};

const EMPTY: &str = "it must not be empty";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawManifest {
    title: Spanned<String>,
    language: Spanned<String>,
    framework: Spanned<String>,
    class: Spanned<String>,
    #[serde(default = "kept_alive")]
    keep_alive: bool,
    workloads: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    needs: Vec<Spanned<RawNeed>>,
    version: Option<Spanned<VersionSource>>,
    #[serde(default)]
    inputs: Vec<Spanned<String>>,
    #[serde(default)]
    build: Vec<RawCommand>,
    #[serde(default)]
    artefacts: Vec<Spanned<String>>,
    run: RawCommand,
    #[serde(default)]
    env: RawEnv,
    notes: Option<String>,
    #[serde(default)]
    variant: Vec<RawVariant>,
}

/// As HTTP/1.1 servers do, unless their manifest says otherwise.
const fn kept_alive() -> bool {
    true
}

type RawCommand = Spanned<Vec<Spanned<String>>>;

/// A server in `prony.toml`. Only `run` is required, or `url` if it already runs; a command is written as in a shell, or
/// as a list of words.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerTable {
    folder: Option<Spanned<String>>,
    title: Option<Spanned<String>>,
    #[serde(default)]
    language: String,
    #[serde(default)]
    framework: String,
    class: Option<Spanned<String>>,
    #[serde(default = "kept_alive")]
    keep_alive: bool,
    workloads: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    needs: Vec<Spanned<RawNeed>>,
    version: Option<Spanned<VersionSource>>,
    #[serde(default)]
    inputs: Vec<Spanned<String>>,
    #[serde(default)]
    build: CommandLines,
    #[serde(default)]
    artefacts: Vec<Spanned<String>>,
    run: Option<Spanned<CommandLine>>,
    #[serde(default)]
    env: RawEnv,
    url: Option<Spanned<String>>,
    insecure: Option<Spanned<bool>>,
    cacert: Option<Spanned<String>>,
    cert: Option<Spanned<String>>,
    key: Option<Spanned<String>>,
    sni: Option<Spanned<String>>,
    notes: Option<String>,
}

/// A server as a table of `prony.toml` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Described {
    /// Prony builds and starts it.
    Started(Recipe),
    /// It already runs.
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
    run: Option<RawCommand>,
    build: Option<Vec<RawCommand>>,
}

/// A need: `go >= 1.22`, or a table for a program that Prony does not know.
enum RawNeed {
    Text(String),
    Program(RawProgram),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawProgram {
    program: String,
    version_command: Option<Vec<String>>,
    least: Option<String>,
    install: String,
}

/// By hand, because serde's untagged enums do not say which field is wrong.
impl<'de> Deserialize<'de> for RawNeed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RawNeed, D::Error> {
        struct NeedVisitor;
        impl<'de> Visitor<'de> for NeedVisitor {
            type Value = RawNeed;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text such as \"go >= 1.22\", or a table with `program` and `install`")
            }

            fn visit_str<E>(self, text: &str) -> Result<RawNeed, E> {
                Ok(RawNeed::Text(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawNeed, A::Error> {
                RawProgram::deserialize(MapAccessDeserializer::new(map)).map(RawNeed::Program)
            }
        }
        deserializer.deserialize_any(NeedVisitor)
    }
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

    /// Its manifest: as if `server.toml` had these fields; and how Prony comes to its process. Without `workloads` it
    /// serves `all`. The table is at `span`, and its certificates are relative to `folder`.
    ///
    /// # Errors
    /// The first fault, with file, line and field.
    pub fn describe(
        mut self,
        source: &Source,
        (id, span): (&str, Range<usize>),
        folder: &Path,
        all: &[String],
    ) -> Result<(Manifest, Described), FileError> {
        let checker = Checker(source);
        let (run, url) = (self.run.take(), self.url.take());
        let described = match (run, url) {
            (Some(run), None) => Described::Started(checker.recipe(&mut self, &run)?),
            (None, Some(url)) => Described::Outside(checker.outside(&self, &url, folder)?),
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
        Ok((checker.manifest_of_table(self, id, all)?, described))
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
    ///
    /// # Errors
    /// The first fault, with file, line and field.
    pub fn parse(file: &Path, text: &str) -> Result<(Manifest, Recipe), FileError> {
        let source = Source::new(file, text);
        Checker(&source).manifest(source.parse()?)
    }
}

/// Checks the fields of a file, and locates faults.
struct Checker<'a>(&'a Source);

impl Checker<'_> {
    fn manifest(&self, raw: RawManifest) -> Result<(Manifest, Recipe), FileError> {
        let needs = self.needs(&raw.needs)?;
        let manifest = Manifest {
            title: self.filled(raw.title)?,
            language: self.filled(raw.language)?,
            framework: self.filled(raw.framework)?,
            class: self.named("class", &raw.class, Class::ALL, Class::name)?,
            keep_alive: raw.keep_alive,
            workloads: self.workloads(raw.workloads)?,
            notes: raw.notes,
        };
        let recipe = Recipe {
            version: self.version(raw.version, &needs)?,
            needs,
            inputs: self.inputs(&raw.inputs)?,
            build: self.build(&raw.build)?,
            artefacts: self.words(&raw.artefacts, Placeholder::OF_BUILD)?,
            run: self.command(&raw.run, &Placeholder::ALL)?,
            env: self.env(&raw.env)?,
            variants: self.variants(&raw.variant)?,
        };
        Ok((manifest, recipe))
    }

    fn manifest_of_table(
        &self,
        raw: ServerTable,
        id: &str,
        all: &[String],
    ) -> Result<Manifest, FileError> {
        let class = raw.class.map_or(Ok(Class::Framework), |class| {
            self.named("class", &class, Class::ALL, Class::name)
        });
        let title = raw.title.map(|title| self.filled(title)).transpose()?;
        let workloads = raw.workloads.map(|list| self.workloads(list)).transpose()?;
        Ok(Manifest {
            title: title.unwrap_or_else(|| id.to_owned()),
            language: raw.language,
            framework: raw.framework,
            class: class?,
            keep_alive: raw.keep_alive,
            workloads: workloads.unwrap_or_else(|| all.to_vec()),
            notes: raw.notes,
        })
    }

    fn recipe(
        &self,
        raw: &mut ServerTable,
        run: &Spanned<CommandLine>,
    ) -> Result<Recipe, FileError> {
        if let Some((field, span)) = raw.of_tls().next() {
            let message = format!(
                "`{field}` needs `url`: Prony gives a server that it starts a certificate of its own"
            );
            return Err(self.0.fault(span, message));
        }
        let needs = self.needs(&raw.needs)?;
        let build = raw.build.0.iter();
        let build = build.map(|command| self.command_line(command, Placeholder::OF_BUILD));
        Ok(Recipe {
            version: self.version(raw.version.take(), &needs)?,
            needs,
            inputs: self.inputs(&raw.inputs)?,
            build: build.collect::<Result<_, _>>()?,
            artefacts: self.words(&raw.artefacts, Placeholder::OF_BUILD)?,
            run: self.command_line(run, &Placeholder::ALL)?,
            env: self.env(&raw.env)?,
            variants: Vec::new(),
        })
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
        let encryption = match (parsed.is_tls(), raw.of_tls().next()) {
            (false, None) => Encryption::Plain,
            (false, Some((field, span))) => {
                let message = format!("`{field}` needs a `url` that begins with https://");
                return Err(self.0.fault(span, message));
            }
            (true, _) => Encryption::Tls(TlsOptions {
                trust: self.trust(raw, folder)?,
                identity: self.identity(raw, folder)?,
                server_name: self.not_empty(raw.sni.as_ref())?.map(str::to_owned),
            }),
        };
        Ok(Outside {
            url: parsed,
            encryption,
        })
    }

    fn trust(&self, raw: &ServerTable, folder: &Path) -> Result<CertificateTrust, FileError> {
        let insecure = raw.insecure.as_ref().filter(|insecure| *insecure.get_ref());
        match (insecure, &raw.cacert) {
            (Some(insecure), Some(_)) => Err(self.0.fault(
                insecure.span(),
                "`insecure` and `cacert` exclude each other: the one trusts every certificate, the other only some",
            )),
            (Some(_), None) => Ok(CertificateTrust::Any),
            (None, file) => Ok(match self.not_empty(file.as_ref())? {
                Some(file) => CertificateTrust::File(folder.join(file)),
                None => CertificateTrust::Roots,
            }),
        }
    }

    /// The certificate for a server that requests one. Without `key` its file has the key, too.
    fn identity(
        &self,
        raw: &ServerTable,
        folder: &Path,
    ) -> Result<Option<ClientCertificate>, FileError> {
        let (cert, key) = (raw.cert.as_ref(), raw.key.as_ref());
        let key_file = self.not_empty(key)?;
        match (self.not_empty(cert)?, key) {
            (None, None) => Ok(None),
            (None, Some(key)) => Err(self.0.fault(
                key.span(),
                "`key` needs `cert`: the file with the certificate that the key is for",
            )),
            (Some(cert), _) => Ok(Some(ClientCertificate {
                certificates: folder.join(cert),
                key: folder.join(key_file.unwrap_or(cert)),
            })),
        }
    }

    fn not_empty<'a>(
        &self,
        text: Option<&'a Spanned<String>>,
    ) -> Result<Option<&'a str>, FileError> {
        match text {
            Some(text) if text.get_ref().trim().is_empty() => Err(self.0.fault(text.span(), EMPTY)),
            text => Ok(text.map(|text| text.get_ref().as_str())),
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
        let spanned = |word| Spanned::new(command.span(), word);
        let words: Vec<Spanned<String>> = words.into_iter().map(spanned).collect();
        self.words(&words, allowed)
    }

    fn filled(&self, value: Spanned<String>) -> Result<String, FileError> {
        if value.get_ref().trim().is_empty() {
            return Err(self.0.fault(value.span(), EMPTY));
        }
        Ok(value.into_inner())
    }

    fn named<T: Copy, const N: usize>(
        &self,
        kind: &'static str,
        value: &Spanned<String>,
        all: [T; N],
        name_of: impl Fn(T) -> &'static str,
    ) -> Result<T, FileError> {
        let named = all
            .into_iter()
            .find(|&each| name_of(each) == value.get_ref());
        named.ok_or_else(|| self.0.unknown(value, kind, all.map(name_of)))
    }

    fn workloads(&self, list: Spanned<Vec<Spanned<String>>>) -> Result<Vec<String>, FileError> {
        if list.get_ref().is_empty() {
            return Err(self.0.fault(list.span(), EMPTY));
        }
        let mut names: Vec<String> = Vec::new();
        for name in list.into_inner() {
            let span = name.span();
            let name = self.filled(name)?;
            if names.contains(&name) {
                return Err(self.0.fault(span, format!("`{name}` appears twice")));
            }
            names.push(name);
        }
        Ok(names)
    }

    fn needs(&self, list: &[Spanned<RawNeed>]) -> Result<Vec<Need>, FileError> {
        let needs = list
            .iter()
            .map(|raw| need(raw.get_ref()).map_err(|message| self.0.fault(raw.span(), message)));
        needs.collect()
    }

    fn version(
        &self,
        version: Option<Spanned<VersionSource>>,
        needs: &[Need],
    ) -> Result<Option<VersionSource>, FileError> {
        let Some(version) = version else {
            return Ok(None);
        };
        if let VersionSource::Toolchain(name) = version.get_ref()
            && !needs.iter().any(|need| need.tool().name() == name)
        {
            let message = format!("its toolchain `{name}` is not among the `needs`; add it there");
            return Err(self.0.fault(version.span(), message));
        }
        Ok(Some(version.into_inner()))
    }

    fn build(&self, commands: &[RawCommand]) -> Result<Vec<Vec<Word>>, FileError> {
        let commands = commands.iter();
        commands
            .map(|words| self.command(words, Placeholder::OF_BUILD))
            .collect()
    }

    fn env(&self, env: &RawEnv) -> Result<BTreeMap<String, Word>, FileError> {
        env.iter()
            .map(|(name, value)| Ok((name.clone(), self.word(value, &Placeholder::ALL)?)))
            .collect()
    }

    fn variants(&self, list: &[RawVariant]) -> Result<Vec<Variant>, FileError> {
        let mut variants: Vec<Variant> = Vec::new();
        for raw in list {
            let name = raw.name.get_ref();
            let fault = |message: String| Err(self.0.fault(raw.name.span(), message));
            if !is_id(name) {
                return fault(format!(
                    "`{name}` is not a valid variant name: use lower-case letters, digits and hyphens"
                ));
            }
            if variants.iter().any(|variant| variant.name == *name) {
                return fault(format!("`{name}` appears twice"));
            }
            if raw.env.is_empty() && raw.run.is_none() && raw.build.is_none() {
                return fault(format!(
                    "the variant `{name}` changes nothing: give it `env`, `run` or `build`"
                ));
            }
            let build = raw.build.as_deref();
            let run = raw.run.as_ref();
            variants.push(Variant {
                name: name.clone(),
                env: self.env(&raw.env)?,
                run: run
                    .map(|words| self.command(words, &Placeholder::ALL))
                    .transpose()?,
                build: build.map(|commands| self.build(commands)).transpose()?,
            });
        }
        Ok(variants)
    }

    fn command(&self, words: &RawCommand, allowed: &[Placeholder]) -> Result<Vec<Word>, FileError> {
        let program = words.get_ref().first();
        if program.is_none_or(|program| program.get_ref().trim().is_empty()) {
            return Err(self.0.fault(words.span(), EMPTY));
        }
        self.words(words.get_ref(), allowed)
    }

    fn words(
        &self,
        words: &[Spanned<String>],
        allowed: &[Placeholder],
    ) -> Result<Vec<Word>, FileError> {
        let words = words.iter();
        words.map(|word| self.word(word, allowed)).collect()
    }

    fn inputs(&self, words: &[Spanned<String>]) -> Result<Vec<Input>, FileError> {
        let input = |word: &Spanned<String>| {
            let input = match word.get_ref().trim() {
                "" => Err(EMPTY.to_owned()),
                _ => Input::new(word.get_ref()),
            };
            input.map_err(|message| self.0.fault(word.span(), message))
        };
        words.iter().map(input).collect()
    }

    fn word(&self, word: &Spanned<String>, allowed: &[Placeholder]) -> Result<Word, FileError> {
        Word::new(word.get_ref(), allowed).map_err(|unknown| {
            let name = &unknown.name;
            let message = match Placeholder::from_name(name) {
                Some(_) => format!(
                    "`{{{name}}}` is known only when the server starts: use it in `run` or `env`"
                ),
                None => unknown.to_string(),
            };
            self.0.fault(word.span(), message)
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

/// Checks a need; `Err` with the fault.
fn need(raw: &RawNeed) -> Result<Need, String> {
    let raw = match raw {
        RawNeed::Text(text) => return Need::parse(text).map_err(|error| error.to_string()),
        RawNeed::Program(raw) => raw,
    };
    let program = raw.program.clone();
    if !Program::is_findable(&program) {
        return Err(format!(
            "`{program}` is not a program: give its name on PATH, or its absolute path"
        ));
    }
    let default = || vec![program.clone(), "--version".to_owned()];
    let version_command = raw.version_command.clone().unwrap_or_else(default);
    if version_command.is_empty() || raw.install.trim().is_empty() {
        return Err("`version_command` and `install` must not be empty".to_owned());
    }
    let least = raw.least.as_ref().map(|text| {
        Version::parse(text).ok_or_else(|| {
            format!(
                "`{text}` is not a version; write numbers separated by dots, for instance \"8.1\""
            )
        })
    });
    let install = raw.install.clone();
    let program = Program {
        program,
        version_command,
        install,
    };
    Ok(Need::of_program(program, least.transpose()?))
}

#[cfg(test)]
mod tests;
