"""The agent on a real node whose memory use is above the threshold: it evicts the right pod, by the API server if that answers, otherwise by the kernel."""

import json
import sys
import time
import unittest
from collections.abc import Callable
from pathlib import Path

from cluster import colocation
from cluster.tidemark_process import wait_for
from node.evicting import LIMIT_S, OFF, EachAnew, offline
from node.test_agent import API
from node.test_agent import tearDownModule  # noqa: F401
from support.node import pods

ALONE = "evicts by the memory in use on the machine, which must be steady"

POD_MIB = 1000  # about 4 % of a machine with 24 GiB: thresholds are whole percents
DRAWN_AGAIN_S = 3
BATCH = {"batch-cpu": 1000, "batch-memory": 64 << 20}
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def memory_percent() -> int:
    """As the agent computes it (contract 7.4): whole percents of memory that is not available."""
    fields = {line.split(":")[0]: int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines()}
    return 100 * (fields["MemTotal"] - fields["MemAvailable"]) // fields["MemTotal"]


class Eviction(EachAnew):
    WORKS = [pods.Work("web", pods.BURSTABLE, 5, 200), offline("spark", "spark", POD_MIB, BATCH), offline("transcode", "transcode", POD_MIB, BATCH)]

    def press_until(self, seen: Callable[[], bool], what: str, mode: str = "enforce") -> None:
        """The threshold is just below the used memory and is set repeatedly, because other work of this machine varies by more than 1 % of its memory."""
        def done() -> bool:
            if seen():
                return True
            if time.monotonic() - self.drawn > DRAWN_AGAIN_S:
                self.line(memory_percent() - 1, mode)
            return False

        wait_for(done, what, self.agent, LIMIT_S)
        self.line(OFF)

    def press_until_gone(self, name: str) -> None:
        self.press_until(lambda: name not in self.names(), f"{name} on its way")

    def test_above_the_line_only_the_least_timely_task_is_evicted(self):
        """Both offline pods hold the same amount: transcode goes first, and it releases enough."""
        uid = next(pod["metadata"]["uid"] for pod in self.node.pods() if pod["metadata"]["name"] == "transcode" and not pod["metadata"].get("deletionTimestamp"))
        begin = time.monotonic()
        self.press_until_gone("transcode")
        print(f"memory above its line: the victim is on its way {time.monotonic() - begin:.1f} s after the line was first drawn, read by a test that looks every 50 ms", file=sys.stderr)
        self.all_have_ended()
        self.assertEqual({"web", "spark"}, self.names(), self.agent.log[-6000:])
        events = wait_for(lambda: self.events("evictPodSuccess", uid), "an event", self.agent, LIMIT_S)
        self.assertIn("trigger by koordlet feature BEMemoryEvict, TM-EVICT-001", events[0]["message"])
        done = [each for each in self.audit() if each["reason"] == "TM-EVICT-001" and each["outcome"] == "done"]
        self.assertEqual(("transcode", "eviction"), (done[-1]["object"]["name"], done[-1]["object"]["part"]), done)
        losses = [json.loads(each) for each in (Path(self.state) / "learned/losses.jsonl").read_text().splitlines()]
        self.assertEqual("transcode", losses[-1]["name"], losses)

    def test_a_disruption_budget_is_respected_and_another_pod_goes(self):
        budget = {"metadata": {"name": "keep"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "transcode"}}}}
        # No controller of budgets runs here: the API server trusts the status.
        colocation.must(API.request("POST", BUDGETS, budget))
        self.addCleanup(API.request, "DELETE", f"{BUDGETS}/keep")
        self.press_until_gone("spark")
        self.assertIn("transcode", self.names())
        self.assertGreaterEqual(self.evictions("TM-EVICT-016"), 1)
        wait_for(lambda: '"stage":"forbidden"' in self.memory().read_text(), "the refusal, stored for the next agent", self.agent, LIMIT_S)
        self.agent.kill()
        type(self).agent = self.start()
        wait_for(lambda: "continues with evictions of the previous agent" in self.agent.log, "the memory of the killed agent", self.agent, LIMIT_S)

    def test_observing_evicts_no_pod(self):
        before = self.evictions("TM-EVICT")
        self.press_until(lambda: "would be evicted" in self.agent.log, "a log line with the pod that would go", mode="observe")
        self.assertEqual({"web", "spark", "transcode"}, self.names())
        self.assertEqual(before, self.evictions("TM-EVICT"))


if __name__ == "__main__":
    unittest.main()
