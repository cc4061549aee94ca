# Where things are, and how Cargo builds. Sourced by .ci/run and .ci/full, from the root of the checkout.
# shellcheck shell=bash

readonly rust=1.95.0 cargo_deny=0.20.2 cargo_fuzz=0.13.2
readonly work=$PWD/.prony/ci
# What is slow to build or to download outlives the checkout.
readonly tools=${XDG_CACHE_HOME:-${HOME:=/root}/.cache}/prony-ci
# The linters that are Python wheels or npm packages, for these lock files.
linters=$tools/linters-$(cat .ci/linters/requirements.txt .ci/linters/package-lock.json | sha256sum | cut -c1-16)
readonly linters
export PATH="$tools/bin:$HOME/.cargo/bin:/usr/local/go/bin:/usr/local/node/bin:$PATH"
export CARGO_INCREMENTAL=0 DEBIAN_FRONTEND=noninteractive INSTA_UPDATE=no
# Nothing here reads debug information, and without it the tests build and link faster.
export CARGO_PROFILE_DEV_DEBUG=0
# Tests, linters and the release build share this folder, whatever the caller's is.
unset CARGO_TARGET_DIR

mkdir -p "$work"

in_folder() (
  cd "$1" || exit
  shift
  "$@"
)

has() { command -v "$1" >/dev/null; }

# at_least MINIMUM VERSION
at_least() { [[ $(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]; }

# An older Rust stays as it is: install_rust adds this one.
if ! has cargo || ! at_least "$rust" "$(cargo --version | cut -d' ' -f2)"; then
  export RUSTUP_TOOLCHAIN=$rust
  rust_is_missing=1
fi
