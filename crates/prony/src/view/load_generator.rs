//! What a load cost the generator itself, and whether it was the limit.

use std::fmt::{Result, Write};

use prony_model::{LoadResult, Outcome};
use prony_report::format;

/// The generator's own figures, those that were counted.
pub fn write_generator(out: &mut String, result: &LoadResult) -> Result {
    let generator = &result.generator;
    let mut parts = vec![generator.event_loop.clone()];
    parts.push(format!(
        "busiest thread {:.0} % busy",
        generator.busy_max * 100.0
    ));
    parts.extend(cpu(result));
    if generator.spin_s > 0.0 {
        parts.push(format!(
            "{} busy-waiting besides",
            format::duration(generator.spin_s * 1e9)
        ));
    }
    writeln!(out, "Generator:    {}", parts.join(", "))?;
    let counted = counted(result);
    if !counted.is_empty() {
        writeln!(out, "              {} a request", counted.join(", "))?;
    }
    if generator.client_limited {
        let evidence = generator.client_limited_by.as_deref();
        let evidence = evidence.map_or(String::new(), |evidence| format!(" ({evidence})"));
        writeln!(
            out,
            "  CLIENT-LIMITED{evidence}: the generator may have been the limit, not the server. Give it more \
             threads (-t) or CPUs, or read these figures as a lower bound."
        )?;
    }
    Ok(())
}

/// CPU time a request, and how much of it the kernel took.
fn cpu(result: &LoadResult) -> Option<String> {
    let generator = &result.generator;
    let used = generator.cpu_user_s + generator.cpu_system_s;
    // To wait busily is no work for a request.
    let working = used - generator.spin_s;
    let requests = sent_and_ended(result);
    (requests > 0 && working > 0.0).then(|| {
        format!(
            "{} CPU a request ({} in the kernel)",
            format::duration(working * 1e9 / requests as f64),
            format::share((generator.cpu_system_s / working).min(1.0)),
        )
    })
}

/// What was counted for each request.
fn counted(result: &LoadResult) -> Vec<String> {
    let generator = &result.generator;
    let requests = sent_and_ended(result);
    let each = |count: u64| format::count(count as f64 / requests as f64);
    if requests == 0 {
        return Vec::new();
    }
    let calls = (generator.system_calls > 0).then_some(generator.system_calls);
    [
        calls.map(|count| format!("{} system calls", each(count))),
        generator
            .cycles
            .map(|count| format!("{} cycles", each(count))),
        generator
            .instructions
            .map(|count| format!("{} instructions", each(count))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The requests that cost something: in an open loop many may never have been sent.
fn sent_and_ended(result: &LoadResult) -> u64 {
    let outcomes = &result.outcomes;
    outcomes.total() - outcomes[Outcome::Shed] - outcomes[Outcome::Unfinished]
}
