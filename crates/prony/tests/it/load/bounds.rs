//! Loads beyond any machine: refused with the limit, or ended by the first signal with their result.

use std::net::TcpListener;
use std::time::Duration;

use nix::sys::signal::Signal;

use crate::common::{Running, run};
use crate::load::{load, result};

#[test]
fn values_beyond_a_limit_are_rejected_with_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let stages = vec!["1/s:1s"; 1001].join(",");
    let cases: [(&[&str], &str); 7] = [
        (
            &["--rate", "1000000000000"],
            "`1000000000000` is too high: a rate is at most 1000M/s",
        ),
        (
            &["--stages", "0/s..2000M/s:1s"],
            "`2000M/s` is too high: a rate is at most 1000M/s",
        ),
        (
            &["--stages", &stages],
            "1001 stages are too many: at most 1000",
        ),
        (
            &["--rate", "1k/s", "--burst", "2M"],
            "2000000 requests in a burst are too many: at most 1000000",
        ),
        (
            &["--pipeline", "1M"],
            "1000000 requests in a pipeline are too many: at most 1000",
        ),
        (&["-t5k", "-c5k"], "it must be from 1 to 1024"),
        (
            &["-c5k", "--pipeline", "1000", "-n1"],
            "need more memory than the 512 MiB that requests in flight may take",
        ),
    ];
    for (flags, told) in cases {
        let flags = [flags, &["http://127.0.0.1:9/"]].concat();
        run(load(folder.path(), &flags)).with(2).says(told);
    }
}

#[test]
fn a_body_from_an_endless_file_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    for (flag, what) in [("-b", "the body"), ("--expect-body", "the expected body")] {
        let flags = [flag, "@/dev/zero", "http://127.0.0.1:9/"];
        let told = format!("{what} from `/dev/zero` is too long: at most 64 MiB");
        run(load(folder.path(), &flags)).with(1).says(&told);
    }
}

#[test]
fn the_first_signal_ends_any_load_with_a_complete_result() {
    let shapes: [&[&str]; 6] = [
        &["--pipeline", "1000"],
        &["--rate", "1000M/s"],
        &["--rate", "1000M/s", "--arrivals", "poisson"],
        &["--rate", "1000M/s", "--burst", "1M"],
        &["--stages", "0/s..1000M/s:1s,1000M/s"],
        &words!("--users 100 --think-time 1us --open --deadline 1ms"),
    ];
    let flags = ["-d1h", "-t1", "--warmup", "10ms", "--json", "result.json"];
    for shape in shapes {
        // The kernel accepts connections for it, and nobody reads.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let command = load(folder.path(), &[shape, &flags, &[&*url]].concat());
        let running = Running::start(command);
        // The first connection only checks that the server is there; the next one is the load's.
        let accepted = [(); 2].map(|()| listener.accept().unwrap());
        // Meanwhile ever more are due.
        std::thread::sleep(Duration::from_millis(100));
        running.signal(Signal::SIGINT);
        running.end().with(130);
        let result = result(folder.path(), "result.json");
        assert_eq!(result["ended"], "interrupted", "{shape:?}");
        drop(accepted);
    }
}
