//! Sources as data for other hosts.

use std::collections::BTreeMap;
use std::sync::Arc;

use prony_hurl::evaluate::{Number, Value};
use prony_load::{Base64, NotPortable};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    Counter, Data, Random, RandomRange, RandomRangeError, Sources, SourcesError, add_row,
    check_name,
};
use crate::environment::NamedFiles;

/// Values and files that a scenario needs. The next flow of another host has the number that it would have here.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourcesData {
    variables: BTreeMap<String, VariableData>,
    rows: Vec<RowsData>,
    counters: Vec<(String, i64)>,
    randoms: Vec<RandomData>,
    first_flow: u64,
    #[serde(deserialize_with = "Option::deserialize")]
    files: Option<BTreeMap<String, Base64>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct VariableData {
    value: Json,
    is_secret: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RandomData {
    name: String,
    least: i64,
    most: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowsData {
    names: Vec<String>,
    /// Those of one row after the other.
    values: Vec<Json>,
}

impl Sources {
    /// The sources with the content of these files, which are all that the file names.
    pub(crate) fn data(
        &self,
        files: Option<BTreeMap<String, Base64>>,
    ) -> Result<SourcesData, NotPortable> {
        let variables = self.variables.names().filter_map(|name| {
            let variable = self.variables.get(name)?;
            let data = to_json(&variable.value).map(|value| VariableData {
                value,
                is_secret: variable.is_secret,
            });
            Some(data.map(|data| (name.to_owned(), data)))
        });
        let rows = self.data.iter().map(|Data { names, values }| {
            Ok(RowsData {
                names: names.clone(),
                values: values.iter().map(to_json).collect::<Result<_, _>>()?,
            })
        });
        let counters = self.counters.iter();
        let counters = counters.map(|Counter { name, first }| (name.clone(), *first));
        let randoms = self
            .randoms
            .iter()
            .map(|Random { name, range }| RandomData {
                name: name.clone(),
                least: range.least,
                most: range.most,
            });
        Ok(SourcesData {
            variables: variables.collect::<Result<_, _>>()?,
            rows: rows.collect::<Result<_, _>>()?,
            counters: counters.collect(),
            randoms: randoms.collect(),
            first_flow: self.flows_begun(),
            files,
        })
    }
}

impl SourcesData {
    /// # Errors
    ///
    /// If these cannot be sources.
    pub(crate) fn sources(self) -> Result<Sources, SourcesError> {
        let mut sources = Sources::default();
        for (name, VariableData { value, is_secret }) in self.variables {
            check_name(&name)?;
            let value = Value::from_json(&value);
            if is_secret {
                sources.variables.set_secret(name, value);
            } else {
                sources.variables.set(name, value);
            }
        }
        for RowsData { names, values } in self.rows {
            sources.claim_all(&names)?;
            let mut all = Vec::new();
            add_row(&mut all, values.iter().map(Value::from_json))?;
            if names.is_empty() || !all.len().is_multiple_of(names.len()) {
                return Err(SourcesError::Empty);
            }
            sources.add_rows(names, all)?;
        }
        for (name, first) in self.counters {
            sources.add_counter(&name, first)?;
        }
        for RandomData { name, least, most } in self.randoms {
            let range = RandomRange::within(least, most);
            sources.add_random(&name, range.map_err(std::io::Error::other)?)?;
        }
        sources.begin_with_flow(self.first_flow);
        sources.files = self.files.map(|files| NamedFiles::Sent(Arc::new(files)));
        Ok(sources)
    }
}

impl RandomRange {
    pub(super) fn within(least: i64, most: i64) -> Result<Self, RandomRangeError> {
        if least <= most {
            Ok(Self { least, most })
        } else {
            Err(RandomRangeError::Order { least, most })
        }
    }
}

/// The JSON that [`Value::from_json`] reads as the value.
fn to_json(value: &Value) -> Result<Json, NotPortable> {
    let unable = || NotPortable("a value that JSON does not have");
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(value) => Json::Bool(*value),
        Value::Text(text) => Json::String(text.clone()),
        Value::Number(Number::Integer(number)) => Json::from(*number),
        Value::Number(Number::Float(number)) => {
            Json::Number(serde_json::Number::from_f64(*number).ok_or_else(unable)?)
        }
        Value::Number(Number::BigInteger(digits)) => {
            Json::from(digits.parse::<u64>().map_err(|_| unable())?)
        }
        Value::List(values) => Json::Array(values.iter().map(to_json).collect::<Result<_, _>>()?),
        Value::Object(members) => {
            let members = members.iter();
            let members = members.map(|(name, value)| Ok((name.clone(), to_json(value)?)));
            Json::Object(members.collect::<Result<_, _>>()?)
        }
        Value::Bytes(_) | Value::Date(_) | Value::Redirect(_) | Value::Regex(_) | Value::Unit => {
            return Err(unable());
        }
    })
}
