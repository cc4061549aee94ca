#!/usr/bin/env bash
# An sshd in each namespace of ../network.sh, with throw-away keys. FOLDER/config is the configuration for
# `ssh -F`, so nothing of ~/.ssh or /etc/ssh is read or changed.
#
#   lab.sh up FOLDER    starts them
#   lab.sh down FOLDER  stops them and what was logged in, and removes the folder
#
# Needs root and openssh-server.
set -euo pipefail

readonly hosts=${LAB_HOSTS:-dn} subnet=${LAB_SUBNET:-10.77.0}
readonly folder=${2:?usage: lab.sh up|down FOLDER}

configure() {
  mkdir -p "$folder"
  # sshd insists on keys in folders that nobody else can write to, unless StrictModes is off.
  ssh-keygen -q -t ed25519 -N '' -f "$folder/host_key"
  ssh-keygen -q -t ed25519 -N '' -f "$folder/user_key"
  cp "$folder/user_key.pub" "$folder/authorized_keys"
  cat >"$folder/sshd_config" <<CONFIGURATION
HostKey $folder/host_key
AuthorizedKeysFile $folder/authorized_keys
StrictModes no
AuthenticationMethods publickey
PasswordAuthentication no
UsePAM no
PermitRootLogin yes
PrintMotd no
PidFile none
CONFIGURATION
  cat >"$folder/config" <<CONFIGURATION
Host $hosts*
  User $(id -un)
  IdentityFile $folder/user_key
  IdentitiesOnly yes
  UserKnownHostsFile $folder/known_hosts
CONFIGURATION
  local i
  for i in 1 2 3; do
    printf 'Host %s\n  HostName %s\n' "$hosts$i" "$subnet.$i" >>"$folder/config"
    echo "$subnet.$i $(cat "$folder/host_key.pub")" >>"$folder/known_hosts"
  done
}

up() {
  local i
  [[ ! -e $folder ]] || down
  configure
  # sshd separates its privileges in this folder. An installed but never started sshd does not have it.
  mkdir -p /run/sshd
  for i in 1 2 3; do
    setsid nsenter "--net=/run/netns/$hosts$i" /usr/sbin/sshd -D -e -f "$folder/sshd_config" \
      -o "ListenAddress=$subnet.$i" </dev/null &>"$folder/log-$i" &
    echo $! >>"$folder/pids"
  done
  for i in 1 2 3; do
    log_in "$hosts$i"
  done
}

# log_in HOST: until it works, for a minute.
log_in() {
  local tries
  for ((tries = 0; tries < 600; tries++)); do
    if ssh -F "$folder/config" -o BatchMode=yes "$1" true 2>"$folder/error"; then
      return
    fi
    sleep 0.1
  done
  cat "$folder/error" "$folder"/log-* >&2
  return 1
}

down() {
  local pid children
  if [[ -e $folder/pids ]]; then
    while read -r pid; do
      # Its sessions have forked from it.
      children=$(pgrep --parent "$pid" || true)
      # shellcheck disable=SC2086 # one word for each process
      kill "$pid" $children 2>/dev/null || true
    done <"$folder/pids"
  fi
  rm -rf "$folder"
}

case ${1-} in
  up | down) "$1" ;;
  *)
    echo 'usage: lab.sh up|down FOLDER' >&2
    exit 2
    ;;
esac
