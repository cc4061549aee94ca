//! Workloads that are Hurl files.

use std::fmt;
use std::path::Path;

use prony_model::Protocol;
use prony_traffic::{
    ConnectionOptions, Scenario, ScenarioError, Scheme, Secrets, Sources, Traffic,
};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::files::{AssetError, Files};
use crate::request::HttpVersion;
use crate::values::{DeclaredValues, PreparedValues, ValuesError};

/// Some host and port, to see whether a file can be run.
const ANY_AUTHORITY: &str = "127.0.0.1:1";
/// The variable that Prony sets to the host and the port of the server.
const HOST: &str = "host";

/// The Hurl file of a workload, as a workload file declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclaredScenario {
    pub file: String,
    /// How its requests travel.
    pub protocol: Protocol,
}

impl<'de> Deserialize<'de> for DeclaredScenario {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FileOrTable)
    }
}

/// By hand, because serde's untagged enums do not say which field is wrong.
struct FileOrTable;

impl<'de> Visitor<'de> for FileOrTable {
    type Value = DeclaredScenario;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a Hurl file or `{ file = \"NAME\" }`")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<DeclaredScenario, E> {
        let name: StrDeserializer<'_, E> = name.into_deserializer();
        Ok(DeclaredScenario {
            file: hurl_file(name)?,
            protocol: Protocol::Http11,
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DeclaredScenario, A::Error> {
        let fields = ScenarioFields::deserialize(MapAccessDeserializer::new(map))?;
        Ok(DeclaredScenario {
            file: fields.file,
            protocol: HttpVersion::protocol(fields.protocol, fields.tls),
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioFields {
    #[serde(deserialize_with = "hurl_file")]
    file: String,
    protocol: Option<HttpVersion>,
    #[serde(default)]
    tls: bool,
}

fn hurl_file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    let extension = Path::new(&name).extension();
    if extension.is_some_and(|extension| extension == "hurl") {
        Ok(name)
    } else {
        Err(D::Error::custom(format_args!(
            "`{name}` is not the name of a Hurl file, which ends in .hurl"
        )))
    }
}

/// Why the Hurl file of a workload cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioFault {
    #[error(transparent)]
    File(#[from] AssetError),
    #[error(transparent)]
    Values(#[from] ValuesError),
    /// Hurl's own words, which name the file and the line.
    #[error(transparent)]
    Scenario(ScenarioError),
    #[error(
        "{place}: the variable `{name}` is not defined, and Prony sets only `{HOST}`; give it a value in workload `{workload}`, for instance values = {{ variables = {{ {name} = \"…\" }} }}"
    )]
    Undefined {
        workload: String,
        place: String,
        name: String,
    },
    #[error(
        "{place}: `{url}` names another server than the entries before it, but a workload measures one; write http://{{{{{HOST}}}}} or https://{{{{{HOST}}}}} in every URL, and Prony sets `{HOST}` to the measured server"
    )]
    OtherServer { place: String, url: String },
    #[error("{file}: {reason}")]
    Connection { file: String, reason: String },
}

/// The Hurl file of a workload with the values of its variables, ready for any server.
pub struct PreparedScenario {
    /// Its name for messages about responses.
    pub(crate) file: String,
    text: String,
    /// The values of its variables, and the folder whose files it may name.
    sources: Sources,
    protocol: Protocol,
    /// Those of its values, and what basic authentication makes of them.
    pub(crate) secrets: Secrets,
    /// Whether users capture secrets from responses, which nobody else knows.
    pub(crate) captures_secrets: bool,
}

impl PreparedScenario {
    /// Reads the file, and the files that it and its values name.
    ///
    /// # Errors
    ///
    /// If a file is unusable, or the scenario cannot be run.
    pub fn new(
        workload: &str,
        declared: &DeclaredScenario,
        values: Option<&DeclaredValues>,
        files: &Files,
    ) -> Result<Self, ScenarioFault> {
        let (path, text) = files.hurl(workload, &declared.file)?;
        let PreparedValues {
            mut sources,
            secrets,
        } = values
            .unwrap_or(&DeclaredValues::default())
            .prepare(workload, files)?;
        sources.set_folder(path.parent().unwrap_or(Path::new("")).to_owned());
        let mut prepared = Self {
            file: declared.file.clone(),
            text,
            protocol: declared.protocol,
            sources,
            secrets,
            captures_secrets: false,
        };
        let path = path.display().to_string();
        let scenario = prepared.named(&path, ANY_AUTHORITY);
        let scenario = scenario.map_err(|error| fault(workload, error))?;
        if let Some(reason) = misfit(&scenario, workload, declared) {
            return Err(ScenarioFault::Connection { file: path, reason });
        }
        prepared.secrets = scenario.secrets().clone();
        prepared.captures_secrets = scenario.captures_secrets();
        Ok(prepared)
    }

    /// The URL of the server with this host and port, and the flows for it. Rows and counters begin again.
    pub(crate) fn encode(&self, authority: &str) -> Result<(String, Traffic), ScenarioError> {
        let scenario = self.named(&self.file, authority)?;
        let url = scenario.server().as_str().to_owned();
        Ok((url, Traffic::flows_of(scenario, self.protocol.into())))
    }

    fn named(&self, file: &str, authority: &str) -> Result<Scenario, ScenarioError> {
        let mut sources = self.sources.clone();
        if !sources.sets(HOST) {
            let set = sources.set(HOST, authority);
            set.map_err(|error| ScenarioError::Invalid {
                place: file.to_owned(),
                reason: error.to_string(),
            })?;
        }
        Scenario::hiding(self.secrets.clone(), file, &self.text, sources)
    }
}

/// The error with what helps in a workload, where no flags give values.
fn fault(workload: &str, error: ScenarioError) -> ScenarioFault {
    match error {
        ScenarioError::Undefined { place, name } => ScenarioFault::Undefined {
            workload: workload.to_owned(),
            place,
            name,
        },
        ScenarioError::OtherServer { place, url, .. } => ScenarioFault::OtherServer { place, url },
        other => ScenarioFault::Scenario(other),
    }
}

/// What differs between the file and the workload about connections, and what to write.
fn misfit(scenario: &Scenario, workload: &str, declared: &DeclaredScenario) -> Option<String> {
    let DeclaredScenario { file, protocol } = declared;
    let (is_tls, is_http1) = (protocol.is_tls(), protocol.is_http1());
    let ConnectionOptions { http1, http2, .. } = scenario.connection();
    let table = |tls: bool, h2: bool| {
        let tls = if tls { ", tls = true" } else { "" };
        let h2 = if h2 { ", protocol = \"h2\"" } else { "" };
        format!("scenario = {{ file = \"{file}\"{tls}{h2} }}")
    };
    match (scenario.server().scheme(), is_tls) {
        (Scheme::Https, false) => {
            let table = table(true, !is_http1);
            return Some(format!(
                "its URLs begin with https://, but workload `{workload}` is requested without TLS; write {table}"
            ));
        }
        (Scheme::Http, true) => {
            return Some(format!(
                "its URLs begin with http://, but workload `{workload}` has `tls = true`; remove that, or write https:// in the URLs"
            ));
        }
        _ => {}
    }
    if http2 && is_http1 {
        let table = table(is_tls, true);
        return Some(format!(
            "its requests have the option `http2`, but workload `{workload}` is requested over HTTP/1.1; write {table}"
        ));
    }
    (http1 && !is_http1).then(|| {
        format!(
            "its requests have the option `http1.1`, but workload `{workload}` has `protocol = \"h2\"`; remove one of them"
        )
    })
}
