//! Profiles of real processes, of which the truth is known.

use crate::common;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Running, profile, shares};
use prony_model::{FrameKind, Profile};
use prony_profile::{Options, Profiler, Profiles, folded, functions};
use tempfile::TempDir;

/// More samples than a profile usually has, so that shares are exact enough after a second.
fn often() -> Options {
    Options {
        frequency_hz: 997,
        ..Options::default()
    }
}

/// Compiles a program of `tests/programs` without frame pointers.
fn compile(folder: &TempDir, source: &str, options: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(source);
    let compiler = match source.extension().is_some_and(|name| name == "cpp") {
        true => "c++",
        false => "cc",
    };
    let program = folder.path().join(source.file_stem().unwrap());
    let status = Command::new(compiler)
        .args(["-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls"])
        .args(options)
        .arg("-o")
        .args([&program, &source])
        .arg("-pthread")
        .status();
    assert!(status.unwrap().success());
    program
}

/// Profiles until there are as many samples as a second and a half of CPU time has, but not for longer than 20 s:
/// other programs may need the CPU.
fn sample(running: &mut Running, profiler: Profiler) -> Profiles {
    burn(running);
    profiler.finish(1.0).unwrap()
}

fn burn(running: &mut Running) {
    running.go();
    let start = Instant::now();
    while cpu_seconds(running.pid) < 1.5 && start.elapsed() < Duration::from_secs(20) {
        sleep(Duration::from_millis(20));
    }
}

/// The CPU time of a process and its descendants.
fn cpu_seconds(pid: i32) -> f64 {
    let ticks = common::descendants_of(&[pid]).into_iter().map(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after_name = stat.rsplit(')').next().unwrap_or_default().to_owned();
        let fields = after_name.split_whitespace().skip(11).take(2);
        fields
            .filter_map(|field| field.parse::<f64>().ok())
            .sum::<f64>()
    });
    ticks.sum::<f64>() / 100.0
}

fn assert_is_burn(profile: &Profile) {
    assert_share(profile, "heavy", 0.7);
    assert_share(profile, "light", 0.3);
    assert_whole(profile);
}

/// Within 5 points; a profile of few samples, because the machine is busy, may deviate by four standard errors.
fn assert_share(profile: &Profile, name: &str, expected: f64) {
    let (share, _) = shares(profile, name);
    let samples = profile.samples as f64;
    let standard_error = (expected * (1.0 - expected) / samples).sqrt();
    let allowed = (4.0 * standard_error).max(0.05);
    let deviation = (share - expected).abs();
    assert!(
        samples >= 100.0 && deviation <= allowed,
        "{name}: {share} of {samples} samples"
    );
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
    let folder = TempDir::new().unwrap();
    let program = compile(&folder, "burn.c", &[]);
    let mut running = Running::start(&mut Command::new(program));
    let Some(profiler) = profile(often(), running.pid) else {
        return;
    };
    burn(&mut running);
    let used = cpu_seconds(running.pid);
    let profiles = profiler.finish(1.0).unwrap();
    assert_is_burn(&profiles.on_cpu);
    assert!(profiles.on_cpu_whole > 0.99, "{}", profiles.on_cpu_whole);
    assert!(profiles.on_cpu.unnamed.is_empty());
    assert!(profiles.processes.contains(&running.pid));
    let seconds = profiles.on_cpu.seconds;
    assert!(
        (seconds / used - 1.0).abs() < 0.1,
        "{seconds} s of {used} s"
    );
}

#[test]
fn a_program_that_executes_another_and_one_that_forks() {
    let folder = TempDir::new().unwrap();
    let program = compile(&folder, "burn.c", &[]);
    for arguments in [vec!["exec", "/bin/sh"], vec!["fork"]] {
        let mut command = Command::new("sh");
        // Both ways: the shell executes the program, which then forks or not.
        let script = match arguments[0] {
            "exec" => "read line; echo go | exec \"$0\"",
            _ => "exec \"$0\" fork",
        };
        command.args(["-c", script]).arg(&program);
        let mut running = Running::start(&mut command);
        let Some(profiler) = profile(often(), running.pid) else {
            return;
        };
        let profiles = sample(&mut running, profiler);
        assert_is_burn(&profiles.on_cpu);
        assert!(profiles.processes.len() >= 2, "{:?}", profiles.processes);
    }
}

#[test]
fn debug_information_shows_what_was_inlined() {
    let folder = TempDir::new().unwrap();
    let program = compile(
        &folder,
        "burn.c",
        &["-g", "-DAPART=static inline __attribute__((always_inline))"],
    );
    let mut running = Running::start(&mut Command::new(program));
    let Some(profiler) = profile(often(), running.pid) else {
        return;
    };
    assert_is_burn(&sample(&mut running, profiler).on_cpu);
}

#[test]
fn symbols_give_names_if_debug_information_cannot_be_read() {
    let folder = TempDir::new().unwrap();
    // The crate that reads it does so without a decoder.
    let program = compile(&folder, "burn.c", &["-g", "-gz=zlib"]);
    let mut running = Running::start(&mut Command::new(program));
    let Some(profiler) = profile(often(), running.pid) else {
        return;
    };
    assert_is_burn(&sample(&mut running, profiler).on_cpu);
}

#[test]
fn a_stripped_program_says_why_it_has_no_names() {
    let folder = TempDir::new().unwrap();
    let program = compile(&folder, "burn.c", &["-s"]);
    let mut running = Running::start(&mut Command::new(program));
    let Some(profiler) = profile(often(), running.pid) else {
        return;
    };
    let profile = sample(&mut running, profiler).on_cpu;
    let (unknown, _) = shares(&profile, "burn [unknown]");
    assert!(unknown > 0.9, "{unknown}");
    let unnamed = &profile.unnamed[0];
    assert_eq!(unnamed.module, "burn");
    assert!(unnamed.share > 0.9);
    assert!(
        unnamed
            .why
            .starts_with("the file is stripped: build it without")
    );
}

#[test]
fn names_of_cpp_are_demangled() {
    let folder = TempDir::new().unwrap();
    let program = compile(&folder, "basket.cpp", &[]);
    let mut running = Running::start(&mut Command::new(program));
    let Some(profiler) = profile(often(), running.pid) else {
        return;
    };
    let profile = sample(&mut running, profiler).on_cpu;
    let first = &functions(&profile)[0];
    assert_eq!(first.frame.name, "shop::Basket::total(int)");
    assert!(first.self_share > 0.9);
}

#[test]
fn a_stripped_go_program_still_has_names() {
    let folder = TempDir::new().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/burn.go");
    let program = folder.path().join("burn");
    let build = Command::new("go")
        .args(["build", "-ldflags=-s -w", "-o"])
        .args([&program, &source])
        .env("GOFLAGS", "")
        .status();
    let Ok(status) = build else {
        return eprintln!("skipped: go is not installed");
    };
    assert!(status.success());
    let mut running = Running::start(&mut Command::new(program));
    let Some(profiler) = profile(often(), running.pid) else {
        return;
    };
    let profiles = sample(&mut running, profiler);
    let first = &functions(&profiles.on_cpu)[0];
    assert_eq!(first.frame.name, "main.(*basket).total");
    assert!(first.self_share > 0.8, "{first:?}");
    assert!(profiles.on_cpu_whole > 0.9);
    let (_, called) = shares(&profiles.on_cpu, "main.main");
    assert!(called > 0.8, "{called}");
}

#[inline(never)]
fn burn_in_rust(until: Instant) -> u64 {
    let mut sum = 1_u64;
    while Instant::now() < until {
        sum = (0..100_000).fold(sum, |sum, value| std::hint::black_box(sum ^ value));
    }
    sum
}

#[test]
fn names_of_rust_are_demangled_and_the_kernel_has_names() {
    let Some(profiler) = profile(often(), std::process::id() as i32) else {
        return;
    };
    std::hint::black_box(burn_in_rust(Instant::now() + Duration::from_secs(1)));
    for _ in 0..200_000 {
        let _ = std::hint::black_box(std::fs::metadata("/"));
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

#[test]
fn a_thread_that_sleeps_waits_where_it_sleeps() {
    let folder = TempDir::new().unwrap();
    let program = compile(&folder, "nap.c", &[]);
    let mut running = Running::start(&mut Command::new(program));
    let options = Options {
        off_cpu: true,
        ..Options::default()
    };
    let Some(profiler) = profile(options, running.pid) else {
        return;
    };
    running.go();
    sleep(Duration::from_millis(100));
    let start = Instant::now();
    sleep(Duration::from_millis(2_050));
    let elapsed = start.elapsed().as_secs_f64() + 0.1;
    let profiles = profiler.finish(1.0).unwrap();
    let Some(off_cpu) = profiles.off_cpu else {
        assert!(!profiles.unavailable.is_empty());
        return;
    };
    let (_, share) = shares(&off_cpu, "nap");
    let slept = share * off_cpu.total();
    assert!((slept / elapsed - 1.0).abs() < 0.1, "{slept} of {elapsed}");
    // The main thread waits for it from then on, until the end.
    let (_, share) = shares(&off_cpu, "main");
    let waited = share * off_cpu.total();
    assert!(
        (waited / elapsed - 1.0).abs() < 0.1,
        "{waited} of {elapsed}"
    );
}

#[test]
fn a_process_that_is_killed_still_has_a_profile() {
    let folder = TempDir::new().unwrap();
    let program = compile(&folder, "burn.c", &[]);
    let mut running = Running::start(&mut Command::new(program));
    let Some(profiler) = profile(often(), running.pid) else {
        return;
    };
    burn(&mut running);
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    sleep(Duration::from_millis(300));
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
