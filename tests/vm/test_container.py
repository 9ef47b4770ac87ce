"""The agent as the chart's DaemonSet runs it, on a kernel with cgroup v2 that is mounted as systemd mounts it (nsdelegate): its folders, its capabilities and no others, a
cgroup namespace of its own. No runtime is in the guest: what it would do is done by hand, but for its seccomp and its filter of devices."""

import json
import re
import unittest
from pathlib import Path

from support import vm

import os

PATIENCE_S = 120
BINARY = Path(os.environ["TIDEMARK_BINARY"])
CAPABILITIES = "dac_override", "kill"
UID, CONTAINER = "0e1c9f6e-0000-4000-8000-000000000001", "c" * 64
POD = {
    "metadata": {"name": "job", "namespace": "default", "uid": UID, "labels": {"koordinator.sh/qosClass": "BE"}},
    "spec": {
        "nodeName": "n1", "containers": [{
            "name": "main", "image": "x",
            "resources": {each: {"kubernetes.io/batch-cpu": "500", "kubernetes.io/batch-memory": "64Mi"} for each in ("requests", "limits")},
        }],
    },
    "status": {
        "phase": "Running", "qosClass": "BestEffort",
        "containerStatuses": [{"name": "main", "containerID": f"containerd://{CONTAINER}", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}],
    },
}
NODE = {"metadata": {"name": "n1"}, "status": {each: {"cpu": "2", "memory": "500Mi"} for each in ("capacity", "allocatable")}}
SLO = {
    "metadata": {"name": "n1"}, "spec": {
        "resourceUsedThresholdWithBE": {"enable": True, "cpuSuppressPolicy": "cfsQuota", "cpuSuppressThresholdPercent": 90, "cpuSuppressMinPercent": 80},
        "resourceQOSStrategy": {"beClass": {"cpuQOS": {"enable": True, "groupIdentity": -1}}},
    },
}
KUBECONFIG = {
    "apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}], "users": [{"name": "a", "user": {}}],
}
SESSION = rf"""
mount -o remount,nsdelegate /sys/fs/cgroup || exit 3
cd /sys/fs/cgroup
for group in kubepods kubepods/besteffort kubepods/besteffort/pod{UID} kubepods/burstable kubepods/burstable/podagent; do
  mkdir -p $group && echo "+cpu +cpuset +io +memory +pids" >$group/cgroup.subtree_control || exit 4
done
work=/sys/fs/cgroup/kubepods/besteffort/pod{UID}/{CONTAINER} own=/sys/fs/cgroup/kubepods/burstable/podagent/agent
mkdir $work $own
sh -c "echo \$\$ >$work/cgroup.procs; exec setpriv --reuid 1000 --regid 1000 --clear-groups sleep 1000" &
mkdir -p /run/tidemark /var/lib/tidemark /var/log/pods /var/lib/kubelet
cp /given/*.json /run/tidemark/
echo '{{"policyName":"none","defaultCpuSet":"","checksum":1}}' >/var/lib/kubelet/cpu_manager_state
cat >/contain <<'END'
set -e
mount --make-rprivate / 2>/dev/null || true
mkdir /c && mount -t tmpfs c /c
mkdir -p /c/proc /c/sys /c/dev /c/host/cgroup /c/host/pod-logs /c/host/kubelet /c/run/tidemark /c/var/lib/tidemark /c/bin /c/etc /c/tmp
cp -a /lib* /c/
mkdir -p /c/usr && [ ! -e /usr/lib ] || cp -a /usr/lib /c/usr/
cp /bin/tidemark /c/tidemark
cp /bin/setpriv-real /c/bin/setpriv
cp /given/kubeconfig /c/etc/kubeconfig
mount -t proc proc /c/proc
mount --bind /proc/sys /c/proc/sys && mount -o remount,ro,bind /c/proc/sys
mount -t sysfs -o ro sysfs /c/sys
mount -t tmpfs dev /c/dev && mknod -m 666 /c/dev/null c 1 3 && mknod -m 444 /c/dev/urandom c 1 9
mount --bind /sys/fs/cgroup /c/host/cgroup
mount --bind /run/tidemark /c/run/tidemark
mount --bind /var/lib/tidemark /c/var/lib/tidemark
mount --bind /var/log/pods /c/host/pod-logs && mount -o remount,ro,bind /c/host/pod-logs
touch /c/host/kubelet/cpu_manager_state
mount --bind /var/lib/kubelet/cpu_manager_state /c/host/kubelet/cpu_manager_state && mount -o remount,ro,bind /c/host/kubelet/cpu_manager_state
mount -o remount,ro /c
exec chroot /c /bin/setpriv --bounding-set -all,+dac_override,+kill --inh-caps -all --no-new-privs -- /tidemark agent --node-name n1 --kubeconfig /etc/kubeconfig \
  --mode=enforce --pod-source=kubelet --kubelet-endpoint=http://127.0.0.1:1 --kubelet-dir=/host/kubelet --runtime-dir=/ --cgroup-root=/host/cgroup \
  --pod-logs=/host/pod-logs --run-dir=/run/tidemark --latch-file=/var/lib/tidemark/latch --state-dir=/var/lib/tidemark/agent --metrics-addr=127.0.0.1:9316
END
sh -c "echo \$\$ >$own/cgroup.procs; exec unshare-real --mount --cgroup --uts --ipc sh /contain" >/agent.log 2>&1 &
i=0; until grep -q '"inForce":[1-9]' /run/tidemark/status.json 2>/dev/null; do i=$((i+1)); [ $i -gt 100 ] && break; sleep 0.2; done
sleep 3
cat /agent.log
echo ==== ; cat /run/tidemark/status.json
echo ==== ; for p in $(pidof tidemark); do grep -E "Cap|NoNew" /proc/$p/status; cat /proc/$p/cgroup; done
for f in $work/cpu.max $work/memory.max $work/cpu.idle $work/cpu.weight $work/../cpu.max $work/../cpu.idle /sys/fs/cgroup/kubepods/besteffort/cpu.max; do echo "$f $(cat $f)"; done
ls /sys/fs/cgroup
"""


class Container(unittest.TestCase):
    def test_explore(self):
        files = {
            "/bin/tidemark": BINARY, "/bin/setpriv-real": Path("/usr/bin/setpriv"), "/bin/unshare-real": Path("/usr/bin/unshare"),
            "/given/node.json": json.dumps(NODE).encode(), "/given/nodeslo.json": json.dumps(SLO).encode(),
            "/given/pods.json": json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [POD]}).encode(),
            "/given/kubeconfig": json.dumps(KUBECONFIG).encode(),
        }
        done = vm.run(["sh", "-c", SESSION], files=files, deadline_s=PATIENCE_S)
        print(done.stdout.decode(errors="replace"))
        print(done.stderr.decode(errors="replace"))


if __name__ == "__main__":
    unittest.main()
