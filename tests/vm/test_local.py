"""`tidemark up` as a node on a real cgroup v2: groups that a kubelet would have made, batch work limited there, and exit codes."""

import os
import unittest
from pathlib import Path

from support import vm

PATIENCE_S = 120
BINARY = Path(os.environ["TIDEMARK_BINARY"])
SESSION = r"""
ifconfig lo up
tidemark up --data-dir=/d --listen=127.0.0.1:0 --node-name=guest >/up.log 2>&1 &
until timeout 10 tidemark local ps --data-dir=/d 2>/dev/null; do sleep 0.2; done
timeout 60 tidemark local run --data-dir=/d --class=free --name=first --wait -- sh -c 'cat /proc/self/cgroup; exit 7'
echo "first ended with $?"
timeout 10 tidemark local run --data-dir=/d --cpu=300m --memory=64Mi --name=second -- sh -c 'while :; do sleep 1; done'
until timeout 10 tidemark local ps --data-dir=/d | grep '^second .*Running'; do sleep 0.2; done
until grep -q 67108864 /sys/fs/cgroup/tidemark/kubepods/besteffort/pod*/memory.max; do sleep 0.2; done
timeout 30 tidemark local stop --data-dir=/d second --wait --now
kill -TERM $(pidof tidemark)
while pidof tidemark; do sleep 0.2; done
[ ! -e /sys/fs/cgroup/tidemark ] && echo "nothing is left"
"""


class Local(unittest.TestCase):
    def test_batch_work_runs_is_limited_and_leaves_nothing(self):
        done = vm.run(["sh", "-c", SESSION], files={"/bin/tidemark": BINARY}, deadline_s=PATIENCE_S)
        out = done.stdout.decode(errors="replace")
        self.assertEqual(0, done.code, out + done.stderr.decode(errors="replace"))
        self.assertRegex(out, r"(?m)^0::/tidemark/kubepods/besteffort/pod[^/]+/[0-9a-f]{64}$")
        self.assertIn("first ended with 7\n", out)
        self.assertIn("nothing is left\n", out)


if __name__ == "__main__":
    unittest.main()
