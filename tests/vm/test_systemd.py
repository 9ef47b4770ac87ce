"""The agent on a machine with systemd cgroups, and beside a koordlet that systemd starts: Debian's systemd is process 1 of the guest and makes the slices and scopes that a kubelet and a runtime with the systemd
driver request. No kubelet runs there: `systemctl` and `systemd-run` make its requests, and the pod is in the stored state of an earlier agent."""

import json
import os
import re
import unittest
from pathlib import Path

from support import vm
from support.patience import PATIENCE_S
from support.vm import offline_pod, systemd
from support.vm.offline_pod import CONTAINER, FLOOR_US, MEMORY_BYTES, UID, WEIGHT
from support.vm.waiting import UNTIL_SO

BINARY = Path(os.environ["TIDEMARK_BINARY"])
# Names as a kubelet's driver makes them: a dash in a slice's name means one level down.
ALL = "kubepods.slice/kubepods-besteffort.slice"
POD_SLICE = f"kubepods-besteffort-pod{UID.replace('-', '_')}.slice"
SCOPE = f"cri-containerd-{CONTAINER}.scope"
POD_GROUP = f"{ALL}/{POD_SLICE}"
FILES = {
    "all quota": f"{ALL}/cpu.max", "pod idle": f"{POD_GROUP}/cpu.idle", "pod quota": f"{POD_GROUP}/cpu.max", "pod memory": f"{POD_GROUP}/memory.max",
    "weight": f"{POD_GROUP}/{SCOPE}/cpu.weight", "quota": f"{POD_GROUP}/{SCOPE}/cpu.max", "memory": f"{POD_GROUP}/{SCOPE}/memory.max",
}
AGENT = (
    "tidemark agent --node-name n1 --kubeconfig /given/kubeconfig --mode=enforce --kubelet-endpoint=http://127.0.0.1:1 --run-dir=/run/tidemark"
    " --latch-file=/latch --state-dir=/state --metrics-addr=127.0.0.1:9316"
)
# `told NAME`: prints all files, one line each.
LIBRARY = rf"""
cd /sys/fs/cgroup
{UNTIL_SO}
told() {{ echo "-- $1"; for file in {' '.join(FILES.values())}; do if [ -e "$file" ]; then cat "$file"; else echo gone; fi; done; }}
quota() {{ cat {FILES["all quota"]}; }}
put_back() {{ [ "$(quota)" = "150000 100000" ] && grep -q 0 {FILES["pod idle"]} && grep -q max {FILES["pod memory"]} && [ ! -e {POD_GROUP}/{SCOPE} ]; }}
in_force() {{ [ "$(quota)" != "max 100000" ] && [ "$(quota)" != "150000 100000" ] && grep -q 1 {FILES["pod idle"]} && grep -q 67108864 {FILES["pod memory"]} && grep -q 67108864 {FILES["memory"]} && grep -qx {WEIGHT} {FILES["weight"]}; }}
off() {{ tidemark off --local --wait={PATIENCE_S}s --reason test 2>&1; }}
doctor() {{ tidemark doctor node --run-dir=/run/tidemark --latch-file=/latch --kubelet-endpoint=http://127.0.0.1:1 2>&1; }}
"""
SESSION = rf"""
. /given/library
echo "-- process 1"; cat /proc/1/comm; grep -o nsdelegate /proc/mounts
systemctl start {POD_SLICE}
for slice in kubepods-besteffort.slice {POD_SLICE}; do
  systemctl set-property --runtime $slice CPUWeight=1 CPUAccounting=yes MemoryAccounting=yes TasksAccounting=yes
done
systemd-run --quiet --scope --unit={SCOPE} --slice={POD_SLICE} -p Delegate=yes -p CPUAccounting=yes -p MemoryAccounting=yes sleep 100000 &
until_so 'grep -q . {POD_GROUP}/{SCOPE}/cgroup.procs 2>/dev/null'
mkdir -p /run/tidemark /state && cp /given/*.json /run/tidemark/
told found
{AGENT} >/agent.log 2>&1 &
until_so in_force
told held
kill -STOP $(pidof tidemark-agent)  # or it has put right what systemd wrote, before that is read
before=$(told reloaded); now=$before
systemctl daemon-reload
until_so 'last=$now; now=$(told reloaded); [ "$now" != "$before" ] && [ "$now" = "$last" ]'  # it writes one file after the other
echo "$now"
kill -CONT $(pidof tidemark-agent)
until_so in_force
told repaired
echo "-- pods begin"
for pod in 1 2 3 4 5; do
  systemctl set-property --runtime kubepods-besteffort.slice CPUWeight=1
  until_so in_force
done
systemctl set-property --runtime kubepods-besteffort.slice CPUQuota=150%
systemctl set-property --runtime {SCOPE} MemoryMax=32M
until_so 'in_force && grep -q "found=\"150000 100000\"" /agent.log && grep -q "found=33554432 wanted=67108864" /agent.log'
told "repaired again"
echo "-- doctor"; doctor
echo "-- status"; cat /run/tidemark/status.json
echo "-- left to others"; grep TM-AGENT-008 /agent.log
echo "-- off says"; off
told off
systemctl stop {SCOPE}
until_so put_back
told "put back"
kill -TERM $(pidof tidemark-agent)
until_so '! pidof tidemark-agent >/dev/null'
echo "-- off says again"; off
echo "-- groups left"; ls -d tidemark* 2>/dev/null
echo "-- log"; cat /agent.log
tidemark on --local --reason test >/dev/null 2>&1
systemd-run --quiet --unit=koordlet.service -p DefaultDependencies=no /bin/koordlet
until_so 'grep -qx koordlet /proc/[0-9]*/comm 2>/dev/null'
echo "-- doctor beside koordlet"; doctor
{AGENT} >/beside.log 2>&1 &
until_so 'grep -q "\"peerPresent\":true.*cpuSuppress.,.permit.:.restore" /run/tidemark/status.json'
until_so 'grep -q "outside pods" /beside.log'
told "beside koordlet"
echo "-- log beside koordlet"; grep "outside pods" /beside.log
"""


class Systemd(unittest.TestCase):
    maxDiff = None

    def test_writes_of_systemd_are_repaired_and_restored(self):
        files = {
            **systemd.files(), **offline_pod.heard(), "/bin/tidemark": BINARY, "/bin/tidemark-agent": BINARY.with_name("tidemark-agent"), "/given/library": LIBRARY.encode(), "/given/session": SESSION.encode(),
            "/bin/koordlet": b"#!/bin/sh\nsleep 100000\nexit 1\n",
        }
        done = vm.run(["sh", "/given/session"], files=files, deadline_s=3 * PATIENCE_S)
        out = done.text
        self.assertEqual((0, b""), (done.code, done.stderr), out)
        self.assertNotIn("late: ", out)
        said = dict(re.findall(r"^-- (.*)\n((?:(?!-- ).*\n?)*)", out, re.M))
        told = lambda name: dict(zip(FILES, said[name].splitlines(), strict=True))
        self.assertEqual("systemd\nnsdelegate\n", said["process 1"])

        found, held = told("found"), told("held")
        nothing = {"all quota": "max 100000", "pod idle": "0", "pod quota": "max 100000", "pod memory": "max", "weight": "100", "quota": "max 100000", "memory": "max"}
        self.assertEqual(nothing, found)
        memory = str(MEMORY_BYTES)
        limits = {**nothing, "pod idle": "1", "pod memory": memory, "weight": str(WEIGHT), "memory": memory}
        without_quota = lambda files: {name: value for name, value in files.items() if name != "all quota"}
        for name in ("held", "repaired", "repaired again", "off"):
            self.assertEqual(without_quota(limits), without_quota(told(name)), name)
        reloaded = told("reloaded")
        self.assertTrue(any(reloaded[name] == found[name] != held[name] for name in FILES), "systemd writes its values again")
        self.assertEqual("", said["pods begin"])

        status, log = json.loads(said["status"]), said["log"]
        self.assertEqual((ALL, 0, 0, ""), (status["offlineGroup"], status["refused"], status["left"], status["trouble"]))
        self.assertRegex(said["doctor"], r"(?m)^ok +cgroup driver +systemd$")
        self.assertRegex(log, r'set again group=\S+ file=cpu.cfs_quota_us found="150000 100000"')
        self.assertEqual("", said["left to others"], "systemd is no second writer")

        self.assertEqual(f"{FLOOR_US} 100000", told("off")["all quota"])
        self.assertIn("left until offline work has ended: 8 files\n", said["off says"])
        self.assertEqual({**nothing, "all quota": "150000 100000", **dict.fromkeys(("weight", "quota", "memory"), "gone")}, told("put back"), "a property set with systemctl is restored")
        self.assertIn("nothing of ours is left in the kernel's files\n", said["off says again"])
        self.assertEqual("", said["groups left"])

        # Koordinator's agent as a service of systemd, which is in no pod list.
        self.assertRegex(said["doctor beside koordlet"], r"(?m)^warn +other agent +Koordinator's agent runs")
        self.assertIn("Koordinator's agent runs outside pods process=", said["log beside koordlet"])
        self.assertEqual(told("put back"), told("beside koordlet"), "nothing is written beside it")


if __name__ == "__main__":
    unittest.main()
