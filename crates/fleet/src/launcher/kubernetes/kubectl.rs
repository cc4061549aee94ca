//! `kubectl`: its command lines, and its failures in plain words.

use std::io;
use std::process::Command;
use std::time::Duration;

use super::settings::Kubernetes;
use crate::launcher::bounded;

/// A command must end within this time.
const REPLY: Duration = Duration::from_secs(15);
/// What to do about a missing right.
const ROLE: &str = "packaging/kubernetes/role.yaml has all rights that Prony needs";
/// How its own messages begin.
const OWN: [&str; 4] = [
    "error: ",
    "Error from server",
    "The connection to the server",
    "Unable to connect to the server",
];
/// Parts of its messages if it knows no cluster. Without a kubeconfig it tries one on this host.
const NO_CLUSTER: [&str; 4] = [
    "localhost:8080",
    "Error in configuration",
    "error loading config file",
    "\" does not exist",
];
/// Parts of its messages if the cluster does not reply.
const UNREACHABLE: [&str; 4] = [
    "The connection to the server",
    "Unable to connect to the server",
    "connection refused",
    "Client.Timeout exceeded",
];

/// A namespace of a cluster, as `kubectl` finds it.
#[derive(Clone, Debug)]
pub(super) struct Kubectl {
    options: Vec<String>,
}

/// What was attempted: a verb and a resource of Kubernetes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt(pub &'static str, pub &'static str);

#[derive(Debug)]
pub(super) struct Failure {
    pub(crate) reason: String,
    /// Whether it would fail again.
    pub(crate) is_final: bool,
}

impl Kubectl {
    /// For the context and the namespace that the user set.
    pub(super) fn new(settings: &Kubernetes) -> Self {
        let options = [
            ("context", &settings.context),
            ("namespace", &settings.namespace),
        ];
        let options = options.into_iter().filter_map(|(option, value)| {
            let value = value.as_ref()?;
            Some(format!("--{option}={value}"))
        });
        Self {
            options: options.collect(),
        }
    }

    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.args(&self.options).args(words);
        command
    }

    /// The same as a line that a user can copy.
    pub(super) fn line(&self, words: &[&str]) -> String {
        let options = self.options.iter().map(String::as_str);
        let words = options.chain(words.iter().copied());
        format!("kubectl {}", words.collect::<Vec<_>>().join(" "))
    }

    /// Runs a command that soon ends. What it prints.
    pub(super) fn run(
        &self,
        attempt: Attempt,
        words: &[&str],
        input: &str,
    ) -> Result<String, Failure> {
        match bounded::run(&mut self.command(words), input, REPLY) {
            Ok(Some(output)) if output.status.success() => Ok(output.stdout),
            Ok(Some(output)) => Err(failure(attempt, &output.stderr)),
            Ok(None) => Err(Failure {
                reason: format!(
                    "cannot {} {}: the Kubernetes API server does not reply within {REPLY:?}",
                    attempt.0, attempt.1
                ),
                is_final: false,
            }),
            Err(error) => Err(not_started(&error)),
        }
    }
}

pub(super) fn not_started(error: &io::Error) -> Failure {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => {
            "cannot start kubectl: it is not installed, or not in PATH; agents on Kubernetes need it, and \
             https://kubernetes.io/docs/tasks/tools/ says how to install it"
                .into()
        }
        _ => format!("cannot start kubectl: {error}"),
    };
    Failure {
        reason,
        is_final: true,
    }
}

/// What it means that `kubectl` said that when it failed.
pub(super) fn failure(attempt: Attempt, said: &str) -> Failure {
    let Attempt(verb, resource) = attempt;
    let said = without_log(said);
    let has = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
    let last = |reason| Failure {
        reason,
        is_final: true,
    };
    if let Some(missing) = missing_right(attempt, &said) {
        return last(missing);
    }
    let plain = plain(&said);
    if has(&NO_CLUSTER) {
        return last(format!(
            "no cluster of Kubernetes is configured: set KUBECONFIG, or `context` in `[fleet.kubernetes]` ({plain})"
        ));
    }
    if has(&["You must be logged in"]) {
        return last(format!(
            "the Kubernetes API server does not accept this user's credentials: {plain}"
        ));
    }
    let reason = if has(&UNREACHABLE) {
        format!(
            "the Kubernetes API server cannot be reached to {verb} {resource}: {plain}; check `context` and your kubeconfig"
        )
    } else {
        format!("cannot {verb} {resource}: {plain}")
    };
    Failure {
        reason,
        is_final: has(&["(Forbidden)"]),
    }
}

/// The right that this user has not. Quotas and policies forbid things, too, in other words.
pub(super) fn missing_right(Attempt(verb, resource): Attempt, said: &str) -> Option<String> {
    // The refusal of a watch has no words of its own.
    let right = if said.contains("(Forbidden): unknown") {
        format!("`{verb}` `{resource}`")
    } else {
        right_in(said)?
    };
    Some(format!(
        "Kubernetes gives this user no right to {right}; {ROLE} ({})",
        plain(said)
    ))
}

/// Which right it is in `User "u" cannot list resource "pods" in API group "" in the namespace "load"`.
fn right_in(said: &str) -> Option<String> {
    let (_, said) = said.split_once(" cannot ")?;
    let (verb, said) = said.split_once(" resource \"")?;
    let (resource, said) = said.split_once('"')?;
    let namespace = said.split_once(" in the namespace \"");
    Some(match namespace.and_then(|(_, said)| said.split_once('"')) {
        Some((namespace, _)) => format!("`{verb}` `{resource}` in the namespace `{namespace}`"),
        None => format!("`{verb}` `{resource}`"),
    })
}

/// Whether a line is `kubectl`'s own, and not of what it is attached to.
pub(super) fn is_own(line: &str) -> bool {
    OWN.iter().any(|begin| line.starts_with(begin))
}

/// A message without the words that say that it is one.
pub(super) fn plain(said: &str) -> &str {
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let from_server = said.strip_prefix("Error from server");
    let from_server = from_server.and_then(|rest| rest.split_once(": "));
    let said = from_server.map_or(said, |(_, rest)| rest);
    said.strip_prefix("error when creating \"STDIN\": ")
        .unwrap_or(said)
}

/// The message of what it wrote, on one line. Its log is left out, which repeats each attempt: `E1128 03:44:44.664992 …`.
fn without_log(said: &str) -> String {
    let is_log = |line: &&str| {
        let mut bytes = line.bytes();
        matches!(bytes.next(), Some(b'E' | b'W' | b'I' | b'F'))
            && bytes.by_ref().take(4).all(|byte| byte.is_ascii_digit())
            && bytes.next() == Some(b' ')
    };
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let message: Vec<&str> = lines.filter(|line| !is_log(line)).collect();
    if message.is_empty() {
        said.trim().to_owned()
    } else {
        message.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use prony_testkit::starts_with;
    use prony_testkit::table::rows;

    use super::*;

    const LIST: Attempt = Attempt("list", "pods");

    fn kubectl(context: Option<&str>) -> Kubectl {
        Kubectl::new(&Kubernetes {
            context: context.map(str::to_owned),
            namespace: Some("load".into()),
            ..Kubernetes::default()
        })
    }

    #[test]
    fn the_context_and_the_namespace_come_before_the_command() {
        let line = kubectl(Some("staging")).line(&["get", "pods"]);
        assert_eq!(line, "kubectl --context=staging --namespace=load get pods");
        let command = kubectl(None).command(&["get", "pods"]);
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(words, ["--namespace=load", "get", "pods"]);
    }

    #[test]
    fn messages_become_advice() {
        for [said, reason] in rows(
            r#"
            Error from server (Forbidden): error when creating "STDIN": jobs.batch is forbidden: User "u" cannot create resource "jobs" in API group "batch" in the namespace "load" | Kubernetes gives this user no right to `create` `jobs` in the namespace `load`; packaging/kubernetes/role.yaml has all rights that Prony needs (jobs.batch is forbidden: User "u" cannot create
            Error from server (Forbidden): unknown (get pods) | Kubernetes gives this user no right to `list` `pods`; packaging
            Error from server (Forbidden): error when creating "STDIN": admission webhook "x" denied the request: no | cannot list pods: admission webhook "x" denied the request: no
            The connection to the server localhost:8080 was refused - did you specify the right host or port? | no cluster of Kubernetes is configured: set KUBECONFIG, or `context` in `[fleet.kubernetes]` (The connection
            error: context "nope" does not exist | no cluster of Kubernetes is configured: set KUBECONFIG, or `context` in `[fleet.kubernetes]` (context "nope"
            Error in configuration: context was not found for specified context: nope | no cluster of Kubernetes is configured
            error: error loading config file "/x": yaml: line 1: no | no cluster of Kubernetes is configured
            error: You must be logged in to the server (Unauthorized) | the Kubernetes API server does not accept this user's credentials: You must be logged in
            The connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port? | the Kubernetes API server cannot be reached to list pods: The connection to the server 10.0.0.1:6443 was refused
            Unable to connect to the server: dial tcp: lookup nowhere: no such host | the Kubernetes API server cannot be reached to list pods: Unable to connect to the server: dial tcp: lookup nowhere
            The Job "prony-x" is invalid: \n* spec.a: Invalid value: "9x"\n* spec.b: no | cannot list pods: The Job "prony-x" is invalid: * spec.a: Invalid value: "9x" * spec.b: no
            E1128 03:44:44.664992    4474 memcache.go:265] "Unhandled Error" err="x"\nerror: unknown flag: --interactive | cannot list pods: unknown flag: --interactive
            E1128 03:44:44.664992    4474 memcache.go:265] no | cannot list pods: E1128 03:44:44.664992    4474 memcache.go:265] no
            "#,
        ) {
            starts_with(&failure(LIST, said).reason, reason);
        }
    }

    #[test]
    fn what_would_fail_again_is_not_tried_again() {
        for [said, is_final] in rows(
            r#"
            Error from server (Forbidden): unknown (get pods) | true
            error: You must be logged in to the server (Unauthorized) | true
            error: context "nope" does not exist | true
            Unable to connect to the server: EOF | false
            Error from server (Expired): too old resource version | false
            "#,
        ) {
            assert_eq!(failure(LIST, said).is_final.to_string(), is_final, "{said}");
        }
    }

    #[test]
    fn a_missing_program_is_named_with_where_to_get_it() {
        let missing = not_started(&io::ErrorKind::NotFound.into());
        starts_with(&missing.reason, "cannot start kubectl: it is not installed");
        assert!(missing.reason.contains("https://kubernetes.io/"));
    }

    #[test]
    fn lines_of_an_agent_are_not_those_of_kubectl() {
        assert!(is_own("error: unexpected EOF"));
        assert!(!is_own(
            "standard input has been silent for 10 s: the fleet is gone"
        ));
    }
}
