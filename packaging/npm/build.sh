#!/usr/bin/env bash
# build.sh FOLDER PROGRAM…: writes an npm package with these programs, one for each architecture, to the folder.
set -euo pipefail

npm=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly packaging=${npm%/*}
readonly repository=${packaging%/*}
mkdir -p "$1"
folder=$(realpath "$1")
version=$("$packaging/version.sh")
shift

staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
install -m 644 "$npm/package.json" "$repository"/LICENSE-{MIT,APACHE} "$staging"
install -m 644 "$packaging/description.md" "$staging/README.md"
install -D -m 755 "$npm/prony" "$staging/bin/prony"
processors=()
for program in "$@"; do
  architecture=$("$packaging/architecture.sh" "$program")
  install -m 755 "$program" "$staging/bin/prony-$architecture"
  case $architecture in
    x86_64) processors+=(x64) ;;
    aarch64) processors+=(arm64) ;;
  esac
done
cd "$staging"
npm pkg set --silent "version=$version"
npm pkg set --silent --json "cpu=$(printf '"%s"\n' "${processors[@]}" | paste -sd , | sed 's/.*/[&]/')"
npm pack --silent --pack-destination "$folder"
