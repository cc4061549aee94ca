use std::os::unix::process::ExitStatusExt;

use prony_testkit::table::rows;

use super::*;

fn words() -> Words {
    Words::of(Program::There("/opt/prony".into()))
}

fn arguments(settings: Slurm) -> Vec<String> {
    let command = settings.command(3, "prony-f", "true");
    let words = command.get_args();
    words.map(|word| word.to_str().unwrap().into()).collect()
}

#[test]
fn settings_become_options_of_srun() {
    let settings: Slurm = serde_json::from_str(
        r#"{"partition": "p", "account": "a", "qos": "q", "constraint": "c", "reservation": "r", "exclusive": false,
            "cpus": 4, "time": "90s", "wait": "10s", "options": ["--nodelist=n1"], "program": "/p", "copy": false}"#,
    )
    .unwrap();
    assert_eq!(
        arguments(settings).join(" "),
        "--nodes=3 --ntasks=3 --job-name=prony-f --immediate=15 --ntasks-per-node=1 --kill-on-bad-exit=1 --mpi=none \
         --chdir=/ --partition=p --account=a --qos=q --constraint=c --reservation=r --cpus-per-task=4 --time=2 \
         --nodelist=n1 /bin/sh -c true"
    );
    let default: Slurm = serde_json::from_str("{}").unwrap();
    assert_eq!(default, Slurm::default());
    assert!(arguments(default).contains(&"--exclusive".to_owned()));
    assert!(serde_json::from_str::<Slurm>(r#"{"wait": "0s"}"#).is_err());
    assert!(serde_json::from_str::<Slurm>(r#"{"queue": "p"}"#).is_err());
}

#[test]
fn an_aborted_task_is_an_agent_that_ended_on_a_node() {
    let words = words();
    for [line, agent, reason] in rows(
        "srun: error: n2: task 1: Killed | 1 | the agent on n2 ended: Killed
         srun: error: n2: task 1: Exited with exit code 137 | 1 | the agent on n2 was ended by SIGKILL
         srun: error: n[11-12]: tasks 10-11: Exited with exit code 127 | 10 | n[11-12] has no program `/opt/prony`: \
             install Prony there, or set `program` or `copy = true` in `[fleet.slurm]`",
    ) {
        let ended = Event::Ended {
            agent: Some(agent.parse().unwrap()),
            reason: reason.into(),
        };
        assert_eq!(words.note(None, line.into()), ended);
    }
    let text = "srun: job 7 queued and waiting for resources".to_owned();
    let note = words.note(None, text.clone());
    assert_eq!(note, Event::Note { agent: None, text });
}

#[test]
fn the_end_of_the_job_ends_all_agents() {
    for line in [
        "slurmstepd-n1: error: *** STEP 3.0 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***",
        "srun: error: Node failure on n2",
    ] {
        let event = words().note(None, line.into());
        assert!(
            matches!(event, Event::Ended { agent: None, .. }),
            "{event:?}"
        );
    }
}

#[test]
fn the_errors_of_srun_say_why_it_ended() {
    let words = words();
    let reason = "Unable to allocate resources: Requested nodes are busy";
    words.note(None, format!("srun: error: {reason}"));
    let ended = words.ended(None, ExitStatus::from_raw(1 << 8), "");
    assert_eq!(ended, format!("srun ended: {reason}"));
}

#[test]
fn the_queue_tells_why_a_job_waits() {
    let job = "24".to_owned();
    let pending = Queued::Pending {
        job: job.clone(),
        reason: "PartitionNodeLimit".into(),
    };
    let queued = parse_queue("24|PENDING|PartitionNodeLimit\n");
    assert_eq!(queued, Some(pending));
    let queued = parse_queue("24|RUNNING|None\n");
    assert_eq!(queued, Some(Queued::Running { job }));
    assert_eq!(parse_queue(""), None);
    assert!(is_permanent("PartitionNodeLimit") && is_permanent("QOSMaxNodePerUserLimit"));
    assert!(!is_permanent("Resources") && !is_permanent("Priority"));
}
