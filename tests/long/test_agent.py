"""The agent on a real node, over several reports: numbers compared with the kernel's, pods and a kubelet that come and go, kill -9 a hundred times."""

import os
import random
import secrets
import sys
import time
import unittest

from node.protecting import Protecting
from node.test_agent import AGGREGATE_S, CPU_MILLI, MEMORY_MIB, OnARealNode, milli
from support.node import cgroups, pods


KILLS = 100
needs_a_node = unittest.skipUnless("TIDEMARK_KUBELET" in os.environ, "cannot create a node here: run as root, with writable cgroups and a route")


@needs_a_node
class AgentForALongerWhile(OnARealNode):
    def test_cpu_of_the_pods_equals_the_kernels_count(self):
        places = {hierarchy.name: hierarchy for hierarchy in cgroups.hierarchies()}
        if "cpuacct" not in places:
            self.skipTest("no cgroup v1 hierarchy cpuacct here")
        group = places["cpuacct"] / self.node.cgroup / "kubepods" / "cpuacct.usage"
        begin, before = time.monotonic(), int(group.read_text())
        while time.monotonic() < begin + AGGREGATE_S:
            report = self.next_report()
        used_milli = (int(group.read_text()) - before) / 1e6 / (time.monotonic() - begin)
        told_milli = sum(milli(each["podUsage"]["resources"]["cpu"]) for each in report["podsMetric"])
        # Each pod is rounded down by up to a milli-core, and the windows do not start together.
        self.assertAlmostEqual(used_milli, told_milli, delta=len(report["podsMetric"]) + 0.25 * used_milli)

    def test_pods_that_come_and_go_and_a_kubelet_that_is_killed(self):
        more = pods.Work("more", pods.BEST_EFFORT, CPU_MILLI, MEMORY_MIB)
        self.node.run([more])
        self.report_with(self.names())
        self.node.kill_kubelet()
        report = self.next_report()
        self.assertEqual(self.names(), {each["name"] for each in report["podsMetric"]}, "its pods run on")
        self.node.end(["more"])
        self.report_with(self.names() - {"more"})

    def test_one_that_is_killed_restarts_and_continues(self):
        self.agent.kill()
        type(self).agent = self.start()
        self.report_with(self.names())
        self.assertEqual(0, self.agent.stop())
        type(self).agent = self.start()


@needs_a_node
class AgentKilledAHundredTimes(Protecting):
    def test_kills_leave_nothing_wrong(self):
        seed = os.environ.get("TIDEMARK_SEED") or secrets.token_hex(4)
        print(f"TIDEMARK_SEED={seed}", file=sys.stderr)  # to repeat the run
        begin = time.monotonic()
        self.kill_at_any_time(KILLS, random.Random(seed))
        print(f"{KILLS} kills and more at their beginnings: {time.monotonic() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
