//! The documentation names only flags that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use crate::common::{commands_in, prony, repository, run};

/// Flags of other programs that the documentation names: other load generators, Cargo, npm, podman, curl, scripts in
/// `benches/`, and servers in examples.
const FOREIGN: &str = "\
    --bin --body-file --burst-rate --call --check --concurrency --connect-to --context --count --count-errors \
    --create-if-none --descriptor_set_out --disable-keepalive --draws --edit-last --example --from --frozen \
    --frozen-lockfile --git --global --h1 --hash-seed --host --ignore-missing --immutable --include_imports \
    --interpreted-frames-native-stack --interrupt-budget --label --languages --latency-correction --listen \
    --local-ips --locked --namespace --network --no-access-log --nodelist --npn-list --other-program --output-format \
    --path --perf-basic-prof-only-functions --port --predictable --predictable-gc-schedule --profile --prony --quiet \
    --random-seed --release --retry --retry-connrefused --rm --rps --runs --save-dev --security-opt --single \
    --skipTLS --summary-export --terminate-after-count --thinktime --unbuffered --urls-from-file --version \
    --warm-up-time --workspace --write --write-out";

/// The flags in a text: two hyphens and a name.
fn flags(text: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let mut found = BTreeSet::new();
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let rest = &text[at..];
        if rest.starts_with("--") && !is_name(before) {
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            let flag = rest[..end].trim_end_matches(['-', '.']);
            // `--expect-…` means several.
            if flag.len() > 2 && !rest[end..].starts_with('…') {
                found.insert(flag.to_owned());
            }
        }
        before = c;
    }
    found
}

/// The flags of each command, by its words after `prony`.
fn flags_of_commands() -> BTreeMap<String, BTreeSet<String>> {
    // The general help page does not show it.
    let mut pending = vec![String::new(), "reference".to_owned()];
    let mut all = BTreeMap::new();
    while let Some(command) = pending.pop() {
        let words = command.split_whitespace().chain(["--help"]);
        let page = run(prony(words)).with(0).stdout;
        for name in commands_in(&page) {
            pending.push(format!("{command} {name}").trim_start().to_owned());
        }
        all.insert(command, flags(&page));
    }
    all
}

fn documents() -> Vec<PathBuf> {
    let root = repository();
    let docs = fs::read_dir(root.join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let docs = docs.filter(|path| path.extension().is_some_and(|it| it == "md"));
    docs.chain([root.join("README.md")]).collect()
}

/// The longest command that these words begin with.
fn command_of(words: &[&str], commands: &BTreeMap<String, BTreeSet<String>>) -> String {
    let longest = (0..=words.len().min(2)).rev();
    let mut prefixes = longest.map(|count| words[..count].join(" "));
    prefixes
        .find(|prefix| commands.contains_key(prefix))
        .unwrap()
}

#[test]
fn every_flag_in_the_documentation_exists_and_every_command_there_has_its_flags() {
    let commands = flags_of_commands();
    assert!(commands.contains_key("grpc list") && commands["load"].contains("--http1.1"));
    let own: BTreeSet<&str> = commands.values().flatten().map(String::as_str).collect();
    let foreign: BTreeSet<&str> = FOREIGN.split_whitespace().collect();
    let (mut seen, mut wrong, mut examples) = (BTreeSet::new(), Vec::new(), 0);
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        let document = document.display();
        for (number, line) in (1..).zip(text.lines()) {
            for flag in flags(line) {
                if !own.contains(flag.as_str()) && !foreign.contains(flag.as_str()) {
                    wrong.push(format!("{document}:{number}: {flag}"));
                }
                seen.insert(flag);
            }
        }
        for line in text.replace("\\\n", " ").lines() {
            let line = line.trim_start().trim_start_matches("$ ");
            let Some(rest) = line.strip_prefix("prony ") else {
                continue;
            };
            // Words after two blanks are a comment.
            let arguments = rest.split("  ").next().unwrap_or_default();
            let words: Vec<&str> = arguments.split_whitespace().collect();
            let known = &commands[&command_of(&words, &commands)];
            let unknown: Vec<_> = flags(arguments).difference(known).cloned().collect();
            if !unknown.is_empty() {
                wrong.push(format!("{document}: `{line}` has {unknown:?}"));
            }
            examples += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(examples > 50, "{examples}");
    let is_stale = |flag: &&&str| !seen.contains(**flag);
    let stale: Vec<_> = foreign.iter().filter(is_stale).collect();
    assert!(stale.is_empty(), "no document names {stale:?}");
}
