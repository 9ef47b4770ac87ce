"""Triggers of evictions beside memory, on a real node: CPU use above its threshold, and a node that offers less than was sold. (Pressure: tests/vm.)"""

import sys
import subprocess
import time
import unittest

from cluster import colocation
from cluster.tidemark_process import wait_for
from node.evicting import LIMIT_S, Evicting
from node.test_agent import API
from node.test_agent import tearDownModule  # noqa: F401
from support.node import pods

REQUEST_MILLI = 1000
OFF = 99  # a memory threshold that is never reached
USE_PERCENT = 25  # of the node: half of one busy process on two CPUs
BY_LABEL = {"koordinator.sh/eviction-enabled": "true"}
ONLY_SOLD_TOO_MUCH = {"koordinator.sh/eviction-policy": '["CPUAllocatableEvict"]'}


def offline(work_class: str, annotations: dict[str, str]) -> pods.Work:
    labels = {"koordinator.sh/qosClass": "BE", "tidemark.io/class": work_class, **BY_LABEL}
    return pods.Work(work_class, pods.BEST_EFFORT, 50, 6, labels=labels, annotations=annotations, batch={"batch-cpu": REQUEST_MILLI, "batch-memory": 64 << 20})


class Triggers(Evicting):
    WORKS = [pods.Work("web", pods.BURSTABLE, 5, 6), offline("spark", ONLY_SOLD_TOO_MUCH), offline("transcode", {})]

    def setUp(self):
        self.addCleanup(self.offer_batch)
        self.addCleanup(self.lines)
        self.lines()
        self.all_have_ended()
        missing = [work for work in self.WORKS if work.name not in self.names()]
        if missing:
            self.node.run(missing)
        self.uids = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.node.pods()}

    def lines(self, **threshold) -> None:
        """These thresholds and no others. (null in a merge patch removes a key.)"""
        none = dict.fromkeys(("cpuEvictThresholdPercent", "cpuEvictLowerPercent", "cpuAllocatableEvictThresholdPercent", "cpuAllocatableEvictLowerPercent"))
        priorities = {"evictEnabledPriorityThreshold": 5999, "allocatableEvictPriorityThreshold": 5999}
        self.say({**none, **priorities, "memoryEvictThresholdPercent": OFF, "memoryEvictLowerPercent": OFF - 1, "cpuEvictTimeWindowSeconds": 5, **threshold})

    def transcode_goes_by(self, feature: str, reason: str) -> None:
        begin = time.monotonic()
        wait_for(lambda: "transcode" not in self.names(), "transcode on its way", self.agent, LIMIT_S)
        self.lines()
        print(f"{feature}: on its way {time.monotonic() - begin:.1f} s after the line was crossed", file=sys.stderr)
        events = wait_for(lambda: self.events("evictPodSuccess", self.uids["transcode"]), "an event", self.agent, LIMIT_S)
        self.assertIn(f"trigger by koordlet feature {feature}, {reason}", events[0]["message"])
        self.all_have_ended()
        self.assertEqual({"web", "spark"}, self.names(), self.agent.log[-6000:])

    def test_cpu_use_above_its_line_evicts(self):
        """One process uses one CPU. (Not a process of a pod: their limits are far lower.) Spark, which excludes this feature, stays."""
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"], stdin=subprocess.DEVNULL)
        self.addCleanup(busy.communicate)
        self.addCleanup(busy.kill)
        self.lines(cpuEvictThresholdPercent=USE_PERCENT, cpuEvictLowerPercent=USE_PERCENT - 1)
        self.transcode_goes_by("CPUEvict", "TM-EVICT-002")

    def test_a_node_that_offers_less_than_was_sold_evicts(self):
        """Both requested one core; 1.5 of eight cores are left. The least timely pod goes, and it releases enough."""
        self.lines(cpuAllocatableEvictThresholdPercent=100, cpuAllocatableEvictLowerPercent=99)
        less = {"kubernetes.io/batch-cpu": str(REQUEST_MILLI * 3 // 2), "kubernetes.io/batch-memory": "8Gi"}
        status = {"status": {"capacity": less, "allocatable": less}}
        colocation.must(API.request("PATCH", f"/api/v1/nodes/{self.node.name}/status", status, content="application/strategic-merge-patch+json"))
        self.transcode_goes_by("CPUAllocatableEvict", "TM-EVICT-004")


if __name__ == "__main__":
    unittest.main()
