use std::os::unix::process::ExitStatusExt;

use prony_testkit::table::rows;

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
    let ssh = ssh(&["a", "b"], SshSettings::default());
    let error = ssh.launch(&launch).err().unwrap();
    let expected =
        "3 agents need as many hosts, but ssh has 2: each host in the list runs one agent";
    assert_eq!(error.0, expected);
}

#[test]
fn the_host_comes_after_all_options_and_the_script_is_one_word() {
    let settings = SshSettings {
        options: vec!["-F".into(), "lab.conf".into()],
        ..SshSettings::default()
    };
    let command = ssh(&["me@a"], settings).command("me@a", "'x' y");
    let words = command.get_args().map(|word| word.to_str().unwrap());
    let words: Vec<&str> = words.collect();
    assert!(words.contains(&"BatchMode=yes"), "{words:?}");
    let script = r"exec /bin/sh -c ''\''x'\'' y'";
    let end = ["-F", "lab.conf", "--", "me@a", script];
    assert_eq!(words[words.len() - 5..], end);
}

#[test]
fn the_words_of_ssh_become_advice() {
    let words = Words {
        hosts: vec!["a".into()],
        program: Program::There("prony".into()),
    };
    let said = |line: &str| {
        let line = format!("{line}\r");
        words.ended(Some(0), ExitStatus::from_raw(255 << 8), &line)
    };
    for [line, advice] in rows(
        "me@a: Permission denied (publickey). | ssh cannot log in to a without a prompt:
         ssh: Could not resolve hostname a: Name or service not known | there is no host a (ssh:
         ssh: connect to host a port 22: Connection refused | ssh cannot reach a (ssh:
         Timeout, server a not responding. | the connection to a was lost (
         Host key verification failed. | the key of a is unknown",
    ) {
        let reason = said(line);
        assert!(reason.starts_with(advice), "{reason}");
        assert!(reason.ends_with(&format!("({line})")), "{reason}");
    }
}

#[test]
fn settings_are_read_as_prony_toml_writes_them() {
    let settings: SshSettings =
        serde_json::from_str(r#"{"copy": true, "options": ["-4"]}"#).unwrap();
    assert!(settings.copy && settings.options == ["-4"]);
    assert!(serde_json::from_str::<SshSettings>(r#"{"hosts": []}"#).is_err());
}
