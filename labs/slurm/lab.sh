#!/usr/bin/env bash
# A Slurm cluster on the three hosts of ../network.sh: the controller on this machine, one slurmd in each host's
# namespace. Its configuration, key, sockets, state and logs are in one folder; it uses nothing of /etc.
#
#   lab.sh up FOLDER    starts it; FOLDER/environment then holds what `srun` needs
#   lab.sh down FOLDER  stops it, and removes the folder
#
# Needs root, slurm-wlm and munge. LAB_SHIFTED_HOST=N runs host N with a monotonic clock that is 100,000 s ahead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly hosts=${LAB_HOSTS:-dn} subnet=${LAB_SUBNET:-10.77.0}
readonly folder=${2:?usage: lab.sh up|down FOLDER}

# A port for each subnet, so that two laboratories can run side by side.
readonly port=$((17000 + 10 * ${subnet##*.}))

configure() {
  mkdir -p "$folder"/{state,log}
  # munged insists on folders that only their owner can write to.
  chmod 755 "$folder"
  (umask 077 && dd if=/dev/urandom of="$folder/munge.key" bs=128 count=1 status=none)
  cat >"$folder/slurm.conf" <<CONFIGURATION
ClusterName=$hosts
SlurmctldHost=$(hostname -s)($subnet.254)
SlurmUser=root
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CryptoType=crypto/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/log/slurmctld
SlurmdLogFile=$folder/log/slurmd-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
# The hosts share this machine's CPUs.
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=20
KillWait=2
UnkillableStepTimeout=20
NodeName=${hosts}[1-3] NodeAddr=$subnet.[1-3] CPUs=2
PartitionName=load Nodes=${hosts}[1-3] Default=YES MaxTime=10 State=UP
CONFIGURATION
  cat >"$folder/environment" <<ENVIRONMENT
export SLURM_CONF=$folder/slurm.conf
ENVIRONMENT
}

# Starts a program that stays in the foreground, apart from this shell and its output.
start() {
  local name=$1
  shift
  setsid "$@" </dev/null >"$folder/log/$name.output" 2>&1 &
  echo $! >>"$folder/pids"
}

up() {
  local i clock
  [[ ! -e $folder ]] || down
  configure
  export SLURM_CONF=$folder/slurm.conf
  start munged munged --foreground --force --key-file "$folder/munge.key" --socket "$folder/munge.socket" \
    --pid-file "$folder/munged.pid" --log-file "$folder/log/munged" --seed-file "$folder/munge.seed"
  wait_until 'munged listens' test -S "$folder/munge.socket"
  start slurmctld slurmctld -D -i
  for i in 1 2 3; do
    clock=()
    [[ ${LAB_SHIFTED_HOST-} != "$i" ]] || clock=(unshare --time --monotonic 100000 --fork --kill-child)
    start "slurmd-$i" nsenter "--net=/run/netns/$hosts$i" "${clock[@]}" slurmd -D -N "$hosts$i"
  done
  wait_until 'three hosts are idle' three_idle
}

three_idle() { [[ $(sinfo --noheader --states=idle --format=%D 2>/dev/null) == 3 ]]; }

# wait_until WHAT COMMAND…: for a minute.
wait_until() {
  local what=$1 i
  shift
  for ((i = 0; i < 600; i++)); do
    if "$@"; then
      return
    fi
    sleep 0.1
  done
  echo "waited 60 s until $what; the logs:" >&2
  tail -n 20 "$folder"/log/* >&2
  return 1
}

down() {
  local pids
  if [[ -e $folder/pids ]]; then
    mapfile -t pids <"$folder/pids"
    kill "${pids[@]}" 2>/dev/null || true
    for _ in {1..30}; do
      kill -0 "${pids[@]}" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL "${pids[@]}" 2>/dev/null || true
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
