# Installs what is missing, as root on Debian 12 (x86-64). Every download has a pinned version and a checksum.
# shellcheck shell=bash

# download URL SHA256 FILE
download() {
  curl -fsSL --proto '=https' --tlsv1.2 -o "$3" "$1"
  sha256sum --check --quiet <<<"$2  $3"
}

# install_archive FOLDER URL SHA256: unpacks a .tar.gz, without its top folder.
install_archive() {
  local archive=$work/${2##*/}
  download "$2" "$3" "$archive"
  rm -rf "$1"
  mkdir -p "$1"
  tar -xzf "$archive" --strip-components=1 -C "$1"
  rm "$archive"
}

# Debian 12 has Go 1.19; gRPC for Go needs 1.26.
install_go() {
  if has go && at_least 1.26 "$(go env GOVERSION | sed 's/^go//')"; then return; fi
  install_archive /usr/local/go https://go.dev/dl/go1.26.8.linux-amd64.tar.gz \
    d0f743b33e8d8945e6b1f432edd15785c70507121d6e2a723b21285eddf8b57b
}

# Debian 12 has Java 17; the java-jdk server needs 21, with its compiler.
install_java() {
  local javac
  for javac in $(command -v javac) /usr/lib/jvm/*/bin/javac; do
    if at_least 21 "$("$javac" --version 2>/dev/null | cut -d' ' -f2)"; then return; fi
  done
  install_archive /usr/lib/jvm/temurin-21-jdk \
    https://github.com/adoptium/temurin21-binaries/releases/download/jdk-21.0.8%2B9/OpenJDK21U-jdk_x64_linux_hotspot_21.0.8_9.tar.gz \
    f2dc5418092c43003db8f9005c4a286e1c0104fea96ccdd49e8ebd037cac9219
}

# Debian 12 has Node.js 18; textlint needs 20.
install_node() {
  if has npm && at_least v20 "$(node --version)"; then return; fi
  install_archive /usr/local/node https://nodejs.org/dist/v22.20.0/node-v22.20.0-linux-x64.tar.gz \
    eeaccb0378b79406f2208e8b37a62479c70595e20be6b659125eb77dd1ab2a29
}

# rustup verifies the toolchain that it downloads.
install_rust() {
  [[ -n ${rust_is_missing-} ]] || return 0
  if ! has rustup; then
    download https://static.rust-lang.org/rustup/archive/1.28.2/x86_64-unknown-linux-gnu/rustup-init \
      20a06e644b0d9bd2fbdbfd52d42540bdde820ea7df86e92e533c073da0cdd43c "$work/rustup-init"
    chmod +x "$work/rustup-init"
    "$work/rustup-init" -y --no-modify-path --default-toolchain none
  fi
  rustup toolchain install "$rust" --profile minimal --component rustfmt,clippy
}

# Runs a command that installs packages. None of the servers in them is started: tests start their own.
without_services() {
  local policy=/usr/sbin/policy-rc.d status=0
  if [[ -e $policy ]]; then
    "$@"
    return
  fi
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
  "$@" || status=$?
  rm "$policy"
  return $status
}

# install_packages PACKAGE…: apt verifies the distribution's signatures.
install_packages() {
  if (($#)); then
    apt-get update -qq
    without_services apt-get install -y -qq --no-install-recommends "$@"
  fi
}

# What every run needs.
packages_for_tests() {
  local packages=()
  has c++ || packages+=(build-essential)
  has curl || packages+=(ca-certificates curl)
  has git || packages+=(git)
  has python3 || packages+=(python3)
  python3 -c 'import ensurepip' 2>/dev/null || packages+=(python3-venv)
  has flock && has taskset || packages+=(util-linux)
  has wrk || packages+=(wrk)
  has valgrind || packages+=(valgrind)
  has h2load || packages+=(nghttp2-client)
  has openssl || packages+=(openssl)
  has ab || packages+=(apache2-utils)
  has groff || packages+=(groff-base)
  has mvn || packages+=(maven)
  has ruby || packages+=(ruby)
  has thin || packages+=(thin)
  ruby -e 'require "sinatra/version"' 2>/dev/null || packages+=(ruby-sinatra)
  [[ -x /usr/sbin/nginx ]] || packages+=(nginx-core)
  [[ -e /usr/lib/nginx/modules/ngx_http_js_module.so ]] || packages+=(libnginx-mod-http-js)
  has pgrep || packages+=(procps)
  has sqlite3 || packages+=(sqlite3)
  install_packages "${packages[@]}"
}

# What some parts of the full check need besides.
packages_for_a_fleet() {
  local packages=()
  has ip || packages+=(iproute2)
  has ssh && [[ -x /usr/sbin/sshd ]] || packages+=(openssh-client openssh-server)
  has srun && [[ -x /usr/sbin/slurmctld && -x /usr/sbin/slurmd ]] || packages+=(slurm-wlm)
  [[ -x /usr/sbin/munged ]] || packages+=(munge)
  install_packages "${packages[@]}"
}

packages_for_a_browser() {
  local packages=()
  has chromium || packages+=(chromium)
  fc-list 2>/dev/null | grep -q DejaVu || packages+=(fontconfig fonts-dejavu-core)
  has tmux || packages+=(tmux)
  install_packages "${packages[@]}"
}

packages_for_metrics() {
  has prometheus || install_packages prometheus
}

# pip and npm verify the checksums in requirements.txt and package-lock.json.
install_linters() {
  mkdir -p "$tools"
  (
    # Another checkout may need the same ones.
    flock 9
    [[ ! -e $linters/complete ]] || return 0
    rm -rf "$linters"
    python3 -m venv "$linters/venv"
    "$linters/venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes --only-binary :all: \
      -r .ci/linters/requirements.txt
    cp .ci/linters/package.json .ci/linters/package-lock.json "$linters"
    npm ci --prefix "$linters" --no-audit --no-fund --ignore-scripts
    touch "$linters/complete"
  ) 9>"$tools/linters.lock"
  rm -rf .ci/linters/node_modules
  ln -s "$linters/node_modules" .ci/linters/node_modules
}

# cargo_tool NAME@VERSION: Cargo verifies the checksums in its lock file. It runs for seconds, so optimizing it would take
# longer than it saves.
cargo_tool() {
  CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    cargo install --quiet --locked --root "$tools" "$1"
}

install_missing() {
  packages_for_tests
  install_java
  install_go
  install_node
  install_rust
  install_linters
  cargo --version
  go version
  python3 --version
  node --version
  ruby --version
  /usr/sbin/nginx -v
}
