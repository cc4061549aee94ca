//! Workloads: a request and its one expected response, or a Hurl file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use prony_manifest::{FileError, UnknownName};
use prony_model::{LoadSpec, Protocol};

use crate::request::DeclaredRequest;
use crate::response::DeclaredResponse;
use crate::scenario::DeclaredScenario;
use crate::values::DeclaredValues;

/// What to request of a server, and what to expect.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "WorkloadFields")]
pub struct Workload {
    /// The name of its file, without `.toml`.
    pub id: String,
    /// The folder of that file.
    pub folder: PathBuf,
    /// Its name in tables; by default its id.
    pub title: String,
    /// Its description, one sentence.
    pub about: String,
    /// The benchmark that it comes from.
    pub origin: Option<String>,
    /// What is requested.
    pub kind: WorkloadKind,
    /// Where the values of placeholders come from; without this a request has none, and a Hurl file only those that it
    /// sets itself.
    pub values: Option<DeclaredValues>,
}

/// What a workload requests.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are few, and most are the large one"
)]
pub enum WorkloadKind {
    /// One request, with other values each time if there are placeholders.
    Request {
        request: DeclaredRequest,
        /// Its one expected response.
        response: DeclaredResponse,
    },
    /// The requests of a Hurl file, which says what it expects.
    Scenario(DeclaredScenario),
}

/// The request of a workload and its one expected response.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    pub id: &'a str,
    pub request: &'a DeclaredRequest,
    /// Where the values of placeholders in the request come from; without this it has none.
    pub values: Option<&'a DeclaredValues>,
    /// The expected response.
    pub response: &'a DeclaredResponse,
}

impl Exchange<'_> {
    /// How request and response travel.
    pub fn protocol(&self) -> Protocol {
        self.request.protocol()
    }

    /// Whether its requests may differ from each other.
    pub(crate) fn may_differ(&self) -> bool {
        self.values.is_some() || self.request.keeps_cookies()
    }
}

/// The fields of a workload: `request` and `response`, or `scenario`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadFields {
    #[serde(default)]
    title: String,
    #[serde(default)]
    about: String,
    origin: Option<String>,
    request: Option<DeclaredRequest>,
    response: Option<DeclaredResponse>,
    scenario: Option<DeclaredScenario>,
    values: Option<DeclaredValues>,
}

impl TryFrom<WorkloadFields> for Workload {
    type Error = &'static str;

    fn try_from(fields: WorkloadFields) -> Result<Self, Self::Error> {
        let kind = match (fields.request, fields.response, fields.scenario) {
            (Some(request), Some(response), None) => WorkloadKind::Request { request, response },
            (None, None, Some(scenario)) => WorkloadKind::Scenario(scenario),
            (None, None, None) => {
                return Err(
                    "it has neither a request nor a scenario; give `request` and `response`, or the Hurl file of a \
                     `scenario`, for instance scenario = \"checkout.hurl\"",
                );
            }
            (_, _, Some(_)) => {
                return Err(
                    "`scenario` does not go with `request` or `response`: the Hurl file has the requests and what it \
                     expects of the responses; remove one of them",
                );
            }
            (None, Some(_), None) => return Err("missing field `request`"),
            (Some(_), None, None) => return Err("missing field `response`"),
        };
        Ok(Self {
            id: String::new(),
            folder: PathBuf::new(),
            title: fields.title,
            about: fields.about,
            origin: fields.origin,
            kind,
            values: fields.values,
        })
    }
}

impl Workload {
    /// Reads `<folder>/<id>.toml`.
    fn read(folder: &Path, id: String) -> Result<Self, FileError> {
        let workload: Self = prony_manifest::read(&folder.join(format!("{id}.toml")))?;
        Ok(workload.named(id, folder))
    }

    /// The same with an id, from a file in `folder`.
    pub fn named(self, id: String, folder: &Path) -> Self {
        let title = if self.title.is_empty() {
            id.clone()
        } else {
            self.title
        };
        Self {
            id,
            title,
            folder: folder.to_owned(),
            ..self
        }
    }

    /// Whether the other requests and expects the same, so that a server that serves one serves both.
    pub fn requests_the_same(&self, other: &Self) -> bool {
        (&self.kind, &self.values) == (&other.kind, &other.values)
    }

    /// Its request and its expected response; `None` if it has a Hurl file.
    pub fn exchange(&self) -> Option<Exchange<'_>> {
        match &self.kind {
            WorkloadKind::Request { request, response } => Some(Exchange {
                id: &self.id,
                request,
                values: self.values.as_ref(),
                response,
            }),
            WorkloadKind::Scenario(_) => None,
        }
    }

    /// Its Hurl file; `None` if it has one request.
    pub fn scenario(&self) -> Option<&DeclaredScenario> {
        match &self.kind {
            WorkloadKind::Request { .. } => None,
            WorkloadKind::Scenario(scenario) => Some(scenario),
        }
    }

    /// How its requests and responses travel.
    pub fn protocol(&self) -> Protocol {
        match &self.kind {
            WorkloadKind::Request { request, .. } => request.protocol(),
            WorkloadKind::Scenario(scenario) => scenario.protocol,
        }
    }

    /// How many lines on standard output the server must write per request.
    pub fn log_lines(&self) -> u32 {
        self.exchange().map_or(0, |own| own.response.log_lines)
    }

    /// Whether the body of its response is a stream of messages.
    pub(crate) fn is_stream(&self) -> bool {
        self.exchange().is_some_and(|own| own.response.is_stream())
    }

    /// The load as it is with this workload.
    pub fn under(&self, load: LoadSpec) -> LoadSpec {
        LoadSpec {
            flows: self.scenario().is_some(),
            ..load.over(self.protocol())
        }
    }

    /// Why it cannot have this load; `None` if it can.
    pub fn refuses(&self, load: &LoadSpec) -> Option<String> {
        let what = match self.exchange() {
            None => "the Hurl file",
            Some(own) if own.values.is_some() => "the `values`",
            Some(own) if own.may_differ() => "the `keep_cookies`",
            Some(_) => return None,
        };
        let field = [
            ("pipeline", load.pipeline > 1),
            ("streams", load.streams > 0),
            ("events", load.events),
        ]
        .into_iter()
        .find_map(|(field, is_set)| is_set.then_some(field))?;
        let field = match (field, self.protocol().is_http1()) {
            ("pipeline", false) => "streams_per_connection",
            (field, _) => field,
        };
        Some(format!(
            "the load has `{field}`, which does not go with {what} of `{}`: its users send one request after the \
             other; remove it, or measure this workload under another load",
            self.id
        ))
    }
}

/// All workloads, by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workloads(BTreeMap<String, Workload>);

impl Workloads {
    /// Reads every TOML file of `folder`.
    pub fn read(folder: &Path) -> Result<Self, FileError> {
        let ids = prony_manifest::ids(folder)?.into_iter();
        ids.map(|id| Ok((id.clone(), Workload::read(folder, id)?)))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Adds one, unless there already is one with its id.
    pub fn add(&mut self, workload: Workload) {
        self.0.entry(workload.id.clone()).or_insert(workload);
    }

    /// All of them, sorted by id.
    pub fn iter(&self) -> impl Iterator<Item = &Workload> {
        self.0.values()
    }

    /// All ids, sorted.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub fn get(&self, id: &str) -> Result<&Workload, UnknownName> {
        self.0
            .get(id)
            .ok_or_else(|| UnknownName::new("workload", id, self.ids()))
    }

    /// Those with these ids, in this order.
    pub fn select<'a>(
        &self,
        ids: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<&Workload>, UnknownName> {
        ids.into_iter().map(|id| self.get(id)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::HttpRequest;
    use crate::response::{ExpectedContent, Status};
    use crate::without_field;
    use prony_testkit::table::{refused, refused_changes};
    use prony_testkit::{contains, starts_with};
    use tempfile::TempDir;

    const SSE: &str = r#"title = "Server-sent page"
about = "A page as one event."
origin = "datastar"
[request]
method = "GET"
path = "/sse"
[response]
status = 200
content_type = "text/event-stream"
body = { datastar_patch_of = "page-100k.html" }
headers = { "cache-control" = "no-cache" }
log_lines = 1
"#;

    /// Reads a folder that has the text as its only workload.
    fn read_all(text: &str) -> Result<Workloads, String> {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("sse.toml"), text).unwrap();
        std::fs::write(folder.path().join("README.md"), "no workload").unwrap();
        Workloads::read(folder.path()).map_err(|error| {
            let path = format!("{}/", folder.path().display());
            without_field(&error.to_string().replace(&path, ""))
        })
    }

    fn read(text: &str) -> Result<Workload, String> {
        let all = read_all(text)?;
        assert_eq!(all.ids().collect::<Vec<_>>(), ["sse"]);
        Ok(all.get("sse").unwrap().clone())
    }

    #[test]
    fn every_field_is_read() {
        let sse = read(SSE).unwrap();
        let expected = Workload {
            id: "sse".into(),
            title: "Server-sent page".into(),
            about: "A page as one event.".into(),
            origin: Some("datastar".into()),
            folder: sse.folder.clone(),
            values: None,
            kind: WorkloadKind::Request {
                request: DeclaredRequest::Http(HttpRequest::new("GET", "/sse", Protocol::Http11)),
                response: DeclaredResponse {
                    content_type: Some("text/event-stream".into()),
                    body: Some(ExpectedContent::DatastarPatchOf("page-100k.html".into()).into()),
                    headers: [("cache-control".into(), "no-cache".into())].into(),
                    log_lines: 1,
                    ..DeclaredResponse::new(Status::OK)
                },
            },
        };
        assert_eq!(sse, expected);
    }

    #[test]
    fn a_request_and_a_status_are_enough() {
        let text = "[request]\nmethod = \"GET\"\npath = \"/\"\n[response]\nstatus = [200, 304]\n";
        let workload = read(text).unwrap();
        let shown = (workload.title.as_str(), workload.about.as_str());
        assert_eq!((shown, &workload.origin), (("sse", ""), &None));
        let response = workload.exchange().unwrap().response;
        let codes: Vec<u16> = response
            .status
            .as_slice()
            .iter()
            .map(|it| it.code())
            .collect();
        assert_eq!(codes, [200, 304]);
        assert_eq!((&response.content_type, &response.body), (&None, &None));
    }

    #[test]
    fn faults_are_reported_with_file_line_field_and_nearest_name() {
        refused_changes(
            SSE,
            read,
            r#"
            about = | abuot = | sse.toml:2: unknown field `abuot`
            about = | abuot = | did you mean `about`?
            path = | pth = | sse.toml:6: unknown field `pth`
            datastar_patch_of | datastar_pach_of | did you mean `datastar_patch_of`?
            method = "GET"\n | "" | missing field `method`
            method = "GET"\n | "" | sse.toml:4:\u{20}
            "/sse" | "sse" | sse.toml:6: `sse` is not a path
            "GET" | "G T" | sse.toml:5: `G T` is not a method
            200 | 99 | sse.toml:8: 99 is not a final status
            200 | "ok" | sse.toml:8: expected a whole number, not the text "ok"
            [response] | [response | sse.toml:7:\u{20}
            [response] | protocol = "h3"\n[response] | sse.toml:7: unknown name `h3`, expected `http/1.1` or `h2`
            [response] | protocol = "http/11"\n[response] | did you mean `http/1.1`?
            [response] | tsl = true\n[response] | did you mean `tls`?
            [response] | tls = "yes"\n[response] | sse.toml:7: expected `true` or `false`, not the text "yes"
            "#,
        );
    }

    #[test]
    fn version_and_tls_make_the_protocol() {
        for (text, lines, expected) in [
            (SSE, "", Protocol::Http11),
            (SSE, "protocol = \"http/1.1\"\n", Protocol::Http11),
            (SSE, "tls = true\n", Protocol::Https11),
            (SSE, "protocol = \"h2\"\n", Protocol::H2c),
            (SSE, "protocol = \"h2\"\ntls = true\n", Protocol::H2),
            (CALL, "", Protocol::Grpc),
            (CALL, "protocol = \"h2\"\n", Protocol::Grpc),
            (CALL, "tls = true\n", Protocol::GrpcTls),
        ] {
            let text = text.replace("[request]\n", &format!("[request]\n{lines}"));
            assert_eq!(read(&text).unwrap().protocol(), expected, "{text}");
        }
    }

    const CALL: &str = r#"title = "Unary call"
about = "A call."
origin = "hydragen"
[request]
grpc = "prony.echo.v1.Echo/Unary"
message = { 1 = "r" }
[response]
status = 200
content_type = "application/grpc"
headers = { "grpc-status" = "0" }
body = { message = { 1 = "r" } }
"#;

    #[test]
    fn a_call_is_read_and_its_faults_are_reported() {
        let with_dot = read(&CALL.replace("Echo/Unary", "Echo.Unary")).unwrap();
        let call = read(CALL).unwrap();
        let call = call.exchange().unwrap();
        assert_eq!(with_dot.exchange().unwrap().request, call.request);
        let DeclaredRequest::Grpc { path, message, .. } = call.request else {
            panic!("{:?}", call.request);
        };
        assert_eq!(path, "/prony.echo.v1.Echo/Unary");
        assert_eq!(message.encode(), b"\x0a\x01r");
        let expected = ExpectedContent::Message(message.clone());
        assert_eq!(call.response.body, Some(expected.into()));
        refused_changes(
            CALL,
            read,
            r#"
            prony.echo.v1.Echo/Unary | Unary | sse.toml:5: `Unary` is not a call
            message = { 1 = "r" }\n[ | [ | has `grpc` and `message`
            grpc = | path = "/"\ngrpc = | neither `method` nor `path`
            grpc = "prony.echo.v1.Echo/Unary" | method = "GET"\npath = "/" | name the call with `grpc`
            grpc = | protocol = "http/1.1"\ngrpc = | gRPC needs HTTP/2
            message = { 1 | message = { one | sse.toml:6: `one` is not a field number
            "#,
        );
    }

    #[test]
    fn a_hurl_file_is_read_instead_of_a_request() {
        for (line, protocol, has_values) in [
            ("scenario = 'a/b.hurl'", Protocol::Http11, false),
            (
                "scenario = { file = 'a/b.hurl', tls = true }\nvalues = { counters = { n = 1 } }",
                Protocol::Https11,
                true,
            ),
            (
                "[scenario]\nfile = 'a/b.hurl'\nprotocol = 'h2'",
                Protocol::H2c,
                false,
            ),
        ] {
            let read = read(&format!("about = \"Orders\"\n{line}\n")).unwrap();
            assert!(read.exchange().is_none());
            let file = "a/b.hurl".into();
            let declared = DeclaredScenario { file, protocol };
            assert_eq!(read.scenario(), Some(&declared), "{line}");
            assert_eq!(read.values.is_some(), has_values, "{line}");
        }
    }

    #[test]
    fn faults_of_hurl_files_are_reported_with_line_and_nearest_name() {
        refused(
            read,
            r#"
            scenario = 'a.toml' | sse.toml:1: `a.toml` is not the name of a Hurl file
            scenario = 3 | sse.toml:1: expected the name of a Hurl file or
            \nscenario = { files = 'a.hurl' } | sse.toml:2: unknown field `files`
            scenario = { files = 'a.hurl' } | did you mean `file`?
            scenaro = 'a.hurl' | did you mean `scenario`?
            scenario = { tls = true } | missing field `file`
            scenario = { file = 'a.hurl', protocol = 'h3' } | unknown name `h3`, expected `http/1.1` or `h2`
            scenario = 'a.hurl'\nresponse = { status = 200 } | `scenario` does not go with `request` or `response`
            title = 'x' | it has neither a request nor a scenario
            response = { status = 200 } | missing field `request`
            request = { method = 'GET', path = '/' } | missing field `response`
            "#,
        );
    }

    #[test]
    fn only_a_hurl_file_refuses_loads() {
        let load = LoadSpec {
            pipeline: 2,
            ..LoadSpec::default()
        };
        let of = |text: &str| read(text).unwrap();
        let (request, flows) = (of(SSE), of("scenario = 'a.hurl'"));
        assert_eq!(request.refuses(&load), None);
        assert_eq!(flows.refuses(&LoadSpec::default()), None);
        contains(&flows.refuses(&load).unwrap(), "`pipeline`");
        let h2 = of("scenario = { file = 'a.hurl', protocol = 'h2' }");
        contains(&h2.refuses(&load).unwrap(), "`streams_per_connection`");
        assert!(flows.under(load.clone()).flows && !request.under(load).flows);
    }

    #[test]
    fn an_unknown_id_is_reported_with_the_nearest() {
        let workloads = read_all(SSE).unwrap();
        assert_eq!(workloads.select(["sse"]).unwrap().len(), 1);
        let error = workloads.select(["sse", "sse-2k"]).unwrap_err().to_string();
        assert_eq!(error, "there is no workload `sse-2k`; did you mean `sse`?");
    }

    #[test]
    fn a_missing_folder_is_reported() {
        let error = Workloads::read(Path::new("no/such/folder")).unwrap_err();
        starts_with(&error.to_string(), "cannot read no/such/folder: ");
    }
}
