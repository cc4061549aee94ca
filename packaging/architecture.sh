#!/usr/bin/env bash
# architecture.sh PROGRAM: prints the architecture that a program is for.
set -euo pipefail

fail() {
  echo "error: $1 $2" >&2
  exit 1
}

[[ $(head -c 4 "$1" | od -An -c | tr -d ' ') == 177ELF ]] || fail "$1" 'is not a program for Linux'
# The machine of an ELF file is a number of two bytes at 18.
case $(od -An -j18 -N2 -tu2 "$1" | tr -d ' ') in
  62) echo x86_64 ;;
  183) echo aarch64 ;;
  *) fail "$1" 'is for an architecture that has no packages' ;;
esac
