"""A kubelet that reserves memory for the system gives all its pods one limit, and evicts by the rest of that limit, however much the machine has. The agent
also acts earlier: it evicts the memory eater, and the kubelet has nothing to do."""

import json
import sys
import time
import unittest
from pathlib import Path

from cluster import colocation
from cluster.tidemark_process import wait_for
from node.evicting import LIMIT_S, Evicting, offline
from node.test_agent import API
from node.test_agent import tearDownModule  # noqa: F401
from node.test_eviction import BATCH, memory_percent
from node.test_memory_eaten import PODS, mebibytes
from support.node import pods

ALONE = "evicts by the memory in use on the machine, which must be steady"

ALL_PODS_MIB = mebibytes(11)  # of the machine's memory, for all pods together
KUBELETS_MIB = 256  # the kubelet evicts if less is left: at 98 % in use, so the agent's threshold is 93 %
STAYS_S = 15  # a kubelet checks every ten seconds


def eats(mebibytes_in_all: int) -> pods.Work:
    return offline("greedy", "transcode", mebibytes_in_all, BATCH)


class MemoryOfPods(Evicting):
    WORKS = [pods.Work("web", pods.BURSTABLE, 5, 100), offline("spark", "spark", 100, BATCH)]
    LATER = [eats(0)]

    @classmethod
    def node_options(cls) -> dict:
        return {"evicts": {"memory.available": f"{KUBELETS_MIB}Mi"}, "reserved": {"memory": f"{mebibytes(100) - ALL_PODS_MIB}Mi"}}

    def setUp(self):
        limits = [file for file in (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")) if (file / self.node.cgroup / "kubepods").exists()]
        limit = next(each for each in (limits[0] / self.node.cgroup / "kubepods" / name for name in ("memory.limit_in_bytes", "memory.max")) if each.exists())
        wait_for(lambda: limit.read_text().strip().isdecimal() and int(limit.read_text()) >> 20 <= ALL_PODS_MIB, "a limit of all pods together", self.agent, LIMIT_S)
        self.addCleanup(API.request, "DELETE", f"{PODS}/greedy")

    def begin(self, work: pods.Work) -> str:
        made = colocation.must(API.request("POST", PODS, pods.manifest(work, self.node.name, "default")), 201)
        return json.loads(made.body)["metadata"]["uid"]

    def pod(self, name: str) -> dict:
        return API.get(f"{PODS}/{name}").json

    def ended_by_the_kubelet(self, name: str) -> str | None:
        """Not by the phase: a pod that exits with 0 on SIGTERM has phase Succeeded a moment later."""
        conditions = self.pod(name).get("status", {}).get("conditions", [])
        return next((each["message"] for each in conditions if (each["type"], each.get("reason")) == ("DisruptionTarget", "TerminationByKubelet")), None)

    def test_the_agent_evicts_before_the_kubelet(self):
        """The node's own threshold is far away, before and after."""
        self.say({"memoryEvictThresholdPercent": 90})
        begin = time.monotonic()
        uid = self.begin(eats(mebibytes(6)))
        wait_for(lambda: "greedy" not in self.names(), "the memory eater on its way", self.agent, LIMIT_S)
        print(f"on its way {time.monotonic() - begin:.1f} s after it was made, {memory_percent()} % of the node in use", file=sys.stderr)
        self.assertLess(memory_percent(), 90)
        self.all_have_ended()
        events = wait_for(lambda: self.events("evictPodSuccess", uid), "an event", self.agent, LIMIT_S)
        self.assertIn("BEMemoryEvict, TM-EVICT-001", events[0]["message"])
        self.assertIn("by the rest of the limit of all pods together", events[0]["message"])
        end = time.monotonic() + STAYS_S
        while time.monotonic() < end:
            self.assertEqual({"web", "spark"}, self.names(), self.agent.log[-6000:])
            time.sleep(0.5)

    def test_without_an_agent_the_kubelet_evicts(self):
        """The premise of the other case: most of the machine's memory is free."""
        self.say({"memoryEvictThresholdPercent": 90}, "observe")
        self.begin(eats(ALL_PODS_MIB - KUBELETS_MIB - 100))  # with 200 MiB of the others: less than its threshold is left
        message = wait_for(lambda: self.ended_by_the_kubelet("greedy"), "an eviction by the kubelet", self.agent, LIMIT_S)
        self.assertIn("low on resource: memory", message)
        self.assertLess(memory_percent(), 90)


if __name__ == "__main__":
    unittest.main()
