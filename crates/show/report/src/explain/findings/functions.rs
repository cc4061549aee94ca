//! What a profile says: garbage collection, and functions that take much of the time.

use prony_model::Profile;
use prony_present::number::share;
use prony_present::terminal::cut;
use prony_stats::share_of;

use super::named;
use crate::explain::functions::Function;
use crate::explain::summary::WorkloadCosts;

/// Garbage collection is mentioned if its share of the CPU time is above this.
const LEAST_COLLECTION: f64 = 0.05;

/// A function is mentioned if its own share of the CPU time is above this.
const LEAST_FUNCTION: f64 = 0.25;

/// The most letters of a function's name in a sentence.
const LETTERS: usize = 60;

/// Functions that do nothing but collect garbage, by runtime. A name that ends in `::` stands for all functions in it.
const COLLECTORS: [&str; 27] = [
    // Go
    "runtime.gcBgMarkWorker",
    "runtime.gcAssistAlloc",
    "runtime.gcDrain",
    "runtime.gcStart",
    "runtime.bgsweep",
    "runtime.bgscavenge",
    // V8: Node, Deno
    "v8::internal::Heap::CollectGarbage",
    "v8::internal::Heap::PerformGarbageCollection",
    "v8::internal::MarkCompactCollector::",
    "v8::internal::ScavengerCollector::",
    "v8::internal::Scavenger::",
    "v8::internal::ConcurrentMarking::",
    // JavaScriptCore: Bun
    "JSC::Heap::collectInMutatorThread",
    "JSC::Heap::collectInCollectorThread",
    "JSC::SlotVisitor::drain",
    // HotSpot
    "G1ParScanThreadState::",
    "G1ConcurrentMark::",
    "G1CMTask::",
    "G1FullCollector::",
    "PSScavenge::",
    "PSParallelCompact::",
    "DefNewGeneration::collect",
    // CPython
    "gc_collect_main",
    "gc_collect_region",
    // .NET
    "WKS::gc_heap::",
    "SVR::gc_heap::",
    // PHP
    "zend_gc_collect_cycles",
];

/// Which servers spend much CPU time on garbage collection.
pub(super) fn collection(workload: &WorkloadCosts<'_>) -> Option<String> {
    let servers = named(workload, |server| {
        let profile = server.of.on_cpu.as_ref()?;
        let collecting = collecting(profile);
        let is_much = is_more_than(collecting, profile, LEAST_COLLECTION);
        let of_all = collecting / profile.total();
        is_much.then(|| (of_all, share(of_all)))
    })?;
    let servers = servers.and("spends", "spend");
    Some(format!(
        "{servers} CPU time on garbage collection, by the names of functions."
    ))
}

/// The samples below a function that collects garbage.
fn collecting(profile: &Profile) -> f64 {
    let frames = profile.frames.iter();
    let collects: Vec<bool> = frames.map(|frame| collects(&frame.name)).collect();
    let is_collecting = |index: &u32| collects.get(*index as usize) == Some(&true);
    let stacks = profile.stacks.iter();
    let stacks = stacks.filter(|stack| stack.frames.iter().any(is_collecting));
    stacks.map(|stack| stack.weight).sum()
}

fn collects(name: &str) -> bool {
    COLLECTORS.iter().any(
        |known| match (known.ends_with("::"), name.strip_prefix(known)) {
            (_, None) => false,
            (true, Some(_)) => true,
            // `gcDrain` and `gcDrain(…)`, but not `gcDrainN`.
            (false, Some(rest)) => {
                !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_')
            }
        },
    )
}

/// Which servers spend much of their CPU time in a single function.
pub(super) fn one_function(workload: &WorkloadCosts<'_>) -> Option<String> {
    let servers = named(workload, |server| {
        let profile = server.of.on_cpu.as_ref()?;
        let heaviest = server.functions.first().filter(|one| has_name(one))?;
        let samples = heaviest.self_share * profile.total();
        let is_much = is_more_than(samples, profile, LEAST_FUNCTION);
        let words = format!(
            "{} in {} of {}",
            share(heaviest.self_share),
            cut(&heaviest.frame.name, LETTERS),
            heaviest.frame.module
        );
        is_much.then_some((heaviest.self_share, words))
    })?;
    let verb = servers.and("spends much of its", "spend much of their");
    Some(format!("{verb} CPU time in one function."))
}

fn has_name(function: &Function<'_>) -> bool {
    !function.frame.name.contains("[unknown]")
}

/// Whether the share of these samples is above the limit, by its interval.
fn is_more_than(samples: f64, of: &Profile, limit: f64) -> bool {
    share_of(samples.round() as u64, of.total().round() as u64).low > limit
}

#[cfg(test)]
mod tests {
    use super::super::rules::Rule;
    use super::*;
    use crate::explain::summary::ExplanationSummary;
    use crate::explain::testing::Builder;

    fn says(rule: Rule, stacks: &[(&str, f64)]) -> Option<String> {
        let servers = [Builder::server("a").profile(stacks).done()];
        rule(&ExplanationSummary::of(&servers).workloads[0])
    }

    #[test]
    fn garbage_collection_is_everything_below_a_collector() {
        let stacks = [
            ("main;runtime.gcBgMarkWorker;scan", 80.0),
            ("main;runtime.gcAssistAlloc", 40.0),
            ("main;handle", 880.0),
        ];
        let sentence = "a (12 %) spends CPU time on garbage collection, by the names of functions.";
        assert_eq!(says(collection, &stacks).unwrap(), sentence);
    }

    #[test]
    fn garbage_collection_of_a_twentieth_is_not_mentioned() {
        for (collecting, all, is_mentioned) in [
            (70.0, 1000.0, true),
            // 5.5 of 100 samples are within the noise of 5, and ten samples say little.
            (55.0, 1000.0, false),
            (1.0, 10.0, false),
        ] {
            let stacks = [("gc_collect_main", collecting), ("x", all - collecting)];
            assert_eq!(
                says(collection, &stacks).is_some(),
                is_mentioned,
                "{collecting}"
            );
        }
    }

    #[test]
    fn only_functions_that_certainly_collect_count() {
        let collect = [
            "runtime.gcDrain",
            "v8::internal::Scavenger::Process()",
            "gc_collect_main(x)",
        ];
        let others = [
            "runtime.gcDrainN",
            "runtime.mallocgc",
            "my::gc_collect_main",
            "gc_collect_main_2",
        ];
        let found = [&collect[..], &others]
            .concat()
            .into_iter()
            .filter(|name| collects(name));
        assert_eq!(found.collect::<Vec<_>>(), collect);
    }

    #[test]
    fn a_function_that_takes_more_than_a_quarter_is_named() {
        let of = |name| says(one_function, &[(name, 600.0), ("x", 10.0), ("y", 390.0)]);
        let sentence =
            "a (60 % in copy_to_user of [kernel]) spends much of its CPU time in one function.";
        assert_eq!(of("k:copy_to_user").unwrap(), sentence);
        assert_eq!(of("server [unknown]"), None);
        let near = |samples: f64| {
            let rest = (1000.0 - samples) / 4.0;
            let others = ["a", "b", "c", "d"].map(|name| (name, rest));
            says(one_function, &[&[("f", samples)], &others[..]].concat())
        };
        assert!(near(300.0).is_some());
        assert_eq!(near(260.0), None, "26 % may be 25 %");
    }
}
