//! Profiles processes and their descendants: prints the heaviest functions and writes a flame graph and folded stacks.
//!
//!     cargo run --release -p prony-profile --example profile -- --seconds 5 --output /tmp/profile PID…

#[path = "../tests/it/common/mod.rs"]
mod common;

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Parser;
use prony_model::{Profile, Unavailable};
use prony_profile::{Options, Profiler, flame_graph, folded, functions};

/// Profile processes and their descendants
#[derive(Parser)]
struct Arguments {
    /// The processes
    #[arg(required = true)]
    pids: Vec<i32>,
    /// How long to sample
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Also sample where threads wait
    #[arg(long)]
    off_cpu: bool,
    /// Samples a second
    #[arg(long, default_value_t = 199)]
    frequency: u64,
    /// How many requests the processes serve meanwhile
    #[arg(long, default_value_t = 1.0)]
    units: f64,
    /// The folder for the flame graphs and folded stacks
    #[arg(long)]
    output: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let options = Options {
        frequency_hz: arguments.frequency,
        off_cpu: arguments.off_cpu,
        ..Options::default()
    };
    let pids = arguments.pids.clone();
    let profiler = Profiler::start(options, move || common::threads_of(&pids)).map_err(text)?;
    sleep(Duration::from_secs_f64(arguments.seconds));
    let start = Instant::now();
    let profiles = profiler.finish(arguments.units).map_err(text)?;
    eprintln!("naming took {:.2} s", start.elapsed().as_secs_f64());
    println!("whole stacks: {:.1} %", profiles.on_cpu_whole * 100.0);
    for unavailable in profiles.unavailable {
        println!("unavailable: {}", text(unavailable));
    }
    show("on CPU", &profiles.on_cpu, &arguments)?;
    if let Some(off_cpu) = &profiles.off_cpu {
        show("off CPU", off_cpu, &arguments)?;
    }
    Ok(())
}

fn show(name: &str, profile: &Profile, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    println!(
        "{name}: {:.2} s in {} samples, {} lost, {} stacks of {} functions",
        profile.seconds,
        profile.samples,
        profile.lost,
        profile.stacks.len(),
        profile.frames.len()
    );
    for share in functions(profile).iter().take(15) {
        println!(
            "  {:5.1} % {:5.1} %  {} ({})",
            share.self_share * 100.0,
            share.total_share * 100.0,
            share.frame.name,
            share.frame.module
        );
    }
    for unnamed in &profile.unnamed {
        let share = unnamed.share * 100.0;
        println!(
            "  unnamed: {share:.1} % in {}: {}",
            unnamed.module, unnamed.why
        );
    }
    if let Some(folder) = &arguments.output {
        fs::create_dir_all(folder)?;
        let stem = folder.join(name.replace(' ', "-"));
        fs::write(stem.with_extension("folded"), folded(profile))?;
        let subtitle = format!("{:.2} s", profile.seconds);
        fs::write(
            stem.with_extension("svg"),
            flame_graph(profile, name, &subtitle)?,
        )?;
    }
    Ok(())
}

fn text(unavailable: Unavailable) -> String {
    let remedy = unavailable.remedy.map(|remedy| format!("; {remedy}"));
    let remedy = remedy.unwrap_or_default();
    format!("{}: {}{remedy}", unavailable.what, unavailable.why)
}
