//! `calls PID SECONDS`: the system calls of a running process and of all that it starts, by name, and its figures from
//! `/proc`.

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use prony_insight::trace::{Activity, SystemCalls, is_write};
use prony_testkit::processes::threads_of;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(pid), Some(seconds)) = (arguments.next(), arguments.next()) else {
        return Err("usage: calls PID SECONDS".into());
    };
    let pids = [pid.parse()?];
    let before = Activity::read(&pids)?;
    let calls = SystemCalls::start(|| threads_of(&pid), &[]).map_err(|it| format!("{it:?}"))?;
    sleep(Duration::from_secs_f64(seconds.parse()?));
    let traced = calls.finish();
    let used = Activity::read(&pids)?.since(&before);
    let total: u64 = traced.by_name.values().sum();
    println!("{total} system calls, {} lost", traced.lost);
    for (name, count) in &traced.by_name {
        let writes = if is_write(name) { " (writes)" } else { "" };
        println!("{count:>10} {name}{writes}");
    }
    println!("wake-ups: {:?}", traced.wake_ups);
    println!("{used:#?}");
    println!("{:#?}", traced.unavailable);
    Ok(())
}
