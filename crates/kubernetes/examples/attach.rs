//! attach SETTINGS AGENTS: starts agents with the settings of a TOML file, sends them each line of standard input, and
//! shows what happens, until standard input ends. For the laboratory.

use std::io::BufRead;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use prony_fleet::{Launch, Launcher};
use prony_kubernetes::Kubernetes;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: attach SETTINGS AGENTS";
    let settings = std::fs::read_to_string(arguments.next().ok_or(usage)?)?;
    let agents = arguments.next().ok_or(usage)?.parse()?;
    let id = format!("attach-{}", std::process::id());
    let began = Instant::now();
    let launch = Launch {
        agents,
        id: &id,
        interrupt: &AtomicBool::new(false),
    };
    let mut fleet = Kubernetes::new(toml::from_str(&settings)?).launch(&launch)?;
    println!("{:?} started", began.elapsed());
    for line in std::io::stdin().lock().lines() {
        fleet.send(&line?)?;
        while let Ok(event) = fleet.events().recv_timeout(Duration::from_secs(3)) {
            println!("{:?} {event:?}", began.elapsed());
        }
    }
    let began = Instant::now();
    drop(fleet);
    println!("stopped in {:?}", began.elapsed());
    Ok(())
}
