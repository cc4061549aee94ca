//! `--on`: where the agents run.

use std::str::FromStr;

use prony_manifest::{did_you_mean, nearest};
use serde::Deserialize;

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum AgentLocation {
    /// There are none: this process generates the load, whatever `prony.toml` says.
    None,
    /// On this host.
    Local,
    /// On each of these hosts, through ssh.
    Ssh(Vec<String>),
    /// Where Slurm places them.
    Slurm,
    /// Where Kubernetes places them.
    Kubernetes,
}

const NAMES: [&str; 5] = ["kubernetes", "slurm", "ssh", "local", "none"];
const ALLOWED: &str = "kubernetes, slurm, ssh:HOST,…, local or none";

impl AgentLocation {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Kubernetes => NAMES[0],
            Self::Slurm => NAMES[1],
            Self::Ssh(_) => NAMES[2],
            Self::Local => NAMES[3],
            Self::None => NAMES[4],
        }
    }

    pub(crate) fn is_here(&self) -> bool {
        matches!(self, Self::Local | Self::None)
    }
}

impl FromStr for AgentLocation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, hosts) = match text.split_once(':') {
            Some((name, hosts)) => (name, Some(hosts)),
            None => (text, None),
        };
        match (name, hosts) {
            ("kubernetes", None) => Ok(Self::Kubernetes),
            ("slurm", None) => Ok(Self::Slurm),
            ("local", None) => Ok(Self::Local),
            ("none", None) => Ok(Self::None),
            ("ssh", Some(hosts)) if !hosts.is_empty() => hosts_of(hosts).map(Self::Ssh),
            ("ssh", _) => Err("name at least one host, for instance ssh:host1,host2".into()),
            (name, Some(_)) if NAMES.contains(&name) => Err(format!(
                "only ssh takes hosts, for instance ssh:host1,host2; {name} stands alone"
            )),
            (other, _) => Err(format!(
                "it must be {ALLOWED}{}",
                did_you_mean(&nearest(other, NAMES))
            )),
        }
    }
}

fn hosts_of(text: &str) -> Result<Vec<String>, String> {
    let hosts: Vec<String> = text.split(',').map(|host| host.trim().to_owned()).collect();
    for (i, host) in hosts.iter().enumerate() {
        if host.is_empty() {
            return Err("a host between two commas has no name".into());
        }
        if hosts[..i].contains(host) {
            return Err(format!("`{host}` is named twice; each host gets one agent"));
        }
    }
    Ok(hosts)
}

impl TryFrom<String> for AgentLocation {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::table::rows;

    #[test]
    fn a_place_is_a_word_and_only_ssh_takes_hosts() {
        let parse = |text: &str| text.parse::<AgentLocation>();
        assert_eq!(parse("kubernetes"), Ok(AgentLocation::Kubernetes));
        assert_eq!(parse("local"), Ok(AgentLocation::Local));
        let hosts = ["a", "me@b", "ssh://me@c:22"].map(String::from).to_vec();
        assert_eq!(
            parse("ssh:a,me@b,ssh://me@c:22"),
            Ok(AgentLocation::Ssh(hosts))
        );
        for [text, message] in rows(
            "
            ssh | name at least one host, for instance ssh:host1,host2
            ssh: | name at least one host, for instance ssh:host1,host2
            ssh:a,,b | a host between two commas has no name
            ssh:a,a | `a` is named twice; each host gets one agent
            local:a | only ssh takes hosts, for instance ssh:host1,host2; local stands alone
            kubernetes2 | it must be kubernetes, slurm, ssh:HOST,…, local or none; did you mean `kubernetes`?
            \"\" | it must be kubernetes, slurm, ssh:HOST,…, local or none
        ",
        ) {
            assert_eq!(parse(text), Err(message.to_owned()), "{text}");
        }
    }
}
