use std::os::unix::process::ExitStatusExt;

use super::*;

fn ssh(hosts: &[&str], settings: SshSettings) -> Ssh {
    let hosts: Vec<String> = hosts.iter().map(|&host| host.into()).collect();
    Ssh::new(&hosts, settings).unwrap()
}

#[test]
fn hosts_are_those_that_ssh_knows() {
    for host in ["web-1", "me@web-1", "ssh://me@web-1:2222", "fe80::1", "::1"] {
        assert_eq!(check(host), Ok(()), "{host}");
    }
    for host in ["", "-oProxyCommand=x", "a b"] {
        assert!(check(host).unwrap_err().contains("is not a host"), "{host}");
    }
    assert_eq!(
        check("web-1:2222").unwrap_err(),
        "write `ssh://web-1:2222` instead of `web-1:2222`"
    );
}

#[test]
fn more_agents_than_hosts_are_refused() {
    let launch = Launch {
        agents: 3,
        id: "f",
        interrupt: &false.into(),
    };
    let error = ssh(&["a", "b"], SshSettings::default())
        .launch(&launch)
        .err()
        .unwrap();
    assert_eq!(
        error.0,
        "3 agents need as many hosts, but ssh has 2: each host in the list runs one agent"
    );
}

#[test]
fn the_host_comes_after_all_options_and_the_script_is_one_word() {
    let settings = SshSettings {
        options: vec!["-F".into(), "lab.conf".into()],
        ..SshSettings::default()
    };
    let command = ssh(&["me@a"], settings).command("me@a", "'x' y");
    let words: Vec<_> = command
        .get_args()
        .map(|word| word.to_str().unwrap())
        .collect();
    assert!(words.contains(&"BatchMode=yes"), "{words:?}");
    assert_eq!(
        words[words.len() - 5..],
        [
            "-F",
            "lab.conf",
            "--",
            "me@a",
            r"exec /bin/sh -c ''\''x'\'' y'"
        ]
    );
}

#[test]
fn the_words_of_ssh_become_advice() {
    let hosts = ["a".to_owned()];
    let said = |line: &str| {
        let words = Words::new(&hosts, &Program::There("prony".into()));
        words.note(Some(0), line.into());
        words.ended(Some(0), ExitStatus::from_raw(255 << 8))
    };
    let denied = said("me@a: Permission denied (publickey).");
    assert!(
        denied.starts_with("ssh cannot log in to a without a prompt:"),
        "{denied}"
    );
    assert!(
        denied.ends_with("(me@a: Permission denied (publickey).)"),
        "{denied}"
    );
    let unknown = said("ssh: Could not resolve hostname a: Name or service not known");
    assert!(unknown.starts_with("there is no host a (ssh:"), "{unknown}");
    let refused = said("ssh: connect to host a port 22: Connection refused");
    assert!(refused.starts_with("ssh cannot reach a (ssh:"), "{refused}");
    let lost = said("Timeout, server a not responding.");
    assert_eq!(
        lost,
        "the connection to a was lost (Timeout, server a not responding.)"
    );
    assert!(said("Host key verification failed.").starts_with("the key of a is unknown"));
}

#[test]
fn settings_are_read_as_prony_toml_writes_them() {
    let settings: SshSettings =
        serde_json::from_str(r#"{"copy": true, "options": ["-4"]}"#).unwrap();
    assert!(settings.copy && settings.options == ["-4"]);
    assert!(serde_json::from_str::<SshSettings>(r#"{"hosts": []}"#).is_err());
}
