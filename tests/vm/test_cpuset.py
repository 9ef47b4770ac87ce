"""The agent takes CPUs from offline work and returns them, with policy `cpuset`, on four CPUs of a real kernel. Two CPUs are the minimum, so it takes more than two to see it."""

import os
import unittest
from pathlib import Path

from support import vm
from support.patience import PATIENCE_S
from support.vm import offline_pod
from support.vm.offline_pod import CONTAINER, UID
from support.vm.waiting import UNTIL_SO

AGENT = Path(os.environ["TIDEMARK_BINARY"]).with_name("tidemark-agent")
CPUS = 4
OFFLINE = "kubepods/besteffort"
WORK = f"{OFFLINE}/pod{UID}/{CONTAINER}"
# At a line of 90 % of four CPUs, offline work has ceil(3.6 - online) of them: all four while the machine is idle, two beside two busy online processes.
SESSION = rf"""
{UNTIL_SO}
cd /sys/fs/cgroup
for group in kubepods {OFFLINE} {OFFLINE}/pod{UID}; do
  mkdir -p $group && echo "+cpu +cpuset +io +memory +pids" >$group/cgroup.subtree_control
done
mkdir {WORK}
sleep 10000 & offline=$!
echo $offline >{WORK}/cgroup.procs
mkdir -p /run/tidemark /var/lib/kubelet
cp /given/*.json /run/tidemark/
echo '{{"policyName":"none","defaultCpuSet":"","checksum":1}}' >/var/lib/kubelet/cpu_manager_state
tidemark-agent agent --node-name n1 --kubeconfig /given/kubeconfig --mode=enforce --pod-source=kubelet --kubelet-endpoint=http://127.0.0.1:1 \
  --kubelet-dir=/var/lib/kubelet --run-dir=/run/tidemark --latch-file=/latch --state-dir=/state --metrics-addr=127.0.0.1:0 >/agent.log 2>&1 & agent=$!
allowed() {{ awk '$1 == "Cpus_allowed_list:" {{ print $2 }}' /proc/$offline/status; }}
count() {{ allowed | awk -F, '{{ for (i = 1; i <= NF; i++) {{ n = split($i, ends, "-"); sum += n == 2 ? ends[2] - ends[1] + 1 : 1 }} print sum }}'; }}
until_so 'grep -qs cpuset /run/tidemark/status.json'
echo "idle: $(count)"
while :; do :; done & first=$!
while :; do :; done & second=$!
until_so '[ "$(count)" = 2 ]'
echo "busy: $(count)"
kill $first $second
until_so '[ "$(count)" = 4 ]'
echo "idle again: $(count)"
kill $agent && wait $agent
cat /agent.log >&2
"""


class Cpuset(unittest.TestCase):
    maxDiff = None

    def test_offline_work_loses_cpus_to_online_work_and_gets_them_back(self):
        files = {"/bin/tidemark-agent": AGENT, **offline_pod.heard(cpus=CPUS, cpuSuppressPolicy="cpuset", cpuSuppressMinPercent=0)}
        done = vm.run(["sh", "-c", SESSION], files=files, cpus=CPUS, deadline_s=5 * PATIENCE_S)
        self.assertEqual(["idle: 4", "busy: 2", "idle again: 4"], done.text.splitlines(), done.stderr.decode(errors="replace"))


if __name__ == "__main__":
    unittest.main()
