//! Profiles of real processes, of which the truth is known.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::profile::common::{self, Running, cpu_seconds, profile, shares, use_cpu};
use prony_insight::profile::{Options, Profiler, Profiles, folded, functions};
use prony_model::{FrameKind, Profile};
use prony_testkit::until;
use tempfile::TempDir;

/// More samples than a profile usually has, so that a short one has enough.
fn often() -> Options {
    Options {
        frequency_hz: 997,
        ..Options::default()
    }
}

/// A program of `tests/programs`, compiled without frame pointers into a folder.
fn compile(source: &str, options: &[&str]) -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let source = programs().join(source);
    let compiler = if source.extension().is_some_and(|name| name == "cpp") {
        "c++"
    } else {
        "cc"
    };
    let path = folder.path().join(source.file_stem().unwrap());
    let status = Command::new(compiler)
        .args(["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"])
        .args(options)
        .arg("-o")
        .args([&path, &source])
        .arg("-pthread")
        .status();
    assert!(status.unwrap().success());
    (folder, path)
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// `burn.c` with its symbols.
static BURN: LazyLock<PathBuf> = LazyLock::new(|| {
    let (folder, path) = compile("burn.c", &[]);
    let _ = folder.keep();
    path
});

/// How much CPU time the programs use. Only that decides how many samples there are, not how busy the machine is.
const CPU_S: f64 = 0.3;

/// Starts a program and profiles it while it uses that much; `None` if the kernel forbids it.
fn burnt(command: &mut Command, cpu_s: f64) -> Option<(Running, Profiler)> {
    let mut running = Running::start(command);
    running.await_wait();
    let profiler = profile(often(), running.pid)?;
    running.go();
    use_cpu(running.pid, cpu_s);
    Some((running, profiler))
}

fn profile_of(program: impl AsRef<OsStr>) -> Option<Profiles> {
    let (_running, profiler) = burnt(&mut Command::new(program), CPU_S)?;
    Some(profiler.finish(1.0).unwrap())
}

/// The profile of `burn.c` while it uses that much CPU time, and how much it used.
fn profile_of_burn(cpu_s: f64) -> Option<(Profiles, f64)> {
    let (running, profiler) = burnt(&mut Command::new(&*BURN), cpu_s)?;
    running.pause();
    let used = cpu_seconds(running.pid);
    let profiles = profiler.finish(1.0).unwrap();
    assert!(profiles.processes.contains(&running.pid));
    Some((profiles, used))
}

/// The shares of `burn.c`, but for the chance of samples: six standard errors.
fn assert_is_burn(profile: &Profile) {
    for (name, expected) in [("heavy", 0.7), ("light", 0.3)] {
        let (share, _) = shares(profile, name);
        let samples = profile.samples as f64;
        let standard_error = (0.7 * 0.3 / samples).sqrt();
        let is_near = (share - expected).abs() <= 6.0 * standard_error;
        assert!(samples >= 100.0 && is_near, "{name}: {share} of {samples}");
    }
    assert_whole(profile);
}

/// The caller chain is whole although nothing has a frame pointer.
fn assert_whole(profile: &Profile) {
    let chain = "main;outer;middle;heavy";
    let folded = folded(profile);
    let heavy = folded.lines().filter(|line| line.contains("heavy"));
    let weight = |line: &str| -> f64 { line.rsplit(' ').next().unwrap().parse().unwrap() };
    let all: f64 = heavy.clone().map(weight).sum();
    let whole: f64 = heavy.filter(|line| line.contains(chain)).map(weight).sum();
    assert!(whole > 0.99 * all, "{whole} of {all}:\n{folded}");
}

#[test]
fn a_known_share_and_whole_stacks_without_frame_pointers() {
    // If the whole machine stands still, that may count as CPU time, but there are no samples of it.
    let is_exact = |_| {
        let Some((profiles, used)) = profile_of_burn(CPU_S) else {
            return true;
        };
        assert_is_burn(&profiles.on_cpu);
        assert!(profiles.on_cpu_whole > 0.99, "{}", profiles.on_cpu_whole);
        assert!(profiles.on_cpu.unnamed.is_empty());
        let share = profiles.on_cpu.seconds / used;
        eprintln!("{share} of {used} s");
        (share - 1.0).abs() < 0.25
    };
    assert!((0..3).any(is_exact));
}

/// How exact a profile of a second and a half is: within 5 points, and within a tenth of the CPU time.
#[test]
#[ignore = "full check: measures for seconds, and a busy machine disturbs it"]
fn a_share_is_exact_to_5_points() {
    let Some((profiles, used)) = profile_of_burn(1.5) else {
        return;
    };
    for (name, expected) in [("heavy", 0.7), ("light", 0.3)] {
        let (share, _) = shares(&profiles.on_cpu, name);
        assert!((share - expected).abs() <= 0.05, "{name}: {share}");
    }
    let share = profiles.on_cpu.seconds / used;
    assert!((share - 1.0).abs() < 0.1, "{share} of {used} s");
}

#[test]
fn a_program_that_executes_another_and_one_that_forks() {
    // Both ways: the shell executes the program, which then forks or not.
    for script in ["read line; echo go | exec \"$0\"", "exec \"$0\" fork"] {
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(&*BURN);
        let Some((_running, profiler)) = burnt(&mut command, CPU_S) else {
            return;
        };
        let profiles = profiler.finish(1.0).unwrap();
        assert_is_burn(&profiles.on_cpu);
        assert!(profiles.processes.len() >= 2, "{:?}", profiles.processes);
    }
}

#[test]
fn debug_information_names_functions_or_else_symbols_do() {
    let inlined = "-DAPART=static inline __attribute__((always_inline))";
    // The crate that reads debug information does so without a decoder: symbols name the functions of the second.
    for options in [["-g", inlined], ["-g", "-gz=zlib"]] {
        let (_folder, program) = compile("burn.c", &options);
        let Some(profiles) = profile_of(program) else {
            return;
        };
        assert_is_burn(&profiles.on_cpu);
    }
}

#[test]
fn a_stripped_program_says_why_it_has_no_names() {
    let (_folder, program) = compile("burn.c", &["-s"]);
    let Some(profiles) = profile_of(program) else {
        return;
    };
    let (unknown, _) = shares(&profiles.on_cpu, "burn [unknown]");
    let unnamed = &profiles.on_cpu.unnamed[0];
    assert!(unknown > 0.9 && unnamed.share > 0.9, "{unnamed:?}");
    assert_eq!(unnamed.module, "burn");
    let why = "the file is stripped: build it without";
    assert!(unnamed.why.starts_with(why), "{}", unnamed.why);
}

#[test]
fn names_of_cpp_are_demangled() {
    let (_folder, program) = compile("basket.cpp", &[]);
    let Some(profiles) = profile_of(program) else {
        return;
    };
    let first = &functions(&profiles.on_cpu)[0];
    assert_eq!(first.frame.name, "shop::Basket::total(int)");
    assert!(first.self_share > 0.9);
}

#[test]
fn a_stripped_go_program_still_has_names() {
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("burn");
    let build = Command::new("go")
        .args(["build", "-ldflags=-s -w", "-o"])
        .args([&program, &programs().join("burn.go")])
        .env("GOFLAGS", "")
        .status();
    let Ok(status) = build else {
        return eprintln!("skipped: go is not installed");
    };
    assert!(status.success());
    let Some(profiles) = profile_of(program) else {
        return;
    };
    let first = &functions(&profiles.on_cpu)[0];
    assert_eq!(first.frame.name, "main.(*basket).total");
    assert!(first.self_share > 0.8, "{first:?}");
    assert!(profiles.on_cpu_whole > 0.9);
    let (_, called) = shares(&profiles.on_cpu, "main.main");
    assert!(called > 0.8, "{called}");
}

#[inline(never)]
fn burn_in_rust() -> u64 {
    (0..1_000_000).fold(1, |sum, value| std::hint::black_box(sum ^ value))
}

#[test]
fn names_of_rust_are_demangled_and_the_kernel_has_names() {
    // This thread alone: other tests run in this process, too.
    let thread = std::fs::read_link("/proc/thread-self").unwrap();
    let thread = thread.file_name().unwrap().to_str().unwrap();
    let thread: i32 = thread.parse().unwrap();
    let only_it = move || Ok([thread].into());
    let Some(profiler) = common::started(Profiler::start(often(), only_it)) else {
        return;
    };
    let used = || common::cpu_seconds_of(&format!("self/task/{thread}"));
    let before = used();
    while used() < before + CPU_S {
        std::hint::black_box(burn_in_rust());
        for _ in 0..2000 {
            let _ = std::hint::black_box(std::fs::metadata("/"));
        }
    }
    let profiles = profiler.finish(1.0).unwrap();
    let (_, share) = shares(&profiles.on_cpu, "processes::burn_in_rust");
    assert!(share > 0.1, "{share}");
    let hashed = |name: &str| {
        let hash = name.rsplit("::h").next().unwrap_or_default();
        hash.len() == 16 && hash.bytes().all(|digit| digit.is_ascii_hexdigit())
    };
    let names = profiles.on_cpu.frames.iter().map(|frame| &frame.name);
    assert_eq!(names.filter(|name| hashed(name)).count(), 0);
    let kernel = profiles.on_cpu.frames.iter();
    let mut kernel = kernel.filter(|frame| frame.kind == FrameKind::Kernel);
    let explained = !profiles.unavailable.is_empty();
    assert!(explained || kernel.any(|frame| frame.name.contains("sys")));
}

/// The seconds that a program waited, of whose threads one sleeps again and again and the other waits for it: in the
/// first, in the second, and in all; `None` if the kernel forbids that.
fn waits(naps: u64) -> Option<[f64; 3]> {
    let (_folder, program) = compile("nap.c", &[]);
    let mut running = Running::start(&mut Command::new(program));
    running.await_wait();
    let options = Options {
        off_cpu: true,
        ..Options::default()
    };
    let profiler = profile(options, running.pid)?;
    running.go();
    // A few of the waits may be no naps.
    until("the naps", || {
        (common::waits_of(running.pid) > naps + 10).then_some(())
    });
    let profiles = profiler.finish(1.0).unwrap();
    let Some(off_cpu) = profiles.off_cpu else {
        assert!(!profiles.unavailable.is_empty());
        return None;
    };
    let in_function = |name| shares(&off_cpu, name).1 * off_cpu.total();
    Some([in_function("nap"), in_function("main"), off_cpu.total()])
}

#[test]
fn a_thread_that_sleeps_waits_where_it_sleeps() {
    let Some([slept, waited, all]) = waits(20) else {
        return;
    };
    // Each sleeps for 20 ms at least. The main thread has waited since the first one, and until the end.
    assert!(slept > 19.0 * 0.02, "{slept}");
    assert!(waited > 0.9 * slept, "{waited}, {slept}");
    assert!(slept + waited > 0.95 * all, "{slept}, {waited}, {all}");
}

#[test]
#[ignore = "full check: measures for seconds, and a busy machine disturbs it"]
fn the_time_of_waits_is_exact_to_a_tenth() {
    let begun = std::time::Instant::now();
    let Some([slept, waited, _]) = waits(100) else {
        return;
    };
    let elapsed = begun.elapsed().as_secs_f64();
    for time in [slept, waited] {
        assert!((1.9..elapsed).contains(&time), "{time} of {elapsed}");
    }
    assert!((slept / waited - 1.0).abs() < 0.1, "{slept}, {waited}");
}

#[test]
fn a_process_that_is_killed_still_has_a_profile() {
    let Some((mut running, profiler)) = burnt(&mut Command::new(&*BURN), CPU_S) else {
        return;
    };
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    assert_is_burn(&profiler.finish(1.0).unwrap().on_cpu);
}

#[test]
fn a_process_that_has_ended_gives_an_error() {
    let mut running = Running::start(&mut Command::new("true"));
    running.child.wait().unwrap();
    let pid = running.pid;
    let error = Profiler::start(Options::default(), move || common::threads_of(&[pid]));
    let error = error.err().unwrap();
    assert_eq!(error.what, "profiles");
    assert!(error.why.contains("ended"), "{error:?}");
}
