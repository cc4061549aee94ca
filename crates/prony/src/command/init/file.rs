//! The text of a new `prony.toml`.

use std::borrow::Borrow;

use prony_server::ServerUrl;

use super::candidates::{Candidate, unique};
use super::observe::Observed;

/// A longer body is expected by its size alone.
const LONGEST_TEXT: usize = 2048;

/// A server to describe.
#[derive(Clone)]
pub enum FoundServer {
    /// A program that Prony starts.
    Program(Candidate),
    /// A server that already runs.
    Running { id: String, url: ServerUrl },
}

impl FoundServer {
    /// Its name in `prony.toml`.
    pub fn id(&self) -> &str {
        match self {
            Self::Program(candidate) => &candidate.id,
            Self::Running { id, .. } => id,
        }
    }

    fn is_over_tls(&self) -> bool {
        matches!(self, Self::Running { url, .. } if url.is_tls())
    }
}

/// A server and what it responded; nothing if that is not known.
pub struct DescribedServer {
    pub found_server: FoundServer,
    pub observed: Vec<Observed>,
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

/// The text of the file for these servers.
pub fn text(servers: &[DescribedServer]) -> String {
    let mut text = HEADING.to_owned();
    let ids = workload_ids(servers);
    for (server, ids) in servers.iter().zip(&ids) {
        // One server serves all workloads of the file.
        let named = if servers.len() > 1 { &ids[..] } else { &[] };
        text += &server_table(server, named);
    }
    for (server, ids) in servers.iter().zip(&ids) {
        let own = ids.iter().zip(&server.observed);
        let is_over_tls = server.found_server.is_over_tls();
        text.extend(own.map(|(id, one)| workload_table(id, one, is_over_tls)));
    }
    if servers.iter().all(|server| server.observed.is_empty()) {
        text += NO_WORKLOAD;
    }
    text + MEASURE
}

/// The table of a server that serves the workloads with these ids; all of the file if there are none.
fn server_table(server: &DescribedServer, workloads: &[String]) -> String {
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

fn all_quoted(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| quoted(text)).collect()
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

/// The ids of the workloads of each server, each once: `/a?page=1` and `/a?page=2` are `a` and `a-2`.
fn workload_ids(servers: &[DescribedServer]) -> Vec<Vec<String>> {
    let mut known = Vec::new();
    let ids = servers.iter().map(|server| {
        let own = server.observed.iter();
        own.map(|one| unique(&workload_id(server, one, servers.len() > 1), &mut known))
            .collect()
    });
    ids.collect()
}

/// `home` for `/`, `api-users` for `/api/users`; with the server's id before it if there are several servers.
fn workload_id(server: &DescribedServer, observed: &Observed, is_one_of_several: bool) -> String {
    let path = observed.path.split('?').next().unwrap_or_default();
    let letters = path
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let id: String = letters.collect();
    let id = match id.trim_matches('-') {
        "" => "home",
        id => id,
    };
    match is_one_of_several {
        true => format!("{}-{id}", server.found_server.id()),
        false => id.to_owned(),
    }
}

fn workload_table(id: &str, observed: &Observed, is_over_tls: bool) -> String {
    let mut text =
        format!("\n# Prony received this response. Check that it is right.\n[workload.{id}]\n");
    text += &format!(
        "request = {{ method = \"GET\", path = {}{} }}\n",
        quoted(&observed.path),
        if is_over_tls { ", tls = true" } else { "" }
    );
    text += &format!("[workload.{id}.response]\nstatus = {}\n", observed.status);
    if let Some(content_type) = &observed.content_type {
        text += &format!("content_type = {}\n", quoted(content_type));
    }
    let body = observed.body.as_deref();
    text += &match body.map(std::str::from_utf8) {
        Some(Ok(body)) if body.len() <= LONGEST_TEXT => {
            format!("body = {{ text = {} }}\n", quoted(body))
        }
        Some(_) => format!("body = {{ size = {} }}\n", body.map_or(0, <[u8]>::len)),
        None => "# The body differed from response to response. Check what all have in common, for instance:\n\
                 # body = { contains = \"…\" }\n"
            .to_owned(),
    };
    text
}

/// As a TOML string on one line.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            '\r' => quoted += "\\r",
            c if c.is_control() => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use prony_suite::{ProjectFile, Workloads};

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
    fn several_servers_have_workloads_of_their_own() {
        let text = text(&[described("shop", "/", None), described("admin", "/", None)]);
        assert!(text.contains("workloads = [\"shop-home\"]"), "{text}");
        assert!(text.contains("[workload.admin-home]"), "{text}");
        let _: toml::Table = text.parse().unwrap();
    }
}
