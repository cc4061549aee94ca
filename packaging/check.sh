#!/usr/bin/env bash
# check.sh PROGRAM: packages the crates, and the program in every way; installs each package of the program in an empty
# folder, and runs it there.
set -euo pipefail

packaging=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$(realpath "$1")
version=$("$packaging/version.sh")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# runs PROGRAM: it knows its version, and has the shipped servers in an empty folder.
runs() {
  [[ $("$1" --version) == "prony $version" ]] || { echo "error: $1 is not prony $version" >&2 && return 1; }
  rm -rf empty
  mkdir empty
  (cd empty && "$1" list) | grep -q '^  go-nethttp '
}

# Each crate can be packaged: no metadata, file or version of a dependency is missing. publish.sh --dry-run builds them too.
crates() {
  "$packaging/publish.sh" --dry-run --no-verify --quiet
}

wheel() {
  "$packaging/wheel/build.sh" packages "$program"
  python3 -m venv wheel
  wheel/bin/pip install --quiet --disable-pip-version-check --no-index packages/*.whl
  runs "$folder/wheel/bin/prony"
}

npm_package() {
  "$packaging/npm/build.sh" packages "$program"
  npm install --silent --offline --no-audit --no-fund --prefix npm ./packages/prony-*.tgz
  runs "$folder/npm/node_modules/.bin/prony"
}

archive() {
  "$packaging/archive.sh" packages "$program"
  mkdir archive
  tar -xzf packages/prony-*-linux.tar.gz --strip-components=1 -C archive
  runs "$folder/archive/prony"
}

completions() {
  bash -n archive/completions/prony.bash
  local shell file
  for shell in bash elvish fish powershell zsh; do
    file=archive/completions/prony.$shell
    grep -q find-capacity "$file" || { echo "error: $file does not know --find-capacity" >&2 && return 1; }
  done
}

manual_pages() {
  local page warnings
  for page in archive/man1/*.1; do
    warnings=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
    [[ -z $warnings ]] || { echo "$warnings" >&2 && return 1; }
  done
  [[ -s archive/man1/prony.1 && -s archive/man1/prony-load.1 && -s archive/man1/prony-grpc-list.1 ]]
}

for check in crates wheel npm_package archive completions manual_pages; do
  echo "$check"
  $check
done
