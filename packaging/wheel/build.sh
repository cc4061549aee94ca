#!/usr/bin/env bash
# build.sh FOLDER PROGRAM: writes a Python wheel with this program to the folder.
set -euo pipefail

wheel=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly packaging=${wheel%/*}
readonly repository=${packaging%/*}
mkdir -p "$1"
folder=$(realpath "$1")
PRONY_PROGRAM=$(realpath "$2")
PRONY_ARCHITECTURE=$("$packaging/architecture.sh" "$PRONY_PROGRAM")
PRONY_VERSION=$("$packaging/version.sh")
# The times of files in the wheel, so that the same program always gives the same wheel.
export PRONY_PROGRAM PRONY_ARCHITECTURE PRONY_VERSION SOURCE_DATE_EPOCH=315532800

staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
install -m 644 "$wheel"/{pyproject.toml,hatch_build.py} "$repository"/LICENSE-{MIT,APACHE} "$staging"
install -m 644 "$packaging/description.md" "$staging/README.md"
python3 -m venv "$staging/venv"
"$staging/venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
  -r "$wheel/requirements.txt"
"$staging/venv/bin/pip" wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
  --wheel-dir "$folder" "$staging"
