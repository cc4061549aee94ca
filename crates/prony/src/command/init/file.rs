//! The text of a new `prony.toml`.

use std::borrow::Borrow;

use prony_server::ServerUrl;

use super::candidates::{Candidate, unique};
use super::observe::Observed;

/// A longer body is expected by its size alone.
const LONGEST_TEXT: usize = 2048;

#[derive(Clone)]
pub(super) enum FoundServer {
    Program(Candidate),
    Running { id: String, url: ServerUrl },
}

impl FoundServer {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Program(candidate) => &candidate.id,
            Self::Running { id, .. } => id,
        }
    }

    pub(super) fn described(self, observed: Vec<Observed>) -> DescribedServer {
        DescribedServer {
            found_server: self,
            observed,
        }
    }

    fn is_over_tls(&self) -> bool {
        matches!(self, Self::Running { url, .. } if url.is_tls())
    }
}

/// A server and what it responded; nothing if that is not known.
pub(super) struct DescribedServer {
    pub(crate) found_server: FoundServer,
    pub(crate) observed: Vec<Observed>,
}

const HEADING: &str = "\
# What Prony measures in this project.
#
#   prony verify    build and start the servers, check their responses
#   prony run       the same, then load them and compare
#   prony ab main   is the working tree slower than main?
#   prony capacity NAME   how much load does the server NAME take?
#
# docs/project-file.md in Prony's repository explains all fields.
";

/// Instead of what Prony observed.
const NO_WORKLOAD: &str = "
# Prony received no usable response. Describe a request and the response that you expect.
# [workload.home]
# request = { method = \"GET\", path = \"/\" }
# response = { status = 200 }
";

const MEASURE: &str = "
# What each server must achieve; `prony run` has exit status 5 if one does not.
# objectives = \"p99 < 50ms, errors < 0.1%\"   # before the first [table]

# The load. A [[measure]] may name its workloads; there may be several.
[[measure]]
load = { shape = \"closed\", connections = 64, duration = \"2s\" }
# load = { shape = \"rate\", rate = \"1k/s\", connections = 64, duration = \"10s\" }   # an open loop
";

/// A request and its response, which the same servers serve.
struct Workload<'a> {
    observed: &'a Observed,
    is_over_tls: bool,
    /// Whether the servers write the same JSON differently.
    is_json: bool,
    servers: Vec<&'a str>,
}

impl Workload<'_> {
    fn is_also(&self, other: &Observed, is_over_tls: bool) -> bool {
        let one = self.observed;
        is_over_tls == self.is_over_tls
            && (&one.path, one.status, &one.content_type)
                == (&other.path, other.status, &other.content_type)
            && (one.body == other.body || is_same_json(one, other))
    }
}

/// Whether both bodies are the same JSON, short enough to be written down.
fn is_same_json(one: &Observed, other: &Observed) -> bool {
    let json = |observed: &Observed| -> Option<serde_json::Value> {
        let body = observed.body.as_deref()?;
        let is_short = body.len() <= LONGEST_TEXT;
        is_short.then(|| serde_json::from_slice(body).ok())?
    };
    json(one).is_some_and(|value| json(other) == Some(value))
}

/// What the servers serve: each request with the same response once.
fn workloads(servers: &[DescribedServer]) -> Vec<Workload<'_>> {
    let mut workloads: Vec<Workload<'_>> = Vec::new();
    for server in servers {
        let (id, is_over_tls) = (server.found_server.id(), server.found_server.is_over_tls());
        for observed in &server.observed {
            let known = workloads
                .iter_mut()
                .find(|known| !known.servers.contains(&id) && known.is_also(observed, is_over_tls));
            if let Some(known) = known {
                known.is_json |= known.observed.body != observed.body;
                known.servers.push(id);
            } else {
                workloads.push(Workload {
                    observed,
                    is_over_tls,
                    is_json: false,
                    servers: vec![id],
                });
            }
        }
    }
    workloads
}

pub(super) fn text(servers: &[DescribedServer]) -> String {
    let mut text = HEADING.to_owned();
    let workloads = workloads(servers);
    let ids = workload_ids(&workloads, servers.len());
    let all_serve_all = workloads
        .iter()
        .all(|one| one.servers.len() == servers.len());
    for server in servers {
        let served = workloads.iter().zip(&ids);
        let served = served.filter(|(one, _)| one.servers.contains(&server.found_server.id()));
        let named: Vec<&String> = served.map(|(_, id)| id).collect();
        // Without a list, a server serves all workloads of the file.
        text += &server_table(server, if all_serve_all { &[] } else { &named });
    }
    for (workload, id) in workloads.iter().zip(&ids) {
        text += &workload_table(id, workload);
    }
    if workloads.is_empty() {
        text += NO_WORKLOAD;
    }
    text + MEASURE
}

/// The table of a server that serves the workloads with these ids; all of the file if there are none.
fn server_table(server: &DescribedServer, workloads: &[&String]) -> String {
    let mut text = match &server.found_server {
        FoundServer::Program(candidate) => program(candidate),
        FoundServer::Running { id, url } => running(id, url),
    };
    if server.observed.iter().any(|one| !one.keeps_alive) {
        text += "keep_alive = false   # it closes connections after a response\n";
    }
    text + &list("workloads", &all_quoted(workloads))
}

fn running(id: &str, url: &ServerUrl) -> String {
    let mut text = format!(
        "\n# It already runs: Prony neither builds, starts, pins nor stops it.\n[server.{id}]\nurl = {}\n",
        quoted(&url.to_string())
    );
    if url.is_tls() {
        text += "# cacert = \"ca.pem\"   # trust the certificates in this file\n\
                 # insecure = true     # or trust every certificate\n";
    }
    text
}

fn program(candidate: &Candidate) -> String {
    let mut text = format!(
        "\n# From {}. Prony sets HOST, PORT and CPUS when it starts the server.\n",
        candidate.found_by
    );
    text += &format!("[server.{}]\n", candidate.id);
    if !candidate.language.is_empty() {
        text += &format!("language = {}\n", quoted(candidate.language));
    }
    if !candidate.folder.is_empty() {
        text += &format!("folder = {}\n", quoted(&candidate.folder));
    }
    text += &list("needs", &candidate.needs);
    text += &list("inputs", &all_quoted(&candidate.inputs));
    match candidate.build.as_slice() {
        [] => {}
        // A single list would be one of commands.
        [one] if shell_script(one).is_none() => text += &format!("build = {}\n", quoted(one)),
        several => {
            let lines = several.iter().map(|one| format!("  {},\n", command(one)));
            text += &format!("build = [\n{}]\n", lines.collect::<String>());
        }
    }
    text += &format!("run = {}\n", command(&candidate.run));
    match candidate.env.as_slice() {
        [] => text += "# env = { DATABASE_URL = \"postgres://localhost/test\" }\n",
        env => {
            let env = env
                .iter()
                .map(|(name, value)| format!("{name} = {}", quoted(value)));
            text += &format!("env = {{ {} }}\n", env.collect::<Vec<_>>().join(", "));
        }
    }
    text
}

/// A field with a list of values of TOML, unless there are none.
fn list(field: &str, values: &[impl Borrow<str>]) -> String {
    match values {
        [] => String::new(),
        values => format!("{field} = [{}]\n", values.join(", ")),
    }
}

fn all_quoted(texts: &[impl AsRef<str>]) -> Vec<String> {
    texts.iter().map(|text| quoted(text.as_ref())).collect()
}

/// A command as a value of TOML. What a shell reads may have characters that a command as text may not.
fn command(text: &str) -> String {
    match shell_script(text) {
        Some(script) => format!("[\"sh\", \"-c\", {}]", quoted(script)),
        None => quoted(text),
    }
}

/// The script, if the command is `sh -c 'SCRIPT'`.
fn shell_script(command: &str) -> Option<&str> {
    let script = command.strip_prefix("sh -c '")?.strip_suffix('\'')?;
    (!script.contains('\'')).then_some(script)
}

/// The ids of the workloads, each once: `/a?page=1` and `/a?page=2` are `a` and `a-2`.
fn workload_ids(workloads: &[Workload<'_>], servers: usize) -> Vec<String> {
    let mut known = Vec::new();
    let ids = workloads
        .iter()
        .map(|one| unique(&workload_id(one, servers > 1), &mut known));
    ids.collect()
}

/// `home` for `/`, `api-users` for `/api/users`; with the server's id before it if only one of several serves it.
fn workload_id(workload: &Workload<'_>, are_several: bool) -> String {
    let path = &workload.observed.path;
    let path = path.split('?').next().unwrap_or_default();
    let letters = path
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let id: String = letters.collect();
    let id = match id.trim_matches('-') {
        "" => "home",
        id => id,
    };
    match workload.servers.as_slice() {
        [server] if are_several => format!("{server}-{id}"),
        _ => id.to_owned(),
    }
}

fn workload_table(id: &str, workload: &Workload<'_>) -> String {
    let observed = workload.observed;
    let from = match workload.servers.as_slice() {
        [_] => String::new(),
        servers => format!(" from {}", servers.join(", ")),
    };
    let mut text = format!(
        "\n# Prony received this response{from}. Check that it is right.\n[workload.{id}]\n"
    );
    text += &format!(
        "request = {{ method = \"GET\", path = {}{} }}\n",
        quoted(&observed.path),
        if workload.is_over_tls {
            ", tls = true"
        } else {
            ""
        }
    );
    text += &format!("[workload.{id}.response]\nstatus = {}\n", observed.status);
    if let Some(content_type) = &observed.content_type {
        text += &format!("content_type = {}\n", quoted(content_type));
    }
    let body = observed.body.as_deref();
    let rule = if workload.is_json { "json" } else { "text" };
    text += &match body.map(std::str::from_utf8) {
        Some(Ok(body)) if body.len() <= LONGEST_TEXT => {
            format!("body = {{ {rule} = {} }}\n", quoted(body))
        }
        Some(_) => format!("body = {{ size = {} }}\n", body.map_or(0, <[u8]>::len)),
        None => "# The body differed from response to response. Check what all have in common, for instance:\n\
                 # body = { contains = \"…\" }\n"
            .to_owned(),
    };
    text
}

/// As a TOML string on one line: what JSON escapes, TOML writes alike, but it allows no delete character either.
fn quoted(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.replace('\u{7f}', "\\u007F")
}

#[cfg(test)]
mod tests {
    use prony_run::{ProjectFile, Workloads};
    use prony_testkit::{contains, lacks};

    use super::*;

    #[test]
    fn a_quoted_text_is_read_as_it_was() {
        for text in ["a \"b\" \\ c", "1\n2\r\n\t3\u{7f}\u{1}", "für {host}"] {
            let table: toml::Table = format!("text = {}", quoted(text)).parse().unwrap();
            assert_eq!(table["text"].as_str(), Some(text));
        }
    }

    fn described(id: &str, path: &str, body: Option<&str>) -> DescribedServer {
        DescribedServer {
            found_server: FoundServer::Program(Candidate {
                id: id.to_owned(),
                found_by: "package.json".to_owned(),
                language: "JavaScript",
                build: vec!["npm ci".to_owned(), "npm run build".to_owned()],
                run: "node server.js".to_owned(),
                ..Candidate::default()
            }),
            observed: vec![Observed {
                path: path.to_owned(),
                status: 200,
                content_type: Some("application/json".to_owned()),
                body: body.map(|body| body.as_bytes().to_vec()),
                keeps_alive: body.is_some(),
            }],
        }
    }

    #[test]
    fn one_server_is_the_golden_file() {
        let long = "x".repeat(LONGEST_TEXT + 1);
        let mut server = described("shop", "/", Some("{\"a\": 1}\n"));
        server
            .observed
            .extend(described("", "/api/items?page=2", None).observed);
        server
            .observed
            .extend(described("", "/long", Some(&long)).observed);
        insta::assert_snapshot!(text(&[server]));
    }

    #[test]
    fn paths_that_look_alike_have_workloads_of_their_own() {
        let mut server = described("shop", "/a?page=1", None);
        for path in ["/a?page=2", "/a", "/", "/home"] {
            server.observed.extend(described("", path, None).observed);
        }
        let table: toml::Table = text(&[server]).parse().unwrap();
        let ids: Vec<&String> = table["workload"].as_table().unwrap().keys().collect();
        assert_eq!(ids, ["a", "a-2", "a-3", "home", "home-2"]);
    }

    #[test]
    fn a_program_of_a_workspace_is_read_as_it_was_written() {
        let mut server = described("api", "/", None);
        let FoundServer::Program(candidate) = &mut server.found_server else {
            unreachable!("it is a program");
        };
        candidate.folder = "apps/api".to_owned();
        candidate.needs = vec!["{ program = \"pnpm\", install = \"corepack enable pnpm\" }"];
        candidate.inputs = vec!["../../pnpm-lock.yaml".to_owned()];
        candidate.build = vec!["sh -c 'a | b'".to_owned()];
        candidate.run = "sh -c 'exec \"$(ls)\"'".to_owned();
        let text = text(&[server]);
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("apps/api")).unwrap();
        let path = folder.path().join("prony.toml");
        let file = ProjectFile::of(&path, &text, &Workloads::default());
        assert!(file.is_ok(), "{text}");
        for line in [
            "folder = \"apps/api\"",
            "needs = [{ program = \"pnpm\", install = \"corepack enable pnpm\" }]",
            "inputs = [\"../../pnpm-lock.yaml\"]",
            "build = [\n  [\"sh\", \"-c\", \"a | b\"],\n]",
            "run = [\"sh\", \"-c\", \"exec \\\"$(ls)\\\"\"]",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn servers_that_respond_alike_share_a_workload() {
        let json = |id: &str, body: &str| described(id, "/", Some(body));
        let alike = [json("shop", "{\"a\": 1}"), json("go-shop", "{\"a\":1}\n")];
        let all = text(&alike);
        contains(&all, "response from shop, go-shop. Check");
        contains(&all, "[workload.home]");
        contains(&all, "body = { json = \"{\\\"a\\\": 1}\" }");
        lacks(&all, "workloads = ");

        let [shop, go] = alike;
        let text = text(&[shop, go, json("admin", "{\"a\": 2}")]);
        assert_eq!(text.matches("workloads = [\"home\"]").count(), 2, "{text}");
        contains(&text, "workloads = [\"admin-home\"]");
        contains(&text, "[workload.admin-home]");
        let _: toml::Table = text.parse().unwrap();
    }
}
