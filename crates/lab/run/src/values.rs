//! Where the values of placeholders come from.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use prony_traffic::{RandomRange, Secrets, Sources, SourcesError, check_name};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::files::{AssetError, Files};
use crate::one_or_more::OneOrMore;
use crate::request::{Resolver, Unset, Value};

/// Where the values of placeholders come from: the table `values` of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "ValuesFields")]
pub struct DeclaredValues {
    /// Those that never differ, by name.
    pub variables: BTreeMap<String, Value>,
    /// Files whose rows are used in turn; their columns name the values.
    pub rows: Vec<String>,
    /// Whole numbers that count up, by name, with the first one.
    pub counters: BTreeMap<String, i64>,
    /// Whole numbers that are drawn, by name.
    pub random: BTreeMap<String, RandomRange>,
}

/// The fields of the table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ValuesFields {
    #[serde(default)]
    variables: BTreeMap<String, Value>,
    rows: Option<OneOrMore<String>>,
    #[serde(default)]
    counters: BTreeMap<String, i64>,
    #[serde(default, deserialize_with = "ranges")]
    random: BTreeMap<String, RandomRange>,
}

/// Why the values of a workload are unusable.
#[derive(Debug, thiserror::Error)]
pub enum ValuesError {
    #[error(
        "workload `{workload}`: the value `{name}` is the environment variable {variable}, which is {why}; set it: export {variable}=…"
    )]
    Variable {
        workload: String,
        name: String,
        variable: String,
        why: &'static str,
    },
    /// A file of rows is not there.
    #[error(transparent)]
    File(#[from] AssetError),
    #[error("workload `{workload}`: {origin} {error}")]
    Source {
        workload: String,
        /// The file, or the field and the name.
        origin: String,
        error: SourcesError,
    },
}

/// The values of a workload, read from their files and the environment.
#[derive(Clone)]
pub struct PreparedValues {
    /// Where they come from. A clone begins with the first row.
    pub sources: Sources,
    /// What must not be shown.
    pub secrets: Secrets,
}

impl fmt::Debug for PreparedValues {
    // The sources have secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "values with {:?}", self.secrets)
    }
}

impl TryFrom<ValuesFields> for DeclaredValues {
    type Error = String;

    fn try_from(fields: ValuesFields) -> Result<Self, String> {
        let mut known = BTreeMap::new();
        let names = [
            ("variables", fields.variables.keys().collect::<Vec<_>>()),
            ("counters", fields.counters.keys().collect()),
            ("random", fields.random.keys().collect()),
        ];
        for (field, names) in names {
            for name in names {
                check_name(name).map_err(|error| format!("`{field}` {error}"))?;
                if let Some(other) = known.insert(name.clone(), field) {
                    return Err(format!(
                        "both `{other}` and `{field}` set the value `{name}`; remove one"
                    ));
                }
            }
        }
        let rows = fields.rows.as_ref();
        Ok(Self {
            variables: fields.variables,
            rows: rows.map_or(Vec::new(), |rows| rows.as_slice().to_vec()),
            counters: fields.counters,
            random: fields.random,
        })
    }
}

fn ranges<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, RandomRange>, D::Error> {
    let ranges = BTreeMap::<String, String>::deserialize(deserializer)?;
    let range = |(name, text): (String, String)| match text.parse() {
        Ok(range) => Ok((name, range)),
        Err(error) => Err(D::Error::custom(format_args!(
            "`{name} = \"{}\"` is not a range: {error}",
            text.escape_default()
        ))),
    };
    ranges.into_iter().map(range).collect()
}

impl DeclaredValues {
    /// Reads the files and the environment for the workload with this id.
    ///
    /// # Errors
    ///
    /// If a file is unusable, an environment variable is not set, or two sources set the same value.
    pub fn prepare(&self, workload: &str, files: &Files) -> Result<PreparedValues, ValuesError> {
        self.prepare_with(workload, files, &|name| std::env::var_os(name))
    }

    /// The same with other environment variables.
    pub(crate) fn prepare_with(
        &self,
        workload: &str,
        files: &Files,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<PreparedValues, ValuesError> {
        let mut resolver = Resolver::new(environment);
        let mut sources = Sources::default();
        let failed = |origin: String| {
            move |error| ValuesError::Source {
                workload: workload.to_owned(),
                origin,
                error,
            }
        };
        for (name, value) in &self.variables {
            let text = resolver.text(value);
            let text = text.map_err(|Unset { variable, why }| ValuesError::Variable {
                workload: workload.to_owned(),
                name: name.clone(),
                variable,
                why,
            })?;
            let set = if value.is_secret() {
                sources.set_secret(name, &text)
            } else {
                sources.set_unchanged(name, &text)
            };
            set.map_err(failed(format!("the variable `{name}`")))?;
        }
        for name in &self.rows {
            let path: PathBuf = files.path(workload, name)?;
            let origin = path.display().to_string();
            sources.add_file(&path).map_err(failed(origin))?;
        }
        for (name, first) in &self.counters {
            let added = sources.add_counter(name, *first);
            added.map_err(failed(format!("the counter `{name}`")))?;
        }
        for (name, range) in &self.random {
            let added = sources.add_random(name, *range);
            added.map_err(failed(format!("the random number `{name}`")))?;
        }
        Ok(PreparedValues {
            sources,
            secrets: resolver.secrets,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::table::{refused, rows};
    use tempfile::TempDir;

    fn declared(text: &str) -> DeclaredValues {
        toml::from_str(text).unwrap()
    }

    /// Why values cannot be prepared in a folder with some files; empty if they can.
    fn failure(text: &str) -> String {
        let folder = TempDir::new().unwrap();
        for (name, content) in [
            ("items.csv", "item,price\npen,1\n"),
            ("more.jsonl", "{\"item\": \"cup\"}\n"),
            ("empty.csv", ""),
            ("names.csv", "item\n"),
            ("empty.jsonl", "\n"),
        ] {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        let files = Files::new(folder.path(), folder.path().join("assets"));
        let environment = |name: &str| (name == "TOKEN").then(|| "swordfish".into());
        let prepared = declared(text).prepare_with("order", &files, &environment);
        let place = format!("{}/", folder.path().display());
        prepared
            .err()
            .map_or(String::new(), |error| error.to_string().replace(&place, ""))
    }

    #[test]
    fn every_field_is_read() {
        let values = declared(
            r#"
            rows = "items.csv"
            counters = { order = 1 }
            random = { amount = "1..500" }
            [variables]
            shop = "north"
            token = { env = "TOKEN", secret = true }
            "#,
        );
        assert_eq!(values.rows, ["items.csv"]);
        assert_eq!(values.counters["order"], 1);
        assert_eq!(values.random["amount"], "1..500".parse().unwrap());
        assert_eq!(values.variables["shop"], Value::Text("north".into()));
        assert!(values.variables["token"].is_secret());
        assert_eq!(declared(""), DeclaredValues::default());
        assert_eq!(declared("rows = ['a.csv', 'b.csv']").rows.len(), 2);
    }

    #[test]
    fn faults_of_the_table_are_reported() {
        refused(
            |text: &str| toml::from_str::<DeclaredValues>(text),
            r#"
            row = 'a.csv' | unknown field `row`, expected one of
            rows = [] | the list is empty
            random = { n = '9..1' } | `n = "9..1"` is not a range: the smaller number comes first: write 1..9
            random = { n = '9' } | `n = "9"` is not a range: write the smallest and the largest number, such as 1..1000
            counters = { n = 1 }\nrandom = { n = '1..9' } | both `counters` and `random` set the value `n`; remove one
            counters = { 'a b' = 1 } | `counters` sets `a b`, which cannot be the name of a variable: use letters
            counters = { newUuid = 1 } | `counters` sets `newUuid`, which cannot be the name of a variable
            counters = { n = 'x' } | invalid type: string "x"
            "#,
        );
    }

    #[test]
    fn faults_of_the_sources_are_reported() {
        for [text, expected] in rows(
            r#"
            rows = 'items.csv'\ncounters = { n = 1 } | ""
            rows = 'none.csv' | cannot read none.csv, which workload `order` needs: No such file or directory (os error 2)
            rows = 'empty.csv' | workload `order`: empty.csv has no rows
            rows = 'names.csv' | workload `order`: names.csv has no rows
            rows = 'empty.jsonl' | workload `order`: empty.jsonl has no rows
            rows = ['items.csv', 'more.jsonl'] | workload `order`: more.jsonl sets the variable `item`, which has another source
            rows = 'items.csv'\ncounters = { price = 1 } | workload `order`: the counter `price` sets the variable `price`, which has another source
            variables = { price = 2 }\nrows = 'items.csv' | workload `order`: items.csv sets the variable `price`, which has another source
            counters = { n = 9223372036854775807 } | workload `order`: the counter `n` begins with 9223372036854775807: write a first number between -4611686018427387904 and 4611686018427387904
            variables = { t = { env = 'TOKEN' } } | ""
            variables = { t = { env = 'NO_TOKEN', secret = true } } | workload `order`: the value `t` is the environment variable NO_TOKEN, which is not set; set it: export NO_TOKEN=…
            "#,
        ) {
            assert_eq!(failure(text), expected, "{text}");
        }
    }

    #[test]
    fn secrets_are_hidden() {
        let text = "variables = { t = { env = 'TOKEN', secret = true, prefix = 'Bearer ' } }";
        let files = Files::new(".", ".");
        let environment = |_: &str| Some("swordfish".into());
        let prepared = declared(text).prepare_with("order", &files, &environment);
        let prepared = prepared.unwrap();
        assert_eq!(prepared.secrets.hide("a swordfish"), "a ***");
        assert!(!format!("{prepared:?}").contains("swordfish"));
    }
}
