#!/usr/bin/env bash
# static.sh [ARCHITECTURE [PROGRAM]]: builds a static program, prony or prony-agent, for x86_64 or aarch64; without
# arguments, prony for this machine. It needs musl-gcc (Debian: musl-tools), and for another architecture its cross
# compiler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly target=${1:-$(uname -m)}-unknown-linux-musl program=${2:-prony}
rustup target add "$target"
cargo build --locked --profile dist -p "$program" --target "$target"
echo "${CARGO_TARGET_DIR:-target}/$target/dist/$program"
