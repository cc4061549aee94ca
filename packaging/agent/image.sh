#!/usr/bin/env bash
# image.sh PROGRAM NAME FILE: writes an image that holds nothing but a static program, as an archive for `ctr images
# import`, `docker load` or `podman load`. It needs no container engine. The same program gives the same bytes.
set -euo pipefail

readonly program=${1:?usage: image.sh PROGRAM NAME FILE} name=${2:?} file=${3:?}
readonly entry=/${program##*/}
architecture=$("$(dirname "${BASH_SOURCE[0]}")/../architecture.sh" "$program")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# archive FOLDER FILE NAME…
archive() {
  tar --create --format=ustar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --directory "$1" --file "$2" "${@:3}"
}

case $architecture in
  x86_64) architecture=amd64 ;;
  aarch64) architecture=arm64 ;;
esac

mkdir "$work/layer" "$work/image"
install -m 755 "$program" "$work/layer$entry"
archive "$work/layer" "$work/image/layer.tar" "${entry#/}"
layer=$(sha256sum "$work/image/layer.tar" | cut -d' ' -f1)
cat >"$work/image/config.json" <<CONFIG
{"architecture":"$architecture","os":"linux","created":"1970-01-01T00:00:00Z","config":{"Entrypoint":["$entry"],"User":"65532:65532"},"rootfs":{"type":"layers","diff_ids":["sha256:$layer"]}}
CONFIG
cat >"$work/image/manifest.json" <<MANIFEST
[{"Config":"config.json","RepoTags":["$name"],"Layers":["layer.tar"]}]
MANIFEST
archive "$work/image" "$file" config.json layer.tar manifest.json
