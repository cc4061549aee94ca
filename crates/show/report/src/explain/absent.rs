//! What could not be measured, each reason once.

use prony_model::Unavailable;
use prony_present::words::list;

use crate::explain::costs::ServerCosts;

/// Something that could not be measured, and on which servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// What, why, and what changes it.
    pub reason: Unavailable,
    pub servers: Vec<String>,
    /// Whether it concerns every server.
    pub(crate) everywhere: bool,
}

/// What could not be measured.
pub(super) fn of(servers: &[&ServerCosts<'_>]) -> Vec<Absent> {
    let mut found: Vec<Absent> = Vec::new();
    for reason in servers.iter().flat_map(|server| &server.of.unavailable) {
        if found.iter().any(|absent| absent.reason == *reason) {
            continue;
        }
        let lacks = |server: &&ServerCosts<'_>| server.of.unavailable.contains(reason);
        let mut ids: Vec<String> = Vec::new();
        for server in servers.iter().copied().filter(lacks) {
            if !ids.iter().any(|id| id == server.server()) {
                ids.push(server.server().to_owned());
            }
        }
        let is_in = |server: &&ServerCosts<'_>| ids.iter().any(|id| id == server.server());
        found.push(Absent {
            everywhere: servers.iter().all(is_in),
            reason: reason.clone(),
            servers: ids,
        });
    }
    found
}

impl Absent {
    /// What was not measured, on which servers, why, and the command that changes it.
    pub(crate) fn sentence(&self) -> String {
        let Unavailable { what, why, remedy } = &self.reason;
        let place = if self.everywhere {
            String::new()
        } else {
            format!(" ({})", list(&self.servers))
        };
        let remedy = remedy
            .as_ref()
            .map_or_else(String::new, |command| format!(". To allow it: {command}"));
        format!("{what}{place}: {why}{remedy}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::summary::ExplanationSummary;
    use crate::explain::testing::Builder;

    #[test]
    fn each_reason_is_given_once_with_the_servers_that_it_concerns() {
        let reason = |what: &str, remedy: Option<&str>| Unavailable {
            what: what.into(),
            why: "the kernel forbids it".into(),
            remedy: remedy.map(str::to_owned),
        };
        let builders = [
            Builder::server("a"),
            Builder::server("b"),
            Builder::server("a").events(),
        ];
        let mut all = builders.map(Builder::done);
        for one in &mut all {
            one.unavailable
                .push(reason("system calls by name", Some("sudo x")));
        }
        all[1].unavailable.push(reason("cycles", None));
        let summary = ExplanationSummary::of(&all);
        let sentences = summary.absent.iter().map(Absent::sentence);
        assert_eq!(
            sentences.collect::<Vec<_>>(),
            [
                "system calls by name: the kernel forbids it. To allow it: sudo x",
                "cycles (b): the kernel forbids it",
            ]
        );
    }
}
