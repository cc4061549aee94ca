//! Tables of one workload at several rates.

use std::ptr;

use prony_model::{LoadShape, LoadSpec, RateText};
use prony_present::load;
use prony_present::words::plural;

use crate::table::ResultTable;

/// The tables of one workload whose loads differ by nothing but their constant rate, the lowest first; two at least.
pub(crate) struct Rates<'t> {
    workload: &'t str,
    /// Their load without its rate.
    load: LoadSpec,
    pub(crate) tables: Vec<(f64, &'t ResultTable)>,
}

/// The constant rate of a load, and the load without it.
fn constant(load: &LoadSpec) -> Option<(f64, LoadSpec)> {
    let LoadShape::Rate(schedule) = &load.shape else {
        return None;
    };
    let [stage] = &schedule.stages[..] else {
        return None;
    };
    let is_constant = stage.from_per_s == stage.to_per_s;
    let mut rest = load.clone();
    if let LoadShape::Rate(schedule) = &mut rest.shape {
        schedule.stages.clear();
    }
    is_constant.then_some((stage.to_per_s, rest))
}

impl<'t> Rates<'t> {
    /// Those of each workload and load that were measured at several rates.
    pub(crate) fn of(tables: &'t [ResultTable]) -> Vec<Self> {
        let mut groups: Vec<Self> = Vec::new();
        for table in tables {
            let Some((rate, load)) = constant(&table.load) else {
                continue;
            };
            let mut known = groups.iter_mut();
            match known.find(|group| group.workload == table.workload && group.load == load) {
                Some(group) => group.tables.push((rate, table)),
                None => groups.push(Self {
                    workload: &table.workload,
                    load,
                    tables: vec![(rate, table)],
                }),
            }
        }
        groups.retain(|group| group.tables.len() > 1);
        for group in &mut groups {
            group.tables.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        }
        groups
    }

    /// The workload, and how its load differs if the workload has several groups.
    pub(crate) fn name(&self, all: &[Self]) -> String {
        let same = all.iter().filter(|other| other.workload == self.workload);
        let loads: Vec<&LoadSpec> = same.map(|other| &other.load).collect();
        match load::difference(&self.load, &loads) {
            words if words.is_empty() => self.workload.to_owned(),
            words => format!("{}, {words}", self.workload),
        }
    }

    /// Their load in a line: `5 rates, open loop, Poisson, 64 connections, 2 s`.
    pub(crate) fn line(&self) -> String {
        let [(rate, first), rest @ ..] = &self.tables[..] else {
            return String::new();
        };
        let line = if rest.iter().all(|(_, table)| table.rounds == first.rounds) {
            load::in_rounds(&first.load, first.rounds)
        } else {
            load::line(&first.load)
        };
        let rates = plural(self.tables.len(), "rate");
        line.replacen(&RateText(*rate).to_string(), &rates, 1)
    }

    /// Whether its table with the lowest rate is this one.
    pub(crate) fn begins_with(&self, table: &ResultTable) -> bool {
        let first = self.tables.first();
        first.is_some_and(|(_, one)| ptr::eq(*one, table))
    }

    pub(crate) fn has(&self, table: &ResultTable) -> bool {
        self.tables.iter().any(|(_, one)| ptr::eq(*one, table))
    }

    /// The lines that `of` gives for each table. A line that all tables have appears once, and the others follow their rate.
    pub(crate) fn notes(&self, of: impl Fn(&ResultTable) -> Vec<String>) -> Vec<String> {
        let of_each: Vec<(f64, Vec<String>)> = self
            .tables
            .iter()
            .map(|(rate, table)| (*rate, of(table)))
            .collect();
        let is_of_all = |note: &String| of_each.iter().all(|(_, notes)| notes.contains(note));
        let mut notes: Vec<String> = Vec::new();
        for (rate, own) in &of_each {
            for note in own {
                if !is_of_all(note) {
                    notes.push(format!("{}: {note}", RateText(*rate)));
                } else if !notes.contains(note) {
                    notes.push(note.clone());
                }
            }
        }
        notes
    }
}
