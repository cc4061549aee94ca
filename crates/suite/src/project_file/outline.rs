//! Headers of servers and workloads that say something else than their writer meant.

use std::ops::Range;

use prony_manifest::{FileError, Source};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What tables describe.
struct Kind {
    name: &'static str,
    /// A field that each table has.
    field: &'static str,
}

const KINDS: [Kind; 2] = [
    Kind {
        name: "server",
        field: "run",
    },
    Kind {
        name: "workload",
        field: "request",
    },
];

/// What is wrong, and where.
type Fault = (Range<usize>, String);

/// The fault of an invalid file, if it is such a header.
pub fn fault(source: &Source) -> Option<FileError> {
    let file = DeTable::parse(source.text()).ok()?;
    let (span, message) = KINDS.iter().find_map(|kind| kind.fault(file.get_ref()))?;
    Some(source.fault(span, message))
}

impl Kind {
    fn fault(&self, file: &DeTable<'_>) -> Option<Fault> {
        let (kind, field) = (self.name, self.field);
        let all = file.get(kind)?;
        let own = all.get_ref().get(field);
        if own.is_some_and(|own| own.get_ref().get(field).is_none()) {
            let message = format!("a {kind} needs a name: write its header as [{kind}.NAME]");
            return Some((all.span(), message));
        }
        let mut tables = all.get_ref().as_table()?.iter();
        tables.find_map(|(name, table)| self.fault_of(name.get_ref(), table))
    }

    /// What is wrong with the table of this name.
    fn fault_of(&self, name: &str, table: &Spanned<DeValue<'_>>) -> Option<Fault> {
        let (kind, field) = (self.name, self.field);
        if table
            .get_ref()
            .get(0)
            .is_some_and(|one| one.get_ref().is_table())
        {
            let message = format!("write the header with one pair of brackets: [{kind}.{name}]");
            return Some((table.span(), message));
        }
        let mut fields = table.get_ref().as_table()?.iter();
        let (inner, table) = fields.find(|(_, value)| value.get_ref().get(field).is_some())?;
        let inner = inner.get_ref();
        let message = format!(
            "because of the dot, `{inner}` is a field of the {kind} `{name}`; a {kind} has no dot in its name: write \
             [{kind}.{name}-{inner}]"
        );
        Some((table.span(), message))
    }
}
