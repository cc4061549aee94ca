//! A suite as it is written, and its checks.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::published::RawDocument;
use super::{Changes, MeasureSpec, Suite, SuiteLoad};
use crate::adaptive::{AdaptiveRounds, Precision};
use crate::workload::Workload;
use prony_manifest::{FileError, Source, UnknownName, fields};
use prony_model::MeasuredBy;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSuite {
    title: String,
    about: String,
    #[serde(default)]
    notes: Vec<String>,
    rounds: NonZeroU32,
    precision: Option<Precision>,
    budget: Option<Spanned<Budget>>,
    #[serde(deserialize_with = "fields::names")]
    servers: Vec<String>,
    measure: Vec<RawMeasure>,
    quick: Option<Spanned<Changes>>,
    published: Option<RawDocument>,
}

/// How long all trials together may take.
#[derive(Clone, Copy, Deserialize)]
pub(crate) struct Budget(#[serde(deserialize_with = "fields::some_duration")] Duration);

#[derive(Deserialize)]
#[serde(try_from = "MeasureFields")]
pub(crate) struct RawMeasure {
    id: Option<Spanned<String>>,
    workloads: Vec<String>,
    load: SuiteLoad,
    rounds: Option<NonZeroU32>,
    quick: Option<Spanned<Changes>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasureFields {
    id: Option<Spanned<String>>,
    #[serde(deserialize_with = "fields::names")]
    workloads: Vec<String>,
    load: Option<SuiteLoad>,
    #[serde(default)]
    by: MeasuredBy,
    requests: Option<NonZeroU64>,
    rounds: Option<NonZeroU32>,
    quick: Option<Spanned<Changes>>,
}

impl TryFrom<MeasureFields> for RawMeasure {
    type Error = String;

    fn try_from(fields: MeasureFields) -> Result<Self, String> {
        let load = load_of(fields.load.as_ref(), fields.by, fields.requests)?;
        Ok(Self {
            id: fields.id,
            workloads: fields.workloads,
            load: load.ok_or("missing field `load`")?,
            rounds: fields.rounds,
            quick: fields.quick,
        })
    }
}

/// The load of a measure: its own, or the one that counts instructions.
fn load_of(
    load: Option<&SuiteLoad>,
    by: MeasuredBy,
    requests: Option<NonZeroU64>,
) -> Result<Option<SuiteLoad>, String> {
    match by {
        MeasuredBy::Instructions => SuiteLoad::counting(load, requests).map(Some),
        MeasuredBy::Time if requests.is_some() => Err(
            "`requests` of a measure belongs to `by = \"instructions\"`; write `load.requests` to end a load after some requests"
                .to_owned(),
        ),
        MeasuredBy::Time => Ok(load.cloned()),
    }
}

/// Gives the workload of an id.
pub(crate) type FindWorkload<'a> = &'a dyn Fn(&str) -> Result<&'a Workload, UnknownName>;

/// A measure of `prony.toml`, where every field is optional.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MeasureTable {
    id: Option<Spanned<String>>,
    workloads: Option<Spanned<Vec<String>>>,
    load: Option<Spanned<SuiteLoad>>,
    by: Option<Spanned<MeasuredBy>>,
    requests: Option<NonZeroU64>,
    rounds: Option<NonZeroU32>,
    quick: Option<Spanned<Changes>>,
}

impl MeasureTable {
    /// The measure, by default of `all` workloads. `find` knows them.
    fn of(
        self,
        source: &Source,
        all: &[String],
        find: FindWorkload<'_>,
    ) -> Result<RawMeasure, FileError> {
        let workloads = match self.workloads {
            None => all.to_vec(),
            Some(list) if list.get_ref().is_empty() => {
                return Err(source.fault(list.span(), "it must not be empty"));
            }
            Some(list) => {
                let ids = list.get_ref();
                let mut twice = ids.iter().enumerate();
                if let Some((_, id)) = twice.find(|(i, id)| ids[..*i].contains(id)) {
                    return Err(source.fault(list.span(), format!("`{id}` is named twice")));
                }
                let known = list.get_ref().iter().try_for_each(|id| find(id).map(drop));
                known.map_err(|unknown| source.fault(list.span(), unknown))?;
                list.into_inner()
            }
        };
        if let Some(load) = &self.load {
            let spec = &load.get_ref().spec;
            let mut workloads = workloads.iter().filter_map(|id| find(id).ok());
            if let Some(why) = workloads.find_map(|workload| workload.refuses(spec)) {
                return Err(source.fault(load.span(), why));
            }
        }
        let by = self.by.as_ref();
        let place = by.map_or(0..0, Spanned::span);
        let by = by.map_or_else(MeasuredBy::default, |by| *by.get_ref());
        let own = self.load.as_ref().map(Spanned::get_ref);
        let load = load_of(own, by, self.requests).map_err(|why| source.fault(place, why))?;
        Ok(RawMeasure {
            id: self.id,
            workloads,
            load: load.unwrap_or_default(),
            rounds: self.rounds,
            quick: self.quick,
        })
    }
}

/// What `prony.toml` says about its suite.
pub(crate) struct SuiteTable {
    pub(crate) title: Option<String>,
    pub(crate) rounds: Option<NonZeroU32>,
    pub(crate) precision: Option<Precision>,
    pub(crate) budget: Option<Spanned<Budget>>,
    pub(crate) measures: Vec<MeasureTable>,
}

/// The rounds of a project's suite that does not say how many.
const USUAL_ROUNDS: NonZeroU32 = NonZeroU32::new(6).unwrap();

impl SuiteTable {
    /// The suite `id` of these servers, which measures `all` workloads unless its measures name others.
    pub(crate) fn suite(
        self,
        source: &Source,
        id: &str,
        servers: Vec<String>,
        all: &[String],
        find: FindWorkload<'_>,
    ) -> Result<Suite, FileError> {
        let mut measures = self.measures;
        if measures.is_empty() {
            measures.push(MeasureTable::default());
        }
        let measures = measures.into_iter();
        let measures: Vec<RawMeasure> = measures
            .map(|measure| measure.of(source, all, find))
            .collect::<Result<_, _>>()?;
        no_id_twice(source, &measures)?;
        let rounds = self.rounds.unwrap_or(USUAL_ROUNDS);
        let measures = measures.into_iter();
        let measures = measures.map(|one| one.check(source, rounds, Changes::default()));
        Ok(Suite {
            adaptive: adaptive(source, self.precision, self.budget.as_ref())?,
            measures: measures.collect::<Result<_, _>>()?,
            ..Suite::ad_hoc(
                id,
                self.title.unwrap_or_else(|| id.to_owned()),
                Vec::new(),
                servers,
            )
        })
    }
}

/// Why a suite cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// There is none with this name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// Its file is invalid.
    #[error(transparent)]
    File(#[from] FileError),
    #[error(
        "{}: a suite's file name may have only letters, digits, hyphens and underscores, and must end in .toml",
        .0.display()
    )]
    Name(PathBuf),
}

/// Whether it can be part of a run's id, and so of a folder's name.
pub(crate) fn is_id(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.chars().all(is_letter)
}

impl Suite {
    /// The ids of all suites in `folder`, sorted.
    pub fn ids(folder: &Path) -> Result<Vec<String>, FileError> {
        prony_manifest::ids(folder)
    }

    /// Reads `<folder>/<id>.toml`.
    pub fn read(folder: &Path, id: &str) -> Result<Self, SuiteError> {
        let known = Self::ids(folder)?;
        if !known.iter().any(|name| name == id) {
            let known = known.iter().map(String::as_str);
            return Err(UnknownName::new("suite", id, known).into());
        }
        let source = Source::open(&folder.join(format!("{id}.toml")))?;
        Ok(suite(id, &source)?)
    }

    /// Reads the suite in the file at `path`, which may be anywhere. Its id is the file's name without `.toml`.
    pub fn open(path: &Path) -> Result<Self, SuiteError> {
        let source = Source::open(path)?;
        let id = path.file_stem().and_then(|stem| stem.to_str());
        let id = id
            .filter(|id| is_id(id))
            .ok_or_else(|| SuiteError::Name(path.to_owned()))?;
        Ok(suite(id, &source)?)
    }
}

/// Reads the suite `id`.
fn suite(id: &str, source: &Source) -> Result<Suite, FileError> {
    let raw: RawSuite = source.parse()?;
    no_id_twice(source, &raw.measure)?;
    let adaptive = adaptive(source, raw.precision, raw.budget.as_ref())?;
    let quick = match &raw.quick {
        Some(quick) => {
            let loads = raw.measure.iter().map(|measure| &measure.load);
            changes_something(source, quick, loads.collect())?
        }
        None => Changes::default(),
    };
    let measures = raw
        .measure
        .into_iter()
        .map(|measure| measure.check(source, raw.rounds, quick))
        .collect::<Result<Vec<_>, _>>()?;
    let names = measures.iter();
    let names: Vec<_> = names
        .map(|one| (one.id.as_deref(), &*one.workloads))
        .collect();
    let document = raw.published;
    let document = document.map(|document| document.check(source, &raw.servers, &names));
    let document = document.transpose()?;
    Ok(Suite {
        id: id.to_owned(),
        title: raw.title,
        about: raw.about,
        notes: raw.notes,
        servers: raw.servers,
        measures,
        adaptive,
        document,
    })
}

impl RawMeasure {
    fn check(
        self,
        source: &Source,
        rounds: NonZeroU32,
        quick: Changes,
    ) -> Result<MeasureSpec, FileError> {
        let own = match &self.quick {
            Some(own) => changes_something(source, own, vec![&self.load])?,
            None => Changes::default(),
        };
        Ok(MeasureSpec {
            id: self.id.map(Spanned::into_inner),
            workloads: self.workloads,
            load: self.load,
            rounds: self.rounds.unwrap_or(rounds),
            quick: own.or(quick),
        })
    }
}

fn adaptive(
    source: &Source,
    precision: Option<Precision>,
    budget: Option<&Spanned<Budget>>,
) -> Result<Option<AdaptiveRounds>, FileError> {
    let Some(precision) = precision else {
        return match budget {
            None => Ok(None),
            Some(budget) => Err(source.fault(
                budget.span(),
                "`budget` needs `precision`, for instance \"3%\": without it the number of rounds is `rounds`",
            )),
        };
    };
    Ok(Some(AdaptiveRounds {
        precision,
        budget: budget.map_or(AdaptiveRounds::BUDGET, |budget| budget.get_ref().0),
        most_rounds: AdaptiveRounds::MOST_ROUNDS,
    }))
}

fn no_id_twice(source: &Source, measures: &[RawMeasure]) -> Result<(), FileError> {
    let mut ids = Vec::new();
    for id in measures.iter().filter_map(|measure| measure.id.as_ref()) {
        if ids.contains(&id.get_ref()) {
            let message = format!("two measures have the id `{}`", id.get_ref());
            return Err(source.fault(id.span(), message));
        }
        ids.push(id.get_ref());
    }
    Ok(())
}

/// Parses changes, each of which must apply to one of `loads`.
fn changes_something(
    source: &Source,
    quick: &Spanned<Changes>,
    loads: Vec<&SuiteLoad>,
) -> Result<Changes, FileError> {
    let changes = *quick.get_ref();
    let fault = |message: &str| Err(source.fault(quick.span(), message));
    let any_has = |has: fn(&SuiteLoad) -> bool| loads.iter().any(|load| has(load));
    if changes.is_empty() {
        return fault(
            "`quick` changes nothing: give `rounds`, `duration`, `warmup`, `warmup_limit` or `requests`",
        );
    }
    let has_warmup = any_has(SuiteLoad::has_warmup);
    let has = [
        (
            "duration",
            changes.duration.is_some(),
            any_has(|load| load.spec.duration.is_some()),
        ),
        (
            "requests",
            changes.requests.is_some(),
            any_has(|load| load.spec.requests.is_some()),
        ),
        ("warmup", changes.warmup.is_some(), has_warmup),
        ("warmup_limit", changes.warmup_limit.is_some(), has_warmup),
    ];
    if let Some((field, ..)) = has.iter().find(|(_, is_changed, has)| *is_changed && !has) {
        return fault(&format!(
            "`quick` sets `{field}`, but no load that it changes has it"
        ));
    }
    Ok(changes)
}
