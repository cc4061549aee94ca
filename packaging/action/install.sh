#!/usr/bin/env bash
# Installs Prony for the action: the program of a release, or a build of the sources that the action belongs to.
#
#   PRONY_VERSION    the release, 1.2.3; `source` builds from source [the version of the sources]
set -euo pipefail

readonly source=${PRONY_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
own=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$source/Cargo.toml" | head -n 1)
readonly own
version=${PRONY_VERSION:-$own}
version=${version#v}
readonly releases=${GITHUB_SERVER_URL:-https://github.com}/${PRONY_REPOSITORY:-prony-bench/prony}/releases/download
readonly folder=${RUNNER_TEMP:-/tmp}/prony-program

# A release has an archive for each processor, and the checksums of all files.
install_release() {
  local name
  name=prony-$version-$(uname -m)-linux
  curl -fsSL --retry 3 -o "$folder/$name.tar.gz" "$releases/v$version/$name.tar.gz" || return 1
  curl -fsSL --retry 3 -o "$folder/SHA256SUMS" "$releases/v$version/SHA256SUMS" || return 1
  if ! (cd "$folder" && grep -F " $name.tar.gz" SHA256SUMS | sha256sum --check --quiet); then
    echo "error: the checksum of $name.tar.gz is wrong" >&2
    exit 1
  fi
  tar -xzf "$folder/$name.tar.gz" --strip-components=1 -C "$folder" "$name/prony"
}

install_source() {
  cargo install --quiet --locked --path "$source/crates/prony" --root "$folder/cargo"
  cp "$folder/cargo/bin/prony" "$folder/prony"
}

mkdir -p "$folder"
if [[ $version == source ]]; then
  install_source
elif ! install_release; then
  if [[ $version != "$own" ]]; then
    echo "error: cannot download Prony $version for $(uname -m) from $releases" >&2
    exit 1
  fi
  echo "There is no release of Prony $version for $(uname -m); building it from source." >&2
  install_source
fi
# Later steps find it.
if [[ -n ${GITHUB_PATH:-} ]]; then echo "$folder" >>"$GITHUB_PATH"; fi
"$folder/prony" --version
