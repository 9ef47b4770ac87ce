"""Offline work on a real node uses memory up to a fixed threshold: only the task that uses it is evicted, by the API server."""

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
from support.node import pods

ALONE = "evicts by the memory in use on the machine, which must be steady"

PODS = "/api/v1/namespaces/default/pods"
ABOVE = 8  # percent of the machine's memory: other work on it varies by less
BEYOND = 4  # use beyond the threshold
STAYS_S = 15  # a decision comes each second


def mebibytes(percent: int) -> int:
    total_kib = next(int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal:"))
    return total_kib * percent // 100 // 1024


class MemoryEaten(Evicting):
    """Two of three candidates are of one class, so the loss relative to the held memory decides. The eater also uses a whole core, or less on a slow machine;
    the other one holds so little that its eviction costs more in both cases."""

    WORKS = [pods.Work("web", pods.BURSTABLE, 5, 200), offline("spark", "spark", 200, BATCH), offline("modest", "transcode", 40, BATCH)]
    LATER = [offline("greedy", "transcode", mebibytes(ABOVE + BEYOND), BATCH)]

    def test_only_the_memory_eater_is_evicted_by_the_api_server(self):
        line = memory_percent() + ABOVE
        self.say({"memoryEvictThresholdPercent": line, "memoryEvictLowerPercent": line - 1})
        self.addCleanup(API.request, "DELETE", f"{PODS}/greedy")
        begin = time.monotonic()
        made = colocation.must(API.request("POST", PODS, pods.manifest(self.LATER[0], self.node.name, "default")), 201)
        uid = json.loads(made.body)["metadata"]["uid"]
        reached = 0

        def gone() -> bool:
            nonlocal reached
            reached = max(reached, memory_percent())
            return "greedy" not in self.names()

        wait_for(gone, "the memory eater on its way", self.agent, LIMIT_S)
        print(f"memory: line {line} %, used up to {reached} %; the memory eater was on its way {time.monotonic() - begin:.1f} s after it was made", file=sys.stderr)
        self.assertGreaterEqual(reached, line)
        self.all_have_ended()
        wait_for(lambda: memory_percent() < line, "memory below its threshold again", self.agent, LIMIT_S)
        end = time.monotonic() + STAYS_S
        while time.monotonic() < end:
            self.assertEqual({"web", "spark", "modest"}, self.names(), self.agent.log[-6000:])
            time.sleep(0.5)
        events = wait_for(lambda: self.events("evictPodSuccess", uid), "an event", self.agent, LIMIT_S)
        self.assertIn("trigger by koordlet feature BEMemoryEvict, TM-EVICT-001", events[0]["message"])
        ended = [(each["object"]["name"], each["object"]["part"]) for each in self.audit() if each["reason"] == "TM-EVICT-001" and each["outcome"] == "done"]
        self.assertEqual([("greedy", "eviction")], ended)


if __name__ == "__main__":
    unittest.main()
