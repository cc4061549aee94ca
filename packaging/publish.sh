#!/usr/bin/env bash
# Publishes the crates. With --dry-run, only packages and builds them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Cargo leaves nested crates and files outside of a crate out of its package, so prony has the servers, suites,
# workloads and drivers as an archive.
readonly archive=crates/prony/shipped.tar

if [[ " $* " != *' --dry-run '* && -n $(git status --porcelain) ]]; then
  echo 'error: there are uncommitted changes; commit or stash them before you publish' >&2
  exit 1
fi

rm -f "$archive"
trap 'rm -f "$archive" "$archive.new"' EXIT
cargo run --quiet --locked -p prony --example archive >"$archive.new"
mv "$archive.new" "$archive"

# The archive is in no commit, so Cargo takes it for an uncommitted change.
cargo publish --workspace --locked --allow-dirty "$@"
