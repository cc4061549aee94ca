//! Headers of servers and workloads that say something else than their writer meant.

use std::ops::Range;

use prony_manifest::{FileError, Source};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What tables describe.
struct TableKind {
    name: &'static str,
    fields: &'static [&'static str],
}

const KINDS: [TableKind; 2] = [
    TableKind {
        name: "server",
        fields: &["run", "url"],
    },
    TableKind {
        name: "workload",
        fields: &["request"],
    },
];

/// What is wrong, and where.
type Fault = (Range<usize>, String);

/// The fault of an invalid file, if it is such a header.
pub(super) fn fault(source: &Source) -> Option<FileError> {
    let file = DeTable::parse(source.text()).ok()?;
    let (span, message) = KINDS.iter().find_map(|kind| kind.fault(file.get_ref()))?;
    Some(source.fault(span, message))
}

impl TableKind {
    fn fault(&self, file: &DeTable<'_>) -> Option<Fault> {
        let kind = self.name;
        let all = file.get(kind)?;
        // A server may be named after a field, and then has that field itself.
        let mut own = self
            .fields
            .iter()
            .filter_map(|field| all.get_ref().get(*field));
        if own.any(|own| !self.describes_one(own.get_ref())) {
            let message = format!("a {kind} needs a name: write its header as [{kind}.NAME]");
            return Some((all.span(), message));
        }
        let mut tables = all.get_ref().as_table()?.iter();
        tables.find_map(|(name, table)| self.fault_of(name.get_ref(), table))
    }

    /// Whether a value is the table of a server or workload.
    fn describes_one(&self, value: &DeValue<'_>) -> bool {
        self.fields.iter().any(|field| value.get(*field).is_some())
    }

    /// What is wrong with the table of this name.
    fn fault_of(&self, name: &str, table: &Spanned<DeValue<'_>>) -> Option<Fault> {
        let kind = self.name;
        if table
            .get_ref()
            .get(0)
            .is_some_and(|one| one.get_ref().is_table())
        {
            let message = format!("write the header with one pair of brackets: [{kind}.{name}]");
            return Some((table.span(), message));
        }
        let mut fields = table.get_ref().as_table()?.iter();
        let (inner, table) = fields.find(|(_, value)| self.describes_one(value.get_ref()))?;
        let inner = inner.get_ref();
        let message = format!(
            "because of the dot, `{inner}` is a field of the {kind} `{name}`; a {kind} has no dot in its name: write \
             [{kind}.{name}-{inner}]"
        );
        Some((table.span(), message))
    }
}
