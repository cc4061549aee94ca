//! Servers that start, fail to start, and are measured.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::support::{
    GO_ON, LONG, built, launch, probe, python_server, ready, send, server_with, try_ready, until,
};
use nix::sys::signal::Signal;
use prony_kernel::allowed_cpus;
use prony_model::CpuAssignment;
use prony_server::{
    BringUpError, Certificate, Exit, Launch, Layout, NotReady, Placeholder, Probe, RunningServer,
    Sampler, StartError, TreeUsage, Word, bring_up, free_port, wait_ready,
};
use prony_testkit::connections::refusing;
use prony_testkit::contains;

/// The server's CPUs only matter for shares.
fn one_cpu() -> CpuAssignment {
    CpuAssignment {
        server: vec![allowed_cpus().unwrap()[0]],
        load: Vec::new(),
    }
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// Starts a server, which need not respond.
fn start(folder: &Path, run: &[&str]) -> RunningServer {
    RunningServer::start(&built(folder, run), &launch(folder), &mut free_port).unwrap()
}

/// Why a server did not become ready.
fn failure(folder: &Path, run: &[&str]) -> NotReady {
    match try_ready(&built(folder, run), folder) {
        Err(BringUpError::NotReady(error)) => error,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it became ready"),
    }
}

#[test]
fn a_server_gets_its_variables_becomes_ready_and_logs_lines() {
    let folder = tempfile::tempdir().unwrap();
    let built = server_with(folder.path(), "right");
    let mut launch = launch(folder.path());
    launch.cpus = vec![allowed_cpus().unwrap()[0]];
    let (mut server, ready) =
        bring_up(&built, &launch, &mut free_port, &mut probe, LONG, &GO_ON).unwrap();
    assert!(ready.startup_ns > 0 && u128::from(ready.startup_ns) < LONG.as_nanos());
    let env = read(folder.path(), "env");
    let port = server.address().port();
    let assets = folder.path().display();
    assert_eq!(env, format!("127.0.0.1 {port} 1 {assets}"));
    let lines = server.log_lines().unwrap();
    for _ in 0..5 {
        assert_eq!(probe(server.address()), Probe::Right);
    }
    until("the lines", || {
        (server.log_lines().unwrap() == lines + 5).then_some(())
    });
    assert!(server.logs().shown().ends_with("\n  a line"));
    assert_eq!(server.exited(), None);
    assert_eq!(server.stop(LONG), Exit::Signal(15));
    assert_eq!(server.log_lines().unwrap(), lines + 5);
    assert!(server.tree().usage().is_err(), "nothing is left to sample");
}

#[test]
fn a_server_that_is_to_speak_tls_gets_the_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = Certificate::of(&Layout::at(folder.path())).unwrap();
    let built = built(folder.path(), &["sh", "-c", "echo $TLS_CERT $TLS_KEY"]);
    let launch = Launch {
        certificate: Some(certificate.clone()),
        ..launch(folder.path())
    };
    let mut server = RunningServer::start(&built, &launch, &mut free_port).unwrap();
    assert_eq!(server.exits_within(LONG), Some(Exit::Code(0)));
    let log = read(folder.path(), "server.log");
    let Certificate { certificate, key } = certificate;
    let expected = format!("{} {}\n", certificate.display(), key.display());
    assert_eq!(log, expected);
}

#[test]
fn a_server_that_ends_early_is_reported_with_its_last_lines() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo one; echo two >&2; exit 9";
    match failure(folder.path(), &["sh", "-c", script]) {
        NotReady::ExitedEarly { exit, output } => {
            let path = |name| folder.path().join(name).display().to_string();
            let (out, err) = (path("server.log"), path("server.stderr.log"));
            let both =
                format!("its standard output ({out}):\n  one\nits standard error ({err}):\n  two");
            assert_eq!((exit, output), (Exit::Code(9), both));
        }
        other => panic!("{other}"),
    }
}

/// The error for a server in Python that does not respond in time.
fn silent(folder: &Path, code: &str) -> String {
    let code = format!("{code}\nopen('up', 'w').close()\ntime.sleep(600)");
    let (_bound, address) = refusing();
    let mut ports = move |_: IpAddr| -> io::Result<u16> { Ok(address.port()) };
    let built = built(folder, &["python3", "-c", &code]);
    let mut server = RunningServer::start(&built, &launch(folder), &mut ports).unwrap();
    until("the file `up`", || folder.join("up").exists().then_some(()));
    let timeout = Duration::from_millis(50);
    let error = wait_ready(&mut server, &mut probe, timeout, &GO_ON).unwrap_err();
    assert!(matches!(error, NotReady::NeverResponded { .. }), "{error}");
    error.to_string()
}

#[test]
fn a_server_that_listens_elsewhere_is_reported_with_its_address() {
    let folder = tempfile::tempdir().unwrap();
    let code = "import socket, time\nlistener = socket.create_server(('127.0.0.1', 0))\n\
        open('port', 'w').write(str(listener.getsockname()[1]))";
    let text = silent(folder.path(), code);
    let port = read(folder.path(), "port");
    let listens = format!(": it listens on 127.0.0.1:{port} instead of 127.0.0.1:");
    for part in [&*listens, ": does it read PORT?; it wrote nothing"] {
        contains(&text, part);
    }
}

#[test]
fn a_server_that_does_not_listen_is_reported_with_its_buffered_output() {
    let folder = tempfile::tempdir().unwrap();
    // Output that a program writes on SIGTERM is not lost.
    let code = "import os, signal, sys, time\nsys.stdout = open(1, 'w', 4096)\n\
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\nprint('no database')";
    let text = silent(folder.path(), code);
    contains(&text, "it does not listen on a TCP port (refused)");
    assert!(text.ends_with("\n  no database"), "{text}");
}

#[test]
fn a_server_that_goes_into_the_background_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let text = failure(folder.path(), &["sh", "-c", "sleep 600 & exit 0"]).to_string();
    let expected = "the server ended with exit code 0 and left 1 process running in the background, \
        which Prony has stopped (run it in the foreground) before it sent the expected response";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn a_server_that_goes_into_the_background_after_a_response_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    // The shell ends after the server's first request.
    let server = server_with(folder.path(), "right");
    let words: Vec<String> = server.run.iter().map(ToString::to_string).collect();
    let script = "\"$@\" & until [ -e asked ]; do sleep 0.01; done; exit 0";
    let shell = ["sh", "-c", script, "sh"].into_iter();
    let words: Vec<&str> = shell.chain(words.iter().map(String::as_str)).collect();
    let exit = match try_ready(&built(folder.path(), &words), folder.path()) {
        Ok(mut server) => server.exits_within(LONG),
        Err(BringUpError::NotReady(NotReady::ExitedEarly { exit, .. })) => Some(exit),
        Err(other) => panic!("{other}"),
    };
    assert_eq!(exit, Some(Exit::Background(1)));
}

#[test]
fn a_command_gets_its_address_and_a_temporary_folder() {
    let folder = tempfile::tempdir().unwrap();
    let script = "echo $0 $1 $OWN; ls -A $2 | wc -l; touch $2/pid; echo $2 >tmp; exec sleep 600";
    let words = ["{host}:{port}", "{cpus} {assets}", "{tmp}"];
    let words = [&["sh", "-c", script], &words[..]].concat();
    let mut built = built(folder.path(), &words);
    let own = Word::new("on-{port}", &Placeholder::ALL).unwrap();
    built.env = [("OWN".to_owned(), own)].into();
    let mut launch = launch(folder.path());
    launch.cpus = vec![allowed_cpus().unwrap()[0]];
    let tmp = |server: &mut RunningServer| {
        let received = until("what it received", || {
            let text = std::fs::read_to_string(&server.logs().output).unwrap();
            (text.lines().count() == 2).then_some(text)
        });
        let (address, assets) = (server.address(), folder.path().display());
        let port = address.port();
        assert_eq!(received, format!("{address} 1 {assets} on-{port}\n0\n"));
        let tmp = until("its folder", || {
            let path = std::fs::read_to_string(folder.path().join("tmp")).ok()?;
            path.strip_suffix('\n').map(std::path::PathBuf::from)
        });
        std::fs::remove_file(folder.path().join("tmp")).unwrap();
        assert!(tmp.join("pid").exists());
        tmp
    };
    let mut tmps = Vec::new();
    for is_stopped in [true, false] {
        let mut server = RunningServer::start(&built, &launch, &mut free_port).unwrap();
        let tmp = tmp(&mut server);
        if is_stopped {
            server.stop(LONG);
        }
        drop(server);
        assert!(!tmp.exists(), "{tmp:?} is still there");
        tmps.push(tmp);
    }
    assert_ne!(tmps[0], tmps[1]);
}

#[test]
fn a_server_that_responds_wrongly_is_reported_with_the_response() {
    let folder = tempfile::tempdir().unwrap();
    let (built, launch) = (server_with(folder.path(), "wrong"), launch(folder.path()));
    let mut any = |address: SocketAddr| match probe(address) {
        Probe::Wrong(_) => Probe::Right,
        other => other,
    };
    let up = bring_up(&built, &launch, &mut free_port, &mut any, LONG, &GO_ON);
    let (mut server, _) = up.unwrap();
    // A later one may be right, for two seconds; not here, because the time is over.
    let error = wait_ready(&mut server, &mut probe, Duration::ZERO, &GO_ON).unwrap_err();
    contains(&error.to_string(), "expected `right`, came `wrong`");
}

#[test]
fn an_interrupt_ends_the_wait() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = start(folder.path(), &["sleep", "600"]);
    let interrupt = AtomicBool::new(true);
    let error = wait_ready(&mut server, &mut probe, LONG, &interrupt).unwrap_err();
    assert!(matches!(error, NotReady::Interrupted), "{error}");
}

#[test]
fn a_missing_program_is_an_error_of_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let built = built(folder.path(), &["./no-server"]);
    let error = RunningServer::start(&built, &launch(folder.path()), &mut free_port).unwrap_err();
    assert!(matches!(error, StartError::Spawn(_)), "{error}");
    contains(&error.to_string(), "./no-server");
}

/// Brings up a server that gets a taken port this many times before free ones; also returns that port.
fn with_taken_port(times: usize) -> (Result<RunningServer, BringUpError>, u16) {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().port();
    let mut count = 0;
    let mut ports = |host: IpAddr| -> io::Result<u16> {
        count += 1;
        if count <= times {
            Ok(taken)
        } else {
            free_port(host)
        }
    };
    let mut refuse_taken = |address: SocketAddr| {
        if address.port() == taken {
            Probe::NotYet("taken".to_owned())
        } else {
            probe(address)
        }
    };
    let (built, launch) = (server_with(folder.path(), "right"), launch(folder.path()));
    let result = bring_up(&built, &launch, &mut ports, &mut refuse_taken, LONG, &GO_ON);
    (result.map(|(server, _)| server), taken)
}

#[test]
fn a_taken_port_is_replaced_unless_all_are_taken() {
    // Another program may take the next one as well.
    let (server, taken) = with_taken_port(1);
    assert_ne!(server.unwrap().address().port(), taken);
    let error = with_taken_port(usize::MAX).0.unwrap_err();
    let is_given_up = matches!(error, BringUpError::PortsTaken { tries: 3, .. });
    assert!(is_given_up, "{error}");
    contains(&error.to_string(), "Address already in use");
}

#[test]
fn an_expected_response_of_another_program_does_not_count() {
    let [folder, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let right = ready(&server_with(other.path(), "right"), other.path());
    let port = right.address().port();
    // It never listens, but something at its port responds correctly.
    let built = built(folder.path(), &["sleep", "600"]);
    let mut ports = move |_: IpAddr| -> io::Result<u16> { Ok(port) };
    let mut server = RunningServer::start(&built, &launch(folder.path()), &mut ports).unwrap();
    let error = wait_ready(&mut server, &mut probe, LONG, &GO_ON).unwrap_err();
    assert!(matches!(error, NotReady::PortTaken { .. }), "{error}");
}

#[test]
fn a_killed_server_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = ready(&server_with(folder.path(), "right"), folder.path());
    send(Signal::SIGKILL, server.pid());
    assert_eq!(until("the exit", || server.exited()), Exit::Signal(9));
}

/// Keeps 40 MiB and two workers, and uses a fifth of a second of CPU time in a child that ends.
const FORKING: &str = r#"
import time
def fork(work):
    if os.fork() == 0:
        work()
        os._exit(0)
def burn():
    while time.process_time() < 0.2:
        pass
def hold():
    memory = bytearray(os.urandom(1024)) * (20 * 1024)
    open(f"holds-{os.getpid()}", "w").close()
    time.sleep(600)
def orphan():
    fork(burn)
fork(hold)
fork(hold)
while len([name for name in os.listdir(".") if name.startswith("holds-")]) < 2:
    time.sleep(0.01)
import threading
def on_call():
    while not os.path.exists("burn"):
        time.sleep(0.01)
    fork(burn)
    fork(orphan)
    os.wait()
    os.wait()
    open("burnt", "w").close()
threading.Thread(target=on_call, daemon=True).start()
"#;

/// A server in Python that becomes ready, and its sampler.
fn sampled(folder: &Path, more: &str, interval: Duration) -> (RunningServer, Sampler) {
    let server = ready(&python_server(folder, more), folder);
    let sampler = Sampler::start(server.tree(), &one_cpu(), interval).unwrap();
    (server, sampler)
}

#[test]
fn the_cost_of_a_forking_server_is_that_of_its_tree() {
    let folder = tempfile::tempdir().unwrap();
    let (server, sampler) = sampled(folder.path(), FORKING, Duration::from_millis(10));
    let cpu_s = |usage: TreeUsage| usage.cpu_user_s + usage.cpu_system_s;
    let before = server.tree().usage().unwrap();
    assert_eq!(before.processes, 3);
    std::fs::write(folder.path().join("burn"), "").unwrap();
    // The child uses CPU time, and so does an orphan whose parent does not wait for it.
    until("both to have used CPU time", || {
        let usage = server.tree().usage().ok()?;
        let burnt = cpu_s(usage) - cpu_s(before) >= 0.36;
        (burnt && usage.processes == 3 && folder.path().join("burnt").exists()).then_some(())
    });
    let cost = sampler.finish(1.0).unwrap().server;
    let (held, peak) = (2 * 20 * 1024 * 1024, cost.peak_memory_bytes);
    assert!(
        (0.36..LONG.as_secs_f64()).contains(&cost.cpu_s())
            && cost.processes >= 4
            && (held..10 * held).contains(&peak)
            && (1..=peak).contains(&cost.memory_before_bytes.unwrap()),
        "{cost:?}"
    );
}

/// On a request, a thread starts another one, and both sleep 25 times and then for good. Each works for a while
/// first, so that they have used most of the process's CPU time at any instant.
const SLEEPING: &str = r#"
import threading, time
def sleep():
    until = time.thread_time() + 0.05
    while time.thread_time() < until:
        pass
    for _ in range(25):
        time.sleep(0.001)
    open(f"slept-{threading.get_ident()}", "w").close()
    time.sleep(600)
def on_call():
    while not os.path.exists("call"):
        time.sleep(0.01)
    threading.Thread(target=sleep, daemon=True).start()
    sleep()
threading.Thread(target=on_call, daemon=True).start()
"#;

#[test]
fn context_switches_of_old_and_new_threads_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, sampler) = sampled(folder.path(), SLEEPING, Sampler::INTERVAL);
    std::fs::write(folder.path().join("call"), "").unwrap();
    until("both to have slept", || {
        let names = std::fs::read_dir(folder.path()).unwrap();
        let slept = names.filter(|name| {
            let name = name.as_ref().unwrap().file_name();
            name.to_string_lossy().starts_with("slept-")
        });
        (slept.count() == 2).then_some(())
    });
    let cost = sampler.finish(1.0).unwrap().server;
    if std::path::Path::new("/proc/self/schedstat").exists() {
        let scheduling = cost.scheduling.unwrap();
        // A thread that was preempted just before a sleep may find it over.
        assert!(scheduling.voluntary_switches >= 40, "{cost:?}");
        assert!(scheduling.run_queue_wait_s >= 0.0, "{cost:?}");
    }
}

#[test]
fn the_memory_of_a_single_process_is_its_peak() {
    let folder = tempfile::tempdir().unwrap();
    let more = "memory = bytearray(64 * 1024 * 1024)\ndel memory\n";
    let (server, sampler) = sampled(folder.path(), more, Sampler::INTERVAL);
    let cost = sampler.finish(1.0).unwrap().server;
    assert_eq!(cost.processes, 1);
    assert!(cost.peak_memory_bytes > 64 * 1024 * 1024, "{cost:?}");
    let now = server.tree().usage().unwrap().resident_bytes;
    assert!(now < cost.peak_memory_bytes, "the peak is over: {now}");
    let grown = cost.peak_memory_bytes - cost.memory_before_bytes.unwrap();
    assert_eq!(grown, 0, "the peak was before the load");
}

#[test]
fn a_sampler_reports_that_the_server_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = ready(&server_with(folder.path(), "right"), folder.path());
    let sampler = Sampler::start(server.tree(), &one_cpu(), Sampler::INTERVAL).unwrap();
    server.stop(LONG);
    assert!(sampler.finish(1.0).is_err());
}
