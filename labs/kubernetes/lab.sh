#!/usr/bin/env bash
# A Kubernetes cluster on the three hosts of ../network.sh: etcd and the control plane on this machine, a kubelet with
# a containerd of its own in each host's namespace. Everything it writes is in FOLDER and /run/prony-lab.
#
#   lab.sh binaries             builds the control plane from binaries/go.mod, unless it is in the cache
#   lab.sh up FOLDER [IMAGE…]   starts the cluster with images (archives); FOLDER/kubeconfig is that of its administrator
#   lab.sh down FOLDER          stops it and removes FOLDER
#   lab.sh cut N, lab.sh join N takes the link of host N away, gives it back
#
# Needs root, Go, and of Debian etcd-server, containerd, runc, containernetworking-plugins, musl-tools, openssl and
# iproute2. LAB_HOSTS (kn) and LAB_SUBNET (10.78.0) give other names and addresses. LAB_SHIFTED_HOST=N runs the containers
# of host N with a monotonic clock that is 100,000 s ahead.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

export LAB_HOSTS=${LAB_HOSTS:-kn} LAB_SUBNET=${LAB_SUBNET:-10.78.0}
readonly hosts=$LAB_HOSTS subnet=$LAB_SUBNET version=v1.36.3
readonly programs=(kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl)
readonly bin=${XDG_CACHE_HOME:-$HOME/.cache}/prony/kubernetes-lab
readonly server=https://$subnet.254:6443 etcd=http://127.0.0.1:12379 peers=http://127.0.0.1:12380
# Sockets have short paths.
readonly run=/run/prony-lab

binaries() {
  local program packages=()
  for program in "${programs[@]}"; do
    [[ -x $bin/$program ]] || packages+=("k8s.io/kubernetes/cmd/$program")
  done
  if ((!${#packages[@]})); then
    return
  fi
  mkdir -p "$bin"
  local -r set='-X k8s.io/component-base/version'
  (cd binaries && CGO_ENABLED=0 go build -p 1 -mod=readonly -trimpath -o "$bin/" \
    -ldflags "-s -w $set.gitVersion=$version $set.gitMajor=1 $set.gitMinor=36" "${packages[@]}")
}

# start NAME COMMAND…: a process that outlives this script, in a session of its own; its log and id are in $folder.
start() {
  local -r name=$1
  shift
  setsid "$@" >"$folder/log/$name" 2>&1 </dev/null &
  echo $! >"$folder/pid/$name"
}

# wait_for SECONDS WHAT COMMAND…
wait_for() {
  local -r until=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" &>/dev/null; do
    if ((SECONDS >= until)); then
      echo "lab.sh: $what is not ready; its log is in $folder/log" >&2
      return 1
    fi
    sleep 0.2
  done
}

admin() {
  "$bin/kubectl" --kubeconfig "$folder/kubeconfig" "$@"
}

keys() {
  (
    umask 077
    openssl genrsa -out "$folder/pki/accounts.key" 2048 2>/dev/null
    openssl rsa -in "$folder/pki/accounts.key" -pubout -out "$folder/pki/accounts.pub" 2>/dev/null
    # Only this machine reaches the cluster, but others run here, too.
    token=$(openssl rand -hex 16)
    echo "$token,admin,1,\"system:masters\"" >"$folder/pki/tokens"
    kubeconfig "$token" >"$folder/kubeconfig"
  )
}

kubeconfig() {
  cat <<CONFIG
apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: "$server", insecure-skip-tls-verify: true}}]
users: [{name: user, user: {token: "$1"}}]
contexts: [{name: lab, context: {cluster: lab, user: user}}]
current-context: lab
CONFIG
}

control_plane() {
  start etcd etcd --data-dir "$folder/etcd" --listen-client-urls $etcd --advertise-client-urls $etcd \
    --listen-peer-urls $peers --initial-advertise-peer-urls $peers --initial-cluster default=$peers --unsafe-no-fsync
  start api "$bin/kube-apiserver" --etcd-servers=$etcd --bind-address="$subnet.254" --advertise-address="$subnet.254" \
    --secure-port=6443 --cert-dir="$folder/pki" --token-auth-file="$folder/pki/tokens" \
    --authorization-mode=Node,RBAC --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$folder/pki/accounts.pub" \
    --service-account-signing-key-file="$folder/pki/accounts.key" --service-cluster-ip-range=10.96.0.0/16 \
    --kubelet-preferred-address-types=InternalIP
  wait_for 60 kube-apiserver admin get --raw /readyz
  start controllers "$bin/kube-controller-manager" --kubeconfig="$folder/kubeconfig" \
    --service-account-private-key-file="$folder/pki/accounts.key" --root-ca-file="$folder/pki/apiserver.crt" \
    --use-service-account-credentials=false --leader-elect=false --bind-address=127.0.0.1 \
    --cert-dir="$folder/pki/controllers"
  start scheduler "$bin/kube-scheduler" --kubeconfig="$folder/kubeconfig" --leader-elect=false \
    --bind-address=127.0.0.1 --cert-dir="$folder/pki/scheduler"
}

# node N: as $hosts N, with pods at 10.88.N.0/24.
node() {
  local -r i=$1
  local -r name=$hosts$i own=$folder/$hosts$i socket=$run/$hosts$i/containerd.sock
  mkdir -p "$own/cni" "$run/$name"
  cat >"$own/containerd.toml" <<CONFIG
version = 2
root = "$own/containerd"
state = "$run/$name"
[grpc]
address = "$socket"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "prony.example/pause:1"
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "$own/cni"
CONFIG
  cat >"$own/cni/10.conflist" <<CONFIG
{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true,
  "ipam": {"type": "host-local", "dataDir": "$own/addresses", "ranges": [[{"subnet": "10.88.$i.0/24"}]],
           "routes": [{"dst": "0.0.0.0/0"}]}}]}
CONFIG
  cat >"$own/kubelet.yaml" <<CONFIG
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
containerRuntimeEndpoint: unix://$socket
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
localStorageCapacityIsolation: false
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
evictionHard: {memory.available: 100Mi}
CONFIG
  ip route replace "10.88.$i.0/24" via "$subnet.$i"
  ip -n "$name" route replace default via "$subnet.254"
  nsenter --net="/run/netns/$name" sysctl -qw net.ipv4.ip_forward=1
  local clock=()
  [[ $i != "${LAB_SHIFTED_HOST-}" ]] || clock=(unshare --time --monotonic 100000 --fork --kill-child)
  # nsenter, because `ip netns exec` mounts another /sys, which hides the control groups.
  start "containerd-$name" nsenter --net="/run/netns/$name" "${clock[@]}" containerd -c "$own/containerd.toml"
  wait_for 20 containerd ctr -a "$socket" version
  for image in "$folder"/images/*.tar; do
    ctr -a "$socket" -n k8s.io images import "$image" >/dev/null
  done
  # shellcheck disable=SC2016 # the shell that it starts expands them
  start "kubelet-$name" nsenter --net="/run/netns/$name" unshare --uts bash -c 'hostname "$0" && exec "$@"' "$name" \
    "$bin/kubelet" --kubeconfig="$folder/kubeconfig" --config="$own/kubelet.yaml" --hostname-override="$name" \
    --node-ip="$subnet.$i" --root-dir="$own/kubelet" --cert-dir="$own/pki"
}

up() {
  binaries
  mkdir -p "$folder"/{pki,log,pid,images}
  local image
  for image in "$@"; do
    cp "$image" "$folder/images/"
  done
  musl-gcc -static -Os -s -o "$folder/pause" pause.c
  ../../packaging/agent/image.sh "$folder/pause" prony.example/pause:1 "$folder/images/pause.tar"
  ../network.sh up
  keys
  control_plane
  local i
  for i in 1 2 3; do
    node "$i"
  done
  wait_for 60 'the cluster' all_ready
  wait_for 30 'the default service account' admin get serviceaccount default
}

all_ready() {
  (($(admin get nodes --no-headers | grep -c ' Ready ') == 3))
}

# Whatever still runs in a container: containers outlive containerd.
containers() {
  local socket id
  for socket in "$run/$hosts"*/containerd.sock; do
    [[ -S $socket ]] || continue
    for id in $(timeout 10 ctr -a "$socket" -n k8s.io tasks ls -q 2>/dev/null); do
      timeout 10 ctr -a "$socket" -n k8s.io tasks kill --signal KILL "$id" 2>/dev/null || true
    done
  done
}

stop() {
  local file
  for file in "$folder"/pid/$1; do
    [[ -f $file ]] || continue
    # Its session: nsenter and unshare have replaced themselves, shims have sessions of their own.
    kill "-$2" -- "-$(<"$file")" 2>/dev/null || true
  done
}

down() {
  local i
  stop 'kubelet-*' KILL
  containers
  stop '*' TERM
  sleep 1
  stop '*' KILL
  for i in 1 2 3; do
    ip route del "10.88.$i.0/24" 2>/dev/null || true
  done
  # Ends what is left in the hosts' namespaces, shims among it.
  ../network.sh down
  sleep 0.2
  awk -v a="$folder/" -v b="$run/" 'index($2, a) == 1 || index($2, b) == 1 { print $2 }' /proc/mounts |
    sort -r | while read -r mount; do umount -l "$mount" 2>/dev/null || true; done
  rm -rf "$folder" "$run/$hosts"[123]
  rmdir "$run" 2>/dev/null || true
}

command=${1-}
case $command in
  binaries) binaries ;;
  up | down)
    folder=$(realpath -m "${2:?usage: lab.sh $command FOLDER}")
    readonly folder
    "$command" "${@:3}"
    ;;
  cut) ip link set "${hosts}v${2:?usage: lab.sh cut N}" down ;;
  join) ip link set "${hosts}v${2:?usage: lab.sh join N}" up ;;
  *)
    echo 'usage: lab.sh binaries | up FOLDER [IMAGE…] | down FOLDER | cut N | join N' >&2
    exit 2
    ;;
esac
