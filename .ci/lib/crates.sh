# Third-party crates that an earlier checkout has built. A new checkout begins with a copy of them; Cargo decides which
# of them fit. Nothing of the workspace's own crates is kept: for these, Cargo goes by the times of files, which say
# nothing across checkouts.
# shellcheck shell=bash

readonly built=$tools/crates
# Above this size, in MiB, the crates of old lock files have piled up.
readonly most_built=6000

# What they depend on.
key_of_crates() {
  {
    rustc -vV
    cat Cargo.lock Cargo.toml
    env | sed -n '/^CARGO_PROFILE_/p' | sort
  } | sha256sum
}

restore_crates() {
  if [[ -e target || ! -e $built/key ]]; then return; fi
  echo "copying third-party crates from $built"
  rm -rf target.new
  (
    flock --shared 9
    cp -a --reflink=auto "$built/target" target.new
  ) 9>"$tools/crates.lock"
  mv target.new target
}

save_crates() {
  local key new=$built.new.$$
  key=$(key_of_crates)
  if [[ -e $built/key && $(<"$built/key") == "$key" ]]; then return; fi
  mkdir -p "$new/target"
  in_folder target third_party | tar --extract --directory "$new/target"
  if (($(du -sm "$new" | cut -f1) > most_built)); then
    echo "more than $most_built MiB of third-party crates: the next checkout builds its own"
    rm -rf "$new/target"
  else
    echo "$key" >"$new/key"
  fi
  (
    flock 9
    rm -rf "$built"
    mv "$new" "$built"
  ) 9>"$tools/crates.lock"
}

# An archive of what is built of third-party crates: not of packages whose names begin with prony, which all of the
# workspace's do, nor their tests and other programs, which have no extension.
third_party() {
  local folders=(debug)
  [[ ! -e release ]] || folders+=(release)
  find "${folders[@]}" \( -name 'prony*' -o -name 'libprony*' -o -name incremental -o -name examples \) -prune -o \
    ! \( -type f -path '*/deps/*' ! -name '*.*' \) -print0 |
    tar --create --format=posix --no-recursion --null --files-from=-
}
