#!/usr/bin/env bash
# static.sh [ARCHITECTURE]: builds a static program for x86_64 or aarch64; without an argument, for this machine's.
# It needs musl-gcc (Debian: musl-tools), and for another architecture its cross compiler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly target=${1:-$(uname -m)}-unknown-linux-musl
rustup target add "$target"
cargo build --locked --release -p prony --target "$target"
echo "${CARGO_TARGET_DIR:-target}/$target/release/prony"
