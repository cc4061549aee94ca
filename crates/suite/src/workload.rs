//! Workloads: a request and its one expected response.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use prony_manifest::{FileError, UnknownName};
use prony_model::Protocol;

use crate::request::Request;
use crate::response::DeclaredResponse;
use crate::values::DeclaredValues;

/// A request and its one expected response.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The name of its file, without `.toml`.
    #[serde(skip)]
    pub id: String,
    /// The folder of that file.
    #[serde(skip)]
    pub folder: PathBuf,
    /// Its name in tables; by default its id.
    #[serde(default)]
    pub title: String,
    /// Its description, one sentence.
    #[serde(default)]
    pub about: String,
    /// The benchmark that it comes from.
    pub origin: Option<String>,
    /// The request.
    pub request: Request,
    /// Where the values of placeholders in the request come from; without this it has none.
    pub values: Option<DeclaredValues>,
    /// The expected response.
    pub response: DeclaredResponse,
}

impl Workload {
    /// Reads `<folder>/<id>.toml`.
    fn read(folder: &Path, id: String) -> Result<Self, FileError> {
        let workload: Self = prony_manifest::read(&folder.join(format!("{id}.toml")))?;
        Ok(workload.named(id, folder))
    }

    /// The same with an id, from a file in `folder`.
    pub fn named(self, id: String, folder: &Path) -> Self {
        let title = match self.title.is_empty() {
            true => id.clone(),
            false => self.title,
        };
        Self {
            id,
            title,
            folder: folder.to_owned(),
            ..self
        }
    }

    /// Whether the other has the same request and expected response, so that a server that serves one serves both.
    pub fn has_the_same_request_and_response(&self, other: &Self) -> bool {
        let (request, values) = (&other.request, &other.values);
        (&self.request, &self.values, &self.response) == (request, values, &other.response)
    }

    /// How its requests and responses travel.
    pub fn protocol(&self) -> Protocol {
        self.request.protocol()
    }
}

/// All workloads, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

    /// The one with this id.
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

    fn read(text: &str) -> Result<Workloads, String> {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("sse.toml"), text).unwrap();
        std::fs::write(folder.path().join("README.md"), "no workload").unwrap();
        Workloads::read(folder.path()).map_err(|error| {
            let path = format!("{}/", folder.path().display());
            without_field(&error.to_string().replace(&path, ""))
        })
    }

    #[test]
    fn every_field_is_read() {
        let workloads = read(SSE).unwrap();
        assert_eq!(workloads.ids().collect::<Vec<_>>(), ["sse"]);
        let sse = workloads.get("sse").unwrap();
        assert_eq!(
            (sse.id.as_str(), sse.title.as_str()),
            ("sse", "Server-sent page")
        );
        assert_eq!(
            (sse.about.as_str(), sse.origin.as_deref()),
            ("A page as one event.", Some("datastar"))
        );
        let request = HttpRequest::new("GET", "/sse", Protocol::Http11);
        assert_eq!(sse.request, Request::Http(request));
        let response = &sse.response;
        assert_eq!(response.status.as_slice(), [Status::OK]);
        assert_eq!(response.log_lines, 1);
        assert_eq!(response.content_type.as_deref(), Some("text/event-stream"));
        let patch = ExpectedContent::DatastarPatchOf("page-100k.html".into());
        assert_eq!(response.body, Some(patch.into()));
        assert_eq!(response.headers["cache-control"], "no-cache");
    }

    #[test]
    fn a_request_and_a_status_are_enough() {
        let text = "[request]\nmethod = \"GET\"\npath = \"/\"\n[response]\nstatus = [200, 304]\n";
        let workloads = read(text).unwrap();
        let workload = workloads.get("sse").unwrap();
        let shown = (workload.title.as_str(), workload.about.as_str());
        assert_eq!((shown, &workload.origin), (("sse", ""), &None));
        let response = &workload.response;
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
        for (from, to, expected) in [
            ("about =", "abuot =", "sse.toml:2: unknown field `abuot`"),
            ("about =", "abuot =", "did you mean `about`?"),
            ("path =", "pth =", "sse.toml:6: unknown field `pth`"),
            (
                "datastar_patch_of",
                "datastar_pach_of",
                "did you mean `datastar_patch_of`?",
            ),
            ("method = \"GET\"\n", "", "missing field `method`"),
            ("method = \"GET\"\n", "", "sse.toml:4: "),
            ("\"/sse\"", "\"sse\"", "sse.toml:6: `sse` is not a path"),
            ("\"GET\"", "\"G T\"", "sse.toml:5: `G T` is not a method"),
            ("200", "99", "sse.toml:8: 99 is not a final status"),
            (
                "200",
                "\"ok\"",
                "sse.toml:8: expected a whole number, not the text \"ok\"",
            ),
            ("[response]", "[response", "sse.toml:7: "),
            (
                "[response]",
                "protocol = \"h3\"\n[response]",
                "sse.toml:7: unknown name `h3`, expected `http/1.1` or `h2`",
            ),
            (
                "[response]",
                "protocol = \"http/11\"\n[response]",
                "did you mean `http/1.1`?",
            ),
            (
                "[response]",
                "tsl = true\n[response]",
                "did you mean `tls`?",
            ),
            (
                "[response]",
                "tls = \"yes\"\n[response]",
                "sse.toml:7: expected `true` or `false`, not the text \"yes\"",
            ),
        ] {
            let error = read(&SSE.replace(from, to)).unwrap_err();
            assert!(error.contains(expected), "{error}\nlacks {expected}");
        }
    }

    #[test]
    fn version_and_tls_make_the_protocol() {
        let protocol = |text: &str, lines: &str| {
            let text = text.replace("[request]\n", &format!("[request]\n{lines}"));
            let workloads = read(&text).unwrap();
            workloads.get("sse").unwrap().protocol()
        };
        for (lines, http) in [
            ("", Protocol::Http11),
            ("protocol = \"http/1.1\"\n", Protocol::Http11),
            ("tls = true\n", Protocol::Https11),
            ("protocol = \"h2\"\n", Protocol::H2c),
            ("protocol = \"h2\"\ntls = true\n", Protocol::H2),
        ] {
            assert_eq!(protocol(SSE, lines), http, "{lines}");
        }
        for (lines, grpc) in [
            ("", Protocol::Grpc),
            ("protocol = \"h2\"\n", Protocol::Grpc),
            ("tls = true\n", Protocol::GrpcTls),
        ] {
            assert_eq!(protocol(CALL, lines), grpc, "{lines}");
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
        let workloads = read(CALL).unwrap();
        let call = workloads.get("sse").unwrap();
        let Request::Grpc { path, message, .. } = &call.request else {
            panic!("{:?}", call.request);
        };
        assert_eq!(path, "/prony.echo.v1.Echo/Unary");
        assert_eq!(message.encode(), b"\x0a\x01r");
        let expected = ExpectedContent::Message(message.clone());
        assert_eq!(call.response.body, Some(expected.into()));
        for (from, to, expected) in [
            (
                "Echo/Unary",
                "Echo.Unary",
                "sse.toml:5: `prony.echo.v1.Echo.Unary` is not a call",
            ),
            (
                "message = { 1 = \"r\" }\n[",
                "[",
                "has `grpc` and `message`",
            ),
            (
                "grpc =",
                "path = \"/\"\ngrpc =",
                "neither `method` nor `path`",
            ),
            (
                "grpc = \"prony.echo.v1.Echo/Unary\"",
                "method = \"GET\"\npath = \"/\"",
                "name the call with `grpc`",
            ),
            (
                "grpc =",
                "protocol = \"http/1.1\"\ngrpc =",
                "gRPC needs HTTP/2",
            ),
            (
                "message = { 1",
                "message = { one",
                "sse.toml:6: `one` is not a field number",
            ),
        ] {
            let error = read(&CALL.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(expected), "{error}\nlacks {expected}");
        }
    }

    #[test]
    fn an_unknown_id_is_reported_with_the_nearest() {
        let workloads = read(SSE).unwrap();
        assert_eq!(workloads.select(["sse"]).unwrap().len(), 1);
        let error = workloads.select(["sse", "sse-2k"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no workload `sse-2k`; did you mean `sse`?"
        );
    }

    #[test]
    fn a_missing_folder_is_reported() {
        let error = Workloads::read(Path::new("no/such/folder")).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("cannot read no/such/folder: "),
            "{error}"
        );
    }
}
