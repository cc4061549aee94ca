//! Profiles processes and their descendants, and prints the heaviest functions; `prony explain` shows more.
//!
//!     cargo run --release -p prony-insight --example profile -- --seconds 5 PID…

#[path = "../tests/it/profile/common/mod.rs"]
mod common;

use std::thread::sleep;
use std::time::{Duration, Instant};

use clap::Parser;
use prony_insight::profile::{Options, Profiler, functions};
use prony_model::{Profile, Unavailable};

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
}

fn main() -> Result<(), String> {
    let arguments = Arguments::parse();
    let options = Options {
        frequency_hz: arguments.frequency,
        off_cpu: arguments.off_cpu,
        ..Options::default()
    };
    let pids = arguments.pids;
    let profiler = Profiler::start(options, move || common::threads_of(&pids)).map_err(text)?;
    sleep(Duration::from_secs_f64(arguments.seconds));
    let start = Instant::now();
    let profiles = profiler.finish(1.0).map_err(text)?;
    println!("naming took {:.2} s", start.elapsed().as_secs_f64());
    println!("whole stacks: {:.1} %", profiles.on_cpu_whole * 100.0);
    for unavailable in profiles.unavailable {
        println!("unavailable: {}", text(unavailable));
    }
    show("on CPU", &profiles.on_cpu);
    if let Some(off_cpu) = &profiles.off_cpu {
        show("off CPU", off_cpu);
    }
    Ok(())
}

fn show(name: &str, profile: &Profile) {
    let (samples, lost) = (profile.samples, profile.lost);
    println!(
        "{name}: {:.2} s in {samples} samples, {lost} lost",
        profile.seconds
    );
    for share in functions(profile).iter().take(15) {
        let (own, total) = (share.self_share * 100.0, share.total_share * 100.0);
        let frame = &share.frame;
        println!(
            "  {own:5.1} % {total:5.1} %  {} ({})",
            frame.name, frame.module
        );
    }
    for unnamed in &profile.unnamed {
        println!("  unnamed in {}: {}", unnamed.module, unnamed.why);
    }
}

fn text(unavailable: Unavailable) -> String {
    format!("{}: {}", unavailable.what, unavailable.why)
}
