#!/usr/bin/env bash
# archive.sh FOLDER PROGRAM: writes an archive with the program, its completion scripts and manual pages to the folder.
# The program must run on this machine.
set -euo pipefail

packaging=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly repository=${packaging%/*}
readonly folder=$1 program=$2
architecture=$("$packaging/architecture.sh" "$program")
version=$("$packaging/version.sh")
readonly name=prony-$version-$architecture-linux

staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
readonly content=$staging/$name
mkdir -p "$folder" "$content/completions"
install -m 755 "$program" "$content/prony"
install -m 644 "$repository"/{README.md,CHANGELOG.md,LICENSE-MIT,LICENSE-APACHE} "$content"
"$program" man "$content/man1"
for shell in bash elvish fish powershell zsh; do
  "$program" completions "$shell" >"$content/completions/prony.$shell"
done
# The same program always gives the same archive.
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --directory "$staging" "$name" |
  gzip -9 --no-name >"$folder/$name.tar.gz"
echo "$folder/$name.tar.gz"
