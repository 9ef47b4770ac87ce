"""The agent as the chart's DaemonSet runs it, on a kernel with cgroup v2 mounted like systemd does (nsdelegate): only the directories and capabilities of the chart,
its own cgroup namespace, the machine's processes. The guest has no runtime: the test does its work by hand, except seccomp and the device filter."""

import json
import os
import re
import unittest
from pathlib import Path

from driver.paths import ROOT
from support import vm
from support.patience import PATIENCE_S
from support.vm import offline_pod
from support.vm.offline_pod import CONTAINER, FLOOR_US, MEMORY_BYTES, UID, WEIGHT
from support.vm.waiting import UNTIL_SO

BINARY = Path(os.environ["TIDEMARK_BINARY"])
CHART = (ROOT / "deploy/chart/templates/agent_daemonset.yaml").read_text()
# The machine's directory or file of each volume that a pod always has.
HOST = {
    "cgroup": "/sys/fs/cgroup", "run": "/run/tidemark", "state": "/var/lib/tidemark", "pod-logs": "/var/log/pods", "cpu-manager-state": "/var/lib/kubelet/cpu_manager_state",
}
CAPABILITY_BITS = {"DAC_OVERRIDE": 1, "KILL": 5}
NOT_DECIDED = "move a process into"
POD_GROUP, OWN = f"kubepods/besteffort/pod{UID}", "kubepods/burstable/podagent/agent"
WORK = f"{POD_GROUP}/{CONTAINER}"
# Groups as a kubelet makes them, a process of another user in an offline pod's container, and the stored state of an earlier agent.
MACHINE = rf"""#!/bin/sh
set -e
mount -o remount,nsdelegate /sys/fs/cgroup
cd /sys/fs/cgroup
for group in kubepods kubepods/besteffort {POD_GROUP} kubepods/burstable kubepods/burstable/podagent; do
  mkdir -p $group && echo "+cpu +cpuset +io +memory +pids" >$group/cgroup.subtree_control
done
mkdir {WORK} {OWN}
sh -c "echo \$\$ >{WORK}/cgroup.procs; exec setpriv-real --reuid 1000 --regid 1000 --clear-groups sleep 1000" &
mkdir -p /run/tidemark /var/lib/tidemark /var/log/pods /var/lib/kubelet
cp /given/*.json /run/tidemark/
echo '{{"policyName":"none","defaultCpuSet":"","checksum":1}}' >/var/lib/kubelet/cpu_manager_state
sh -c "echo \$\$ >{OWN}/cgroup.procs; exec unshare-real --mount --cgroup --uts --ipc contain" >/agent.log 2>&1 &
"""
# The mounts of a runtime, then those of the chart.
CONTAIN = r"""#!/bin/sh
set -e
mkdir /c && mount -t tmpfs c /c && cd /c
mkdir -p proc sys dev bin etc usr
cp -a /lib* /c/
[ ! -e /usr/lib ] || cp -a /usr/lib usr/
cp /bin/tidemark /bin/tidemark-agent . && cp /bin/setpriv-real bin/setpriv && cp /given/kubeconfig etc/kubeconfig
bind() {
  mkdir -p ".${2%/*}" && if [ -d "$1" ]; then mkdir -p ".$2"; else touch ".$2"; fi
  mount --bind "$1" ".$2" && mount -o "remount,$3,bind" ".$2"
}
mount -t proc proc proc && bind /c/proc/sys /proc/sys ro
mount -t sysfs -o ro sysfs sys
mount -t tmpfs dev dev && mknod -m 666 dev/null c 1 3 && mknod -m 444 dev/urandom c 1 9
MOUNTS
mount -o remount,ro /c
exec chroot /c /bin/setpriv --bounding-set CAPABILITIES --inh-caps -all --no-new-privs -- /tidemark agent --node-name n1 --kubeconfig /etc/kubeconfig --mode=enforce \
  --pod-source=kubelet --kubelet-endpoint=http://127.0.0.1:1 --kubelet-dir=/host/kubelet --runtime-dir=/ --cgroup-root=/host/cgroup --pod-logs=/host/pod-logs --run-dir=/run/tidemark \
  --latch-file=/var/lib/tidemark/latch --state-dir=/var/lib/tidemark/agent --metrics-addr=127.0.0.1:9316 --feature-gates=BEMemoryEvict=true
"""
SESSION = rf"""
{UNTIL_SO}
told() {{ for file in {POD_GROUP}/cpu.idle {WORK}/memory.max {WORK}/cpu.weight kubepods/besteffort/cpu.max; do cat $file; done; }}
machine || exit 3
cd /sys/fs/cgroup
until_so '[ "$(cat {WORK}/memory.max)" != max ] && [ "$(cut -d" " -f1 kubepods/besteffort/cpu.max)" != max ]'
agent=$(pidof tidemark-agent)
told
grep -E "Cap(Prm|Eff|Bnd)|NoNewPrivs" /proc/$agent/status
[ "$(readlink /proc/$agent/ns/cgroup)" != "$(readlink /proc/1/ns/cgroup)" ] && echo "namespace: its own"
tidemark off --local --reason test >/off.log 2>&1 || cat /off.log
cat kubepods/besteffort/cpu.max
tidemark on --local --reason test >/dev/null 2>&1
until_so 'grep -q "agent killed" /agent.log'
echo "left: $(cat {WORK}/cgroup.procs)"
ls -d tidemark-probe* 2>/dev/null
echo "-- status"; cat /run/tidemark/status.json
echo "-- log"; cat /agent.log
"""


class Container(unittest.TestCase):
    maxDiff = None

    def test_the_charts_rights_are_enough(self):
        capabilities = re.findall(r"^ +- ([A-Z_]+)", CHART.split("            add:\n")[1].split("{{-")[0], re.M)
        mounts = re.findall(r"^        - \{name: (\S+), mountPath: ([^,}]+)(, readOnly: true)?\}$", CHART.split("volumeMounts:")[1].split("{{- if")[0], re.M)
        self.assertEqual(set(HOST), {name for name, _, _ in mounts}, "this test mounts the chart's volumes")
        binds = "\n".join(f"bind {HOST[name]} {place} {'ro' if read_only else 'rw'}" for name, place, read_only in mounts)
        contain = CONTAIN.replace("MOUNTS", binds).replace("CAPABILITIES", ",".join(["-all", *(f"+{each.lower()}" for each in capabilities)]))
        files = {
            "/bin/machine": MACHINE.encode(), "/bin/contain": contain.encode(), "/bin/tidemark": BINARY, "/bin/tidemark-agent": BINARY.with_name("tidemark-agent"), "/bin/setpriv-real": Path("/usr/bin/setpriv"),
            "/bin/unshare-real": Path("/usr/bin/unshare"),
            # The guest uses more than 1 % of the memory: without an API server, offline work is killed for it.
            **offline_pod.heard(memoryEvictThresholdPercent=1),
        }
        done = vm.run(["sh", "-c", SESSION], files=files, deadline_s=3 * PATIENCE_S)
        out = done.text
        self.assertEqual((0, b""), (done.code, done.stderr), out)
        told, rest = out.split("-- status\n")
        status, log = json.loads(rest.split("-- log\n")[0]), rest.split("-- log\n")[1]

        idle, memory, weight, quota, *granted, own, least, left = told.splitlines()
        self.assertEqual(("1", str(MEMORY_BYTES), str(WEIGHT)), (idle, memory, weight), out)
        self.assertGreater(int(quota.split()[0]), FLOOR_US)
        mask = f"{sum(1 << CAPABILITY_BITS[each] for each in capabilities):016x}"
        self.assertEqual({"CapPrm": mask, "CapEff": mask, "CapBnd": mask, "NoNewPrivs": "1"}, dict(line.split(":\t") for line in granted))
        self.assertEqual(("namespace: its own", f"{FLOOR_US} 100000"), (own, least))
        self.assertEqual("left: ", left, "a process of another user is killed with its group")
        self.assertIn("agent killed", log)
        self.assertEqual((0, 0, ""), (status["refused"], status["left"], status["trouble"]))
        wrong = [line for line in log.splitlines() if re.search(r"denied|not permitted|Read-only", line) and "what=cpi" not in line]
        self.assertEqual([], wrong)
        # A process can be moved only if both groups are visible in the own namespace: files are tried, but their effect is not.
        knobs = {each["knob"]: each for each in status["knobs"]}
        for name in ("cpu.shares", "cpu.cfs_quota_us", "cpuset.cpus", "memory.limit_in_bytes"):
            self.assertTrue(knobs[name]["effective"], knobs[name])
            self.assertIn(NOT_DECIDED, knobs[name]["why"])


if __name__ == "__main__":
    unittest.main()
