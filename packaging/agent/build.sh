#!/usr/bin/env bash
# build.sh [IMAGE FILE]: builds a static prony-agent for this machine, and writes the image IMAGE, such as
# registry.example.com/prony-agent:0.1.0, to FILE. Without arguments it only builds. It needs musl-gcc (Debian: musl-tools).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

program=$(packaging/static.sh "$(uname -m)" prony-agent | tail -1)
if (($#)); then
  packaging/agent/image.sh "$program" "$1" "${2:?usage: build.sh [IMAGE FILE]}"
fi
echo "$program"
