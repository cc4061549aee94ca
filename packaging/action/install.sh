#!/usr/bin/env bash
# Installs Prony for the action: the program of a release, or a build of the sources beside this script.
set -euo pipefail

version=${PRONY_VERSION:-latest}
source=${PRONY_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
repository=${PRONY_REPOSITORY:-prony-bench/prony}
server=${GITHUB_SERVER_URL:-https://github.com}
folder=${RUNNER_TEMP:-/tmp}/prony-bin

# Later steps find the program.
publish() {
  if [[ -n ${GITHUB_PATH:-} ]]; then echo "$folder" >>"$GITHUB_PATH"; fi
  "$folder/prony" --version
}

# A release has the program of each processor as an archive, and its checksum beside it.
install_release() {
  local archive path
  archive=prony-$(uname -m)-unknown-linux-musl.tar.gz
  path=releases/latest/download
  if [[ $version != latest ]]; then path=releases/download/$version; fi
  curl -fsSL --retry 3 -o "$folder/$archive" "$server/$repository/$path/$archive" &&
    curl -fsSL --retry 3 -o "$folder/$archive.sha256" "$server/$repository/$path/$archive.sha256" || return 1
  (cd "$folder" && sha256sum --check --quiet "$archive.sha256")
  tar -xzf "$folder/$archive" -C "$folder"
}

install_source() {
  cargo install --quiet --locked --path "$source/crates/prony" --root "$folder/cargo"
  cp "$folder/cargo/bin/prony" "$folder/prony"
}

mkdir -p "$folder"
if [[ $version == source ]]; then
  install_source
elif ! install_release; then
  echo "The release $version of Prony has no program for $(uname -m), so it is built from source." >&2
  install_source
fi
publish
