# What protects every change. Quick checks come first, so that a mistake is told within a minute.
# shellcheck shell=bash

# Everything that is compiled here is compiled once: the linter and the documentation share the metadata of third-party
# crates, and the tests, the help pages and the examples are of one build.
basics() {
  step 'the table of parts' .ci/test_parts.py
  step 'formats' formats
  step 'words' words
  step 'scripts' scripts
  step 'lints' lints
  step 'documentation' env RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps
  step 'build the tests' cargo test --locked --workspace --no-run
  step 'words of the help pages' words_of_help_pages
  step 'tests' tests
  step 'release build' cargo build --locked --release
  step 'keep third-party crates for the next checkout' save_crates
  step 'tour, from build to report' tour
}

formats() {
  local folder unformatted
  cargo fmt --all --check
  for folder in benches/providers benches/verdicts/instructions/servers/rust fuzz servers/rust-*/; do
    in_folder "$folder" cargo fmt --check
  done
  unformatted=$(gofmt -l benches servers)
  [[ -z $unformatted ]] || { echo "run gofmt -w on: $unformatted" && return 1; }
  "$linters/venv/bin/ruff" format --check .
  .ci/linters/node_modules/.bin/prettier --check 'servers/*/*.{ts,js,mjs}' 'drivers/*/*.js' 'crates/**/*.js' \
    'tests/browser/**/*.js' 'benches/verdicts/instructions/servers/*/*.{ts,mjs}'
}

# textlint CONFIGURATION FILE…: names the source file instead of the Markdown that was made of it.
textlint() {
  local configuration=$1
  shift
  .ci/linters/node_modules/.bin/textlint --config ".ci/linters/$configuration.json" --format unix "$@" |
    sed -E "s#^$PWD/##; s#^\.prony/ci/source-texts/(.*)\.md:([0-9]+):[0-9]+:#\1:\2:#"
}

# The vocabulary in typos.toml, then the phrases in .ci/linters/phrases.yml: in docs, comments and strings.
words() {
  local failed=0
  rm -rf "$work/source-texts"
  .ci/linters/source_texts.py "$work/source-texts"
  "$linters/venv/bin/typos" --format brief . || failed=1
  textlint docs ./*.md docs/*.md crates/README.md crates/*/README.md crates/*/*/README.md fuzz/README.md packaging/*.md \
    docs/pictures/*.md tests/browser/*.md || failed=1
  textlint phrases "$work/source-texts" || failed=1
  return $failed
}

words_of_help_pages() {
  rm -rf "$work/help"
  .ci/linters/help_pages.py target/debug/prony "$work/help"
  textlint phrases "$work/help"
}

scripts() {
  "$linters/venv/bin/shellcheck" --external-sources .ci/run .ci/full .ci/timed-test-program \
    packaging/*.sh packaging/*/*.sh labs/*.sh labs/*/*.sh
  "$linters/venv/bin/ruff" check --select E4,E7,E9,F,I,B,UP .
}

lints() {
  cargo clippy --locked --workspace --all-targets -- -D warnings -D clippy::ignore_without_reason
}

# The README's command. Cargo starts each test program through a script that notes how long each test takes.
tests() {
  local times=$work/test-times host runner
  rm -rf "$times"
  mkdir -p "$times"
  host=$(rustc -vV | sed -n 's/^host: //p')
  runner=CARGO_TARGET_$(tr a-z- A-Z_ <<<"$host")_RUNNER
  env "$runner=$PWD/.ci/timed-test-program" PRONY_TEST_TIMES="$times" PRONY_REQUIRE_TOOLCHAINS=1 \
    PRONY_REQUIRE_PERF_EVENTS=1 PRONY_REQUIRE_VALGRIND=1 cargo test --workspace
  .ci/test_times.py "$times" .ci/slow-tests
}

# Runs two short rounds of the tour, writes its reports, and exports the record.
tour() {
  local run
  rm -f "$work"/tour.sqlite*
  cargo run --release -- run tour --rounds 2 --duration 300ms --warmup 100ms --store "$work/tour.sqlite"
  cargo run --release -- export --store "$work/tour.sqlite" -o "$work/run.json"
  cargo run --release -- export --store "$work/tour.sqlite" --format csv -o "$work/trials.csv"
  run=$(python3 - "$work/run.json" <<'PYTHON'
import json
import sys

with open(sys.argv[1]) as file:
    exported = json.load(file)
results = {trial["result"]["result"] for trial in exported["trials"]}
assert exported["run"]["end"] == "complete", exported["run"]["end"]
assert results == {"measured"}, results
print(exported["run"]["id"])
PYTHON
  )
  for file in report.md report.html record.json charts/hello-throughput.svg; do
    [[ -s .prony/runs/$run/$file ]] || { echo "the run did not write $file" && return 1; }
  done
  [[ $(wc -l <"$work/trials.csv") -gt 1 ]]
}
