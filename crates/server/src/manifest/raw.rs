//! A manifest as it is written, and its checks.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use super::locate::{field_of, line_of};
use super::needs::{self, RawNeed};
use super::{
    Class, Input, Manifest, ManifestError, ManifestProblem, Template, Variant, VersionSource, Wire,
};
use crate::nearest::nearest;
use crate::server::is_id;
use crate::toolchain::Need;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawManifest {
    title: Spanned<String>,
    language: Spanned<String>,
    framework: Spanned<String>,
    class: Spanned<String>,
    wire: Spanned<String>,
    keep_alive: Option<Spanned<bool>>,
    workloads: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    needs: Vec<Spanned<RawNeed>>,
    version: Option<Spanned<RawVersion>>,
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

type RawCommand = Spanned<Vec<Spanned<String>>>;

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum RawVersion {
    Toolchain(String),
    CargoLock(String),
    GoMod(String),
    Requirements(String),
    PomProperty(String),
    Text(String),
}

pub fn read(file: &Path, text: &str) -> Result<Manifest, ManifestError> {
    let source = Source { file, text };
    let raw: RawManifest = toml::from_str(text).map_err(|error| source.toml_error(&error))?;
    source.check(raw)
}

/// The text that faults are located in.
struct Source<'a> {
    file: &'a Path,
    text: &'a str,
}

impl Source<'_> {
    fn check(&self, raw: RawManifest) -> Result<Manifest, ManifestError> {
        let needs = self.needs(&raw.needs)?;
        let wire = self.named("wire", &raw.wire, Wire::ALL, Wire::name)?;
        Ok(Manifest {
            title: self.filled(raw.title)?,
            language: self.filled(raw.language)?,
            framework: self.filled(raw.framework)?,
            class: self.named("class", &raw.class, Class::ALL, Class::name)?,
            wire,
            keep_alive: self.keep_alive(wire, raw.keep_alive)?,
            workloads: self.workloads(raw.workloads)?,
            version: self.version(raw.version, &needs)?,
            needs,
            inputs: self.inputs(&raw.inputs)?,
            build: self.build(&raw.build)?,
            artefacts: self.templates(&raw.artefacts)?,
            run: self.run(&raw.run)?,
            env: self.env(&raw.env)?,
            variants: self.variants(&raw.variant)?,
            notes: raw.notes,
        })
    }

    fn filled(&self, value: Spanned<String>) -> Result<String, ManifestError> {
        if value.get_ref().trim().is_empty() {
            return Err(self.fault(value.span().start, ManifestProblem::Empty));
        }
        Ok(value.into_inner())
    }

    fn named<T: Copy, const N: usize>(
        &self,
        kind: &'static str,
        value: &Spanned<String>,
        all: [T; N],
        name_of: impl Fn(T) -> &'static str,
    ) -> Result<T, ManifestError> {
        let name = value.get_ref();
        all.into_iter()
            .find(|&each| name_of(each) == name)
            .ok_or_else(|| {
                let names = all.map(name_of);
                let problem = ManifestProblem::UnknownName {
                    kind,
                    name: name.clone(),
                    nearest: nearest(name, names),
                    known: names.join(", "),
                    more: "",
                };
                self.fault(value.span().start, problem)
            })
    }

    /// What the wire says, unless the manifest says otherwise; it can only of HTTP/1.1.
    fn keep_alive(&self, wire: Wire, own: Option<Spanned<bool>>) -> Result<bool, ManifestError> {
        match own {
            None => Ok(wire != Wire::Http10),
            Some(own) if wire == Wire::Http11 => Ok(own.into_inner()),
            Some(own) => {
                let problem = ManifestProblem::KeepAliveOfAnotherWire(wire.name());
                Err(self.fault(own.span().start, problem))
            }
        }
    }

    fn workloads(&self, list: Spanned<Vec<Spanned<String>>>) -> Result<Vec<String>, ManifestError> {
        if list.get_ref().is_empty() {
            return Err(self.fault(list.span().start, ManifestProblem::Empty));
        }
        let mut names: Vec<String> = Vec::new();
        for name in list.into_inner() {
            let start = name.span().start;
            let name = self.filled(name)?;
            if names.contains(&name) {
                return Err(self.fault(start, ManifestProblem::Twice(name)));
            }
            names.push(name);
        }
        Ok(names)
    }

    fn needs(&self, list: &[Spanned<RawNeed>]) -> Result<Vec<Need>, ManifestError> {
        let needs = list.iter().map(|raw| {
            let need = needs::need(raw.get_ref());
            need.map_err(|problem| self.fault(raw.span().start, problem))
        });
        needs.collect()
    }

    fn version(
        &self,
        version: Option<Spanned<RawVersion>>,
        needs: &[Need],
    ) -> Result<Option<VersionSource>, ManifestError> {
        let Some(version) = version else {
            return Ok(None);
        };
        let start = version.span().start;
        Ok(Some(match version.into_inner() {
            RawVersion::CargoLock(package) => VersionSource::CargoLock(package),
            RawVersion::GoMod(module) => VersionSource::GoMod(module),
            RawVersion::Requirements(package) => VersionSource::Requirements(package),
            RawVersion::PomProperty(name) => VersionSource::PomProperty(name),
            RawVersion::Text(text) => VersionSource::Text(text),
            RawVersion::Toolchain(name) => {
                if !needs.iter().any(|need| need.tool().name() == name) {
                    return Err(self.fault(start, ManifestProblem::VersionWithoutNeed(name)));
                }
                VersionSource::Toolchain(name)
            }
        }))
    }

    fn build(&self, commands: &[RawCommand]) -> Result<Vec<Vec<Template>>, ManifestError> {
        let commands = commands.iter();
        commands
            .map(|words| self.command(words, Template::new))
            .collect()
    }

    fn run(&self, words: &RawCommand) -> Result<Vec<Template>, ManifestError> {
        self.command(words, Template::for_start)
    }

    fn env(&self, env: &RawEnv) -> Result<BTreeMap<String, Template>, ManifestError> {
        env.iter()
            .map(|(name, value)| Ok((name.clone(), self.template(value, Template::for_start)?)))
            .collect()
    }

    fn variants(&self, list: &[RawVariant]) -> Result<Vec<Variant>, ManifestError> {
        let mut variants: Vec<Variant> = Vec::new();
        for raw in list {
            let (name, start) = (raw.name.get_ref(), raw.name.span().start);
            let fault = |problem| Err(self.fault(start, problem));
            if !is_id(name) {
                return fault(ManifestProblem::BadVariantName(name.clone()));
            }
            if variants.iter().any(|variant| variant.name == *name) {
                return fault(ManifestProblem::Twice(name.clone()));
            }
            if raw.env.is_empty() && raw.run.is_none() && raw.build.is_none() {
                return fault(ManifestProblem::EmptyVariant(name.clone()));
            }
            let build = raw.build.as_deref();
            variants.push(Variant {
                name: name.clone(),
                env: self.env(&raw.env)?,
                run: raw.run.as_ref().map(|words| self.run(words)).transpose()?,
                build: build.map(|commands| self.build(commands)).transpose()?,
            });
        }
        Ok(variants)
    }

    fn command(
        &self,
        words: &RawCommand,
        check: impl Fn(&str) -> Result<Template, ManifestProblem>,
    ) -> Result<Vec<Template>, ManifestError> {
        let empty = words
            .get_ref()
            .first()
            .is_none_or(|program| program.get_ref().trim().is_empty());
        if empty {
            return Err(self.fault(words.span().start, ManifestProblem::Empty));
        }
        let words = words.get_ref().iter();
        words.map(|word| self.template(word, &check)).collect()
    }

    fn templates(&self, words: &[Spanned<String>]) -> Result<Vec<Template>, ManifestError> {
        words
            .iter()
            .map(|word| self.template(word, Template::new))
            .collect()
    }

    fn inputs(&self, words: &[Spanned<String>]) -> Result<Vec<Input>, ManifestError> {
        let input = |word: &Spanned<String>| {
            let fault = |problem| self.fault(word.span().start, problem);
            match word.get_ref().trim().is_empty() {
                true => Err(fault(ManifestProblem::Empty)),
                false => Input::new(word.get_ref()).map_err(fault),
            }
        };
        words.iter().map(input).collect()
    }

    fn template(
        &self,
        word: &Spanned<String>,
        check: impl Fn(&str) -> Result<Template, ManifestProblem>,
    ) -> Result<Template, ManifestError> {
        check(word.get_ref()).map_err(|problem| self.fault(word.span().start, problem))
    }

    fn fault(&self, offset: usize, problem: ManifestProblem) -> ManifestError {
        ManifestError {
            file: self.file.to_owned(),
            line: line_of(self.text, offset),
            field: field_of(self.text, offset),
            problem: Box::new(problem),
        }
    }

    fn toml_error(&self, error: &toml::de::Error) -> ManifestError {
        let offset = error.span().map_or(0, |span| span.start);
        let message = error.message();
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        let problem = if message.starts_with("missing field") {
            ManifestProblem::MissingField
        } else if message.starts_with("unknown field") || message.starts_with("unknown variant") {
            let known: Vec<&str> = quoted.iter().skip(1).copied().collect();
            let meant = |name: &&str| nearest(name, known.iter().copied());
            ManifestProblem::UnknownField {
                nearest: quoted.first().and_then(meant),
                known: known.join(", "),
            }
        } else {
            return self.fault(offset, ManifestProblem::Syntax(message.to_owned()));
        };
        ManifestError {
            field: quoted.first().map(|&name| name.to_owned()),
            ..self.fault(offset, problem)
        }
    }
}

#[cfg(test)]
mod tests;
