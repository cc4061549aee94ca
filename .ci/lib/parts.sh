# The parts of the full check, each a function `part_NAME`. parts.toml says what each covers. Each can run by itself.
# shellcheck shell=bash

# The program that parts run.
release() { cargo build --locked --release --quiet; }

# The Zig that Prony installed in this project, if any.
installed_zig() {
  local folder=$PWD/.prony/tools/zig/lib
  [[ ! -e $folder ]] || find "$folder" -path '*/ziglang/zig' -type f | head -n 1
}

# Uses that Zig, otherwise the system's.
part_zig() {
  local zig cache=$work/zig-cache file
  zig=$(installed_zig)
  if [[ -z $zig ]] && ! has zig; then
    release
    target/release/prony verify zig-std --require-toolchains
    zig=$(installed_zig)
  fi
  zig=${zig:-zig}
  "$zig" fmt --check servers/zig-*/*.zig benches/verdicts/instructions/servers/zig/*.zig
  for file in Request Clock; do
    in_folder servers/zig-epoll "$zig" test --cache-dir "$cache" --global-cache-dir "$cache" "$file.zig"
  done
}

# For the workspace and the fuzz targets, each of which has a lock file.
part_dependencies() {
  cargo_tool "cargo-deny@$cargo_deny"
  deny bans licenses sources
  if cargo deny fetch db; then
    deny advisories
  else
    echo 'WARNING: the advisory database cannot be reached, so dependencies were NOT checked for known vulnerabilities'
  fi
}

# deny CHECK…
deny() {
  local manifest
  for manifest in Cargo.toml fuzz/Cargo.toml; do
    cargo deny --locked --manifest-path "$manifest" --config deny.toml check --hide-inclusion-graph "$@"
  done
}

# Linters of their languages, and whether each server responds as it should.
part_servers() {
  local folder
  for folder in servers/rust-*/; do
    CARGO_TARGET_DIR=$PWD/.prony/cargo-target in_folder "$folder" cargo clippy --locked --release --all-targets -- -D warnings
  done
  for folder in servers/go-*/; do
    in_folder "$folder" go vet ./...
  done
  cargo run --release -- verify --require-toolchains
}

# The fleet on three hosts, which are network namespaces: on a Slurm cluster of their own, and over ssh.
part_fleet() {
  packages_for_a_fleet
  release
  if labs/network.sh possible; then
    PATH=$PATH:/usr/sbin labs/slurm/suite.py "$PWD/target/release/prony"
  else
    echo 'SKIPPED: network namespaces and bridges are impossible here, so the fleet was NOT tested on Slurm and over ssh'
  fi
}

# Whether Prony still reports what benches/hostile/README.md says.
part_hostile() {
  release
  benches/hostile/hostile.py --prony target/release/prony --check benches/hostile/README.md
}

# Sorts, filters, opens, prints and narrows the pages in Chromium; axe looks at each. Then makes the charts in the docs
# again, which must be the same. The examples that write pages are of the tests' build.
part_browser() {
  packages_for_a_browser
  npm ci --prefix tests/browser --no-audit --no-fund --ignore-scripts
  release
  cargo test --locked --quiet --workspace --no-run
  export PRONY=target/release/prony PRONY_EXAMPLES=target/debug/examples
  npm test --prefix tests/browser
  npm run --prefix tests/browser pictures -- --check
}

# Coverage instrumentation is unstable, so a stable compiler needs RUSTC_BOOTSTRAP. No sanitizer: the wires forbid
# unsafe code, so there is nothing for one to find, and without it the targets run twice as often.
part_fuzz() {
  in_folder fuzz cargo clippy --locked --all-targets -- -D warnings
  cargo_tool "cargo-fuzz@$cargo_fuzz"
  export RUSTC_BOOTSTRAP=1 work
  cargo fuzz build --sanitizer none
  export -f fuzz_target
  cargo fuzz list | xargs -P 2 -I{} bash -c 'set -euo pipefail; fuzz_target {}'
}

# fuzz_target TARGET: for 15 s, with the dictionary of its protocol.
fuzz_target() {
  local target=$1 dictionary=$1 log=$work/fuzz-$1.log
  case $target in
    h1_*) dictionary=http1 ;;
    grpc_* | h2_*) dictionary=http2 ;;
  esac
  set -- -max_total_time=15 -timeout=10
  [[ ! -e fuzz/$dictionary.dict ]] || set -- "$@" -dict="fuzz/$dictionary.dict"
  cargo fuzz run --sanitizer none "$target" -- "$@" >"$log" 2>&1 || { cat "$log" && return 1; }
  echo "$target: $(grep '^Done' "$log")"
}

part_packages() {
  release
  packaging/check.sh target/release/prony
}

# Four projects, from nothing to a judged change.
part_projects() {
  release
  packaging/projects.py target/release/prony
}

# Prometheus scrapes a load.
part_metrics() {
  packages_for_metrics
  release
  labs/metrics/suite.py "$PWD/target/release/prony"
}

# The scripts of the GitHub Action, with a fake GitHub and the real program.
part_action() {
  release
  packaging/action/test_judge.py target/release/prony
}

# Runs two other load generators and Prony, each for a second.
part_generators() {
  cargo run --release -- generators --tools wrk,h2load,prony --cases hello:16,rate:2k:16 --rounds 1 --duration 1 \
    --json "$work/generators.json"
  [[ -s $work/generators.json ]]
}

# The limits of this machine.
part_calibrate() {
  cargo run --release -- calibrate --quick --json "$work/calibration.json"
}

# Runs the verdict experiment once, too briefly for its verdicts to be right (exit status 1).
part_verdicts() {
  local folder=$work/verdicts
  release
  rm -rf "$folder"
  benches/verdicts/verdicts.py --folder "$folder" prepare --rounds 1 --truth-rounds 1 --seconds 0.2
  benches/verdicts/verdicts.py --folder "$folder" collect --runs 1 --rounds 3 --other-program -- --no-ceiling
  benches/verdicts/verdicts.py --folder "$folder" judge || [[ $? == 1 ]]
}

# The same for verdicts by instructions.
part_instructions() {
  local script=(benches/verdicts/by_instructions.py --folder "$work/verdicts-instructions")
  release
  rm -rf "$work/verdicts-instructions"
  "${script[@]}" prepare --languages python --starts 1
  "${script[@]}" collect --languages python --runs 1 --other-program -- --rounds 2
  "${script[@]}" judge --languages python || [[ $? == 1 ]]
  "${script[@]}" judge --languages python --draws 2 --rounds 2 || [[ $? == 1 ]]
}

# The tests that `cargo test` leaves out with a reason that begins with "full check:".
part_ignored() {
  local tests
  .ci/ignored_tests.py
  mapfile -t tests < <(.ci/ignored_tests.py --names)
  ((${#tests[@]} == 0)) ||
    PRONY_REQUIRE_TOOLCHAINS=1 PRONY_REQUIRE_PERF_EVENTS=1 PRONY_REQUIRE_VALGRIND=1 \
      cargo test --workspace -- --ignored --test-threads 1 "${tests[@]}"
}
