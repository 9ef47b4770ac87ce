"""`tidemark up` as a node on a real cgroup v2: groups as a kubelet makes them, limits of batch work there, and exit codes."""

import os
import unittest
from pathlib import Path

from support import vm
from support.patience import PATIENCE_S
from support.vm.waiting import UNTIL_SO

BINARY = Path(os.environ["TIDEMARK_BINARY"])
SESSION = UNTIL_SO + r"""
ifconfig lo up
tidemark up --data-dir=/d --listen=127.0.0.1:0 --node-name=guest >/up.log 2>&1 &
until_so 'timeout 120 tidemark local ps --data-dir=/d 2>/dev/null'
timeout 120 tidemark local run --data-dir=/d --class=free --name=first --wait -- sh -c 'cat /proc/self/cgroup; exit 7'
echo "first ended with $?"
timeout 120 tidemark local run --data-dir=/d --cpu=300m --memory=64Mi --name=second -- sh -c 'while :; do sleep 1; done'
until_so "timeout 120 tidemark local ps --data-dir=/d | grep '^second .*Running'"
until_so 'grep -q 67108864 /sys/fs/cgroup/tidemark/kubepods/besteffort/pod*/memory.max'
timeout 120 tidemark local stop --data-dir=/d second --wait --now
kill -TERM $(pidof tidemark)
until_so '! pidof tidemark'
[ ! -e /sys/fs/cgroup/tidemark ] && echo "nothing is left"
"""

# As in a container with read-only cgroups. The settings want everything enforced.
READ_ONLY_SESSION = UNTIL_SO + r"""
ifconfig lo up
cat >/settings.yaml <<'YAML'
kind: ConfigMap
metadata: {name: tidemark-config}
data: {config.yaml: "{schema: 1, mode: enforce}"}
YAML
mount -o remount,ro /sys/fs/cgroup
mkdir /sys/fs/cgroup/x 2>/dev/null && echo "groups can be made here"
tidemark up --data-dir=/d --listen=127.0.0.1:0 --node-name=guest --settings=/settings.yaml --run-dir=/run-dir >/up.log 2>&1 &
until_so 'timeout 120 tidemark local ps --data-dir=/d 2>/dev/null'
timeout 120 tidemark local run --data-dir=/d --class=free --name=first --wait -- sh -c 'exit 7'
echo "it ended with $?"
until_so "timeout 120 tidemark local top --data-dir=/d --once | grep 'agent: Observing'"
grep -o '"onlyShows":"[^"]*"' /run-dir/status.json
kill -TERM $(pidof tidemark)
until_so '! pidof tidemark'
"""

# The clock is set forward and far back, before the start, while tasks run, begin and end. Only a guest allows it: the machine's clock is shared.
CLOCK_SESSION = UNTIL_SO + r"""
ifconfig lo up
cat >/settings.yaml <<'YAML'
kind: ConfigMap
metadata: {name: slo-controller-config}
data:
  colocation-config: '{"enable": true, "metricReportIntervalSeconds": 2, "metricAggregateDurationSeconds": 10}'
YAML
tidemark up --data-dir=/d --listen=127.0.0.1:0 --node-name=guest --settings=/settings.yaml >/up.log 2>&1 &
until_so 'timeout 120 tidemark local ps --data-dir=/d 2>/dev/null'
timeout 120 tidemark local run --data-dir=/d --qos=LS --cpu=100m --memory=32Mi --name=web -- sh -c 'echo web begins; exec sleep 100000'
timeout 120 tidemark local run --data-dir=/d --class=free --name=steady -- sh -c 'echo steady begins; until [ -e /go ]; do sleep 0.1; done; exit 5'
for name in web steady; do until_so "timeout 120 tidemark local ps --data-dir=/d | grep '^$name .*Running'"; done
begun=$(date +%s)
for days in 2 -2; do
  date -s "@$((begun + days * 86400))"
  timeout 120 tidemark local run --data-dir=/d --class=free --wait --name="at$days" -- sh -c 'echo hello; exit 3'
  echo "after a jump to $days days it ended with $?"
  timeout 120 tidemark local ps --data-dir=/d | grep -cE ' (Running|Limited) '
  until_so 'timeout 120 tidemark local top --data-dir=/d --once -o json | grep -q "measuredSecondsAgo.: [0-9]\{1,2\},*$"'
  echo "measured after $days days"
done
timeout 120 tidemark local run --data-dir=/d --class=free --retries=1 --name=again -- sh -c '[ -e /tried ] || { touch /tried; exit 1; }'
until_so "timeout 120 tidemark local ps -a --data-dir=/d | grep -E '^again .*(Restarting|Succeeded)'"
date -s "@$((begun - 4 * 86400))"
until_so "timeout 120 tidemark local ps -a --data-dir=/d | grep '^again .*Succeeded'"
touch /go
until_so "timeout 120 tidemark local ps -a --data-dir=/d | grep '^steady .*Failed exit 5'"
timeout 120 tidemark local logs --data-dir=/d web
timeout 120 tidemark local logs --data-dir=/d steady
timeout 120 tidemark local stop --data-dir=/d web --wait --now && echo "web is stopped"
"""


class Local(unittest.TestCase):
    def test_batch_work_runs_is_limited_and_leaves_nothing(self):
        done = vm.run(["sh", "-c", SESSION], files={"/bin/tidemark": BINARY}, deadline_s=2 * PATIENCE_S)
        out = done.stdout.decode(errors="replace")
        self.assertEqual(0, done.code, out + done.stderr.decode(errors="replace"))
        self.assertNotIn("late: ", out)
        self.assertRegex(out, r"(?m)^0::/tidemark/kubepods/besteffort/pod[^/]+/[0-9a-f]{64}$")
        self.assertIn("first ended with 7\n", out)
        self.assertIn("nothing is left\n", out)

    def test_with_read_only_groups_it_observes_whatever_the_settings_say(self):
        done = vm.run(["sh", "-c", READ_ONLY_SESSION], files={"/bin/tidemark": BINARY}, deadline_s=2 * PATIENCE_S)
        out = done.stdout.decode(errors="replace")
        self.assertEqual(0, done.code, out + done.stderr.decode(errors="replace"))
        self.assertNotIn("late: ", out)
        self.assertNotIn("groups can be made here", out)
        self.assertIn("it ended with 7\n", out)
        self.assertIn("agent: Observing", out)
        self.assertRegex(out, r'"onlyShows":"[^"]*Read-only file system')

    def test_a_clock_jump_ends_no_task_and_delays_no_end(self):
        done = vm.run(["sh", "-c", CLOCK_SESSION], files={"/bin/tidemark": BINARY}, deadline_s=3 * PATIENCE_S)
        out = done.stdout.decode(errors="replace")
        self.assertEqual(0, done.code, out + done.stderr.decode(errors="replace"))
        self.assertNotIn("late: ", out)
        for days in (2, -2):
            self.assertIn(f"after a jump to {days} days it ended with 3\n2\nmeasured after {days} days\n", out)
        self.assertEqual((1, 1), (out.count("web begins\n"), out.count("steady begins\n")), out)
        self.assertRegex(out, r"(?m)^again .*Succeeded", "its second try did not wait for the old time")
        self.assertIn("web is stopped\n", out)


if __name__ == "__main__":
    unittest.main()
