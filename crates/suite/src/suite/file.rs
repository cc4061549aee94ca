//! A suite as it is written, and its checks.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::published::RawDocument;
use super::{Changes, MeasureSpec, Suite, SuiteLoad};
use crate::adaptive::{AdaptiveRounds, Precision};
use prony_manifest::{FileError, Source, fields};

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

/// How long the trials may take altogether.
#[derive(Clone, Copy, Deserialize)]
struct Budget(#[serde(deserialize_with = "fields::some_duration")] Duration);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMeasure {
    id: Option<Spanned<String>>,
    #[serde(deserialize_with = "fields::names")]
    workloads: Vec<String>,
    load: SuiteLoad,
    rounds: Option<NonZeroU32>,
    quick: Option<Spanned<Changes>>,
}

/// Reads the suite `id`.
pub(super) fn suite(id: &str, source: &Source) -> Result<Suite, FileError> {
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
    let document = match raw.published {
        Some(document) => Some(document.check(source, &raw.servers, &measures)?),
        None => None,
    };
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
                "`budget` needs `precision`, for instance \"3%\": without it the rounds are as many as `rounds` says",
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

/// Changes of which every one must find something to change in one of `loads`.
fn changes_something(
    source: &Source,
    quick: &Spanned<Changes>,
    loads: Vec<&SuiteLoad>,
) -> Result<Changes, FileError> {
    let changes = *quick.get_ref();
    let fault = |message: &str| Err(source.fault(quick.span(), message));
    let none_has = |has: fn(&SuiteLoad) -> bool| !loads.iter().any(|load| has(load));
    if changes.is_empty() {
        return fault(
            "`quick` changes nothing: give `rounds`, `duration`, `warmup`, `warmup_limit` or `requests`",
        );
    }
    if changes.duration.is_some() && none_has(|load| load.duration.is_some()) {
        return fault("`quick` has a `duration`, but no load that it changes has one");
    }
    if changes.requests.is_some() && none_has(|load| load.requests.is_some()) {
        return fault("`quick` has `requests`, but no load that it changes has them");
    }
    if changes.warmup.is_some() && none_has(|load| !load.warmup.is_zero()) {
        return fault("`quick` has a `warmup`, but no load that it changes has one");
    }
    if changes.warmup_limit.is_some() && none_has(|load| !load.warmup.is_zero()) {
        return fault("`quick` has a `warmup_limit`, but no load that it changes has a warm-up");
    }
    Ok(changes)
}
