#!/usr/bin/env bash
# Three hosts on this machine: the network namespaces dn1, dn2 and dn3, 10.77.0.1 to 10.77.0.3, on a bridge. This
# machine itself is 10.77.0.254. Nothing is routed further. Needs root and iproute2.
#
#   network.sh up        creates them, unless they exist
#   network.sh down      ends what runs in them, and removes them
#   network.sh possible  whether this machine can have network namespaces and bridges
#
# LAB_HOSTS (dn) and LAB_SUBNET (10.77.0) give other names and addresses, for two laboratories side by side.
set -euo pipefail

readonly hosts=${LAB_HOSTS:-dn} subnet=${LAB_SUBNET:-10.77.0}
readonly bridge=${hosts}br0

up() {
  local i
  if ip link show "$bridge" &>/dev/null; then
    return
  fi
  trap down ERR
  ip link add "$bridge" type bridge
  ip addr add "$subnet.254/24" dev "$bridge"
  ip link set "$bridge" up
  for i in 1 2 3; do
    ip netns add "$hosts$i"
    ip link add "${hosts}v$i" type veth peer name eth0 netns "$hosts$i"
    ip link set "${hosts}v$i" master "$bridge" up
    ip -n "$hosts$i" addr add "$subnet.$i/24" dev eth0
    ip -n "$hosts$i" link set eth0 up
    ip -n "$hosts$i" link set lo up
  done
}

down() {
  local i pids
  for i in 1 2 3; do
    pids=$(ip netns pids "$hosts$i" 2>/dev/null) || continue
    # shellcheck disable=SC2086 # one word for each process
    [[ -z $pids ]] || kill -KILL $pids 2>/dev/null || true
    ip netns del "$hosts$i"
  done
  ip link del "$bridge" 2>/dev/null || true
}

# In a namespace of mounts and network of its own, so that nothing is left behind.
possible() {
  unshare --net --mount bash -c '
    ip link add probe type bridge && ip link add probe0 type veth peer name probe1 && ip link set probe0 master probe' &&
    ip netns list >/dev/null
}

case ${1-} in
  up | down | possible) "$1" ;;
  *)
    echo 'usage: network.sh up|down|possible' >&2
    exit 2
    ;;
esac
