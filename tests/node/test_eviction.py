"""The agent on a real node whose memory is used above its line: the right pod goes, by the API server where that answers, by the kernel where it does not."""

import json
import sys
import time
import unittest
import unittest.mock
from pathlib import Path

from cluster import colocation
from cluster.tidemark_process import wait_for
from node.test_agent import API, RIGHTS, OnARealNode
from node.test_agent import tearDownModule  # noqa: F401
from node.test_protection import NODESLOS
from support.node import pods

LIMIT_S = 90
# docs/guide/agent.md, "Whose rights": what evictions need beside what measuring needs.
EVICTION_RIGHTS = [
    {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
]
POD_MIB = 1000  # some four hundredths of a machine with 24 GiB: lines are whole percents
OFF = 99  # a line that nothing reaches
PODS_PATH = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def offline(name: str, work_class: str, mebibytes: int = POD_MIB) -> pods.Work:
    return pods.Work(name, pods.BEST_EFFORT, 5, mebibytes, labels={"koordinator.sh/qosClass": "BE", "tidemark.io/class": work_class, "app": name})


def memory_percent() -> int:
    """As the agent calculates it (contract 7.4): whole, of what is not available."""
    fields = {line.split(":")[0]: int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines()}
    return 100 * (fields["MemTotal"] - fields["MemAvailable"]) // fields["MemTotal"]


class Eviction(OnARealNode):
    WORKS = [pods.Work("web", pods.BURSTABLE, 5, 200), offline("spark", "spark"), offline("transcode", "transcode")]

    @classmethod
    def setUpClass(cls):
        cls.enterClassContext(unittest.mock.patch.object(sys.modules[OnARealNode.__module__], "RIGHTS", [*RIGHTS, *EVICTION_RIGHTS]))
        super().setUpClass()
        cls.addClassCleanup(API.request, "DELETE", f"{NODESLOS}/{cls.node.name}")

    def setUp(self):
        self.drawn = 0.0  # when the line was drawn last
        self.line(OFF)
        going = lambda: {pod["metadata"]["name"] for pod in self.node.pods()} - self.names()
        wait_for(lambda: not going(), "an end of those that were evicted before", self.agent, LIMIT_S)
        there = self.names()
        self.node.run([work for work in self.WORKS if work.name not in there])
        self.agent.stop()
        self.memory().unlink(missing_ok=True)  # what one case was refused, another one does not wait for
        type(self).agent = self.start()

    def memory(self) -> Path:
        """What an agent tells the next one of its evictions."""
        return Path(self.state) / "run/evictions.json"

    def line(self, percent: int, mode: str = "enforce") -> None:
        word = {
            "schema": 1,
            "agent": {
                "modes": {"default": "observe", "eviction": mode},
                "classes": [{"name": "transcode", "order": 10, "restartCostSeconds": 60}, {"name": "spark", "order": 30, "restartCostSeconds": 600}],
                "evict": {"graceSeconds": 3},
            },
            "evictions": {"perHour": 100, "until": "2100-01-01T00:00:00Z"},
        }
        self.drawn = time.monotonic()
        spec = {
            "resourceUsedThresholdWithBE": {"enable": True, "memoryEvictThresholdPercent": percent, "memoryEvictLowerPercent": percent - 1},
            "extensions": {"Object": {"tidemark": word}},
        }
        patched = API.request("PATCH", f"{NODESLOS}/{self.node.name}", {"spec": spec}, content="application/merge-patch+json")
        if patched.status == 404:
            colocation.must(API.request("POST", NODESLOS, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO", "metadata": {"name": self.node.name}, "spec": spec}))
        else:
            colocation.must(patched)

    def press_until_gone(self, name: str) -> None:
        """The line lies just below what is used: drawn anew all the time, because other work of this machine comes and goes by more than a hundredth of its memory."""
        def gone() -> bool:
            if name not in self.names():
                return True
            if time.monotonic() - self.drawn > 3:
                self.line(memory_percent() - 1)
            return False

        wait_for(gone, f"{name} on its way", self.agent, LIMIT_S)
        self.line(OFF)

    def names(self) -> set[str]:
        return {pod["metadata"]["name"] for pod in self.node.pods() if not pod["metadata"].get("deletionTimestamp")}

    def events(self, reason: str) -> list[dict]:
        return [event for event in API.get("/api/v1/namespaces/default/events").get("items", []) if event["reason"] == reason]

    def audit(self) -> list[dict]:
        return [json.loads(line) for line in (Path(self.state) / "learned/audit.jsonl").read_text().splitlines()]

    def evictions(self, reason: str) -> float:
        return sum(value for name, value in self.agent.metrics().items() if name.startswith("tidemark_agent_evictions_total") and reason in name)

    def test_above_the_line_the_least_timely_work_goes_and_no_other(self):
        """Both offline pods hold the same: transcoding goes first, and what it releases is enough."""
        begin = time.monotonic()
        self.press_until_gone("transcode")
        print(f"memory above its line: the victim is on its way {time.monotonic() - begin:.1f} s after the line was first drawn, read by a test that looks every 50 ms", file=sys.stderr)
        wait_for(lambda: self.agent.metrics().get("tidemark_agent_tasks_leaving") == 0, "nobody on his way", self.agent, LIMIT_S)
        self.assertEqual({"web", "spark"}, self.names(), self.agent.log[-6000:])
        event = wait_for(lambda: self.events("evictPodSuccess"), "an event", self.agent, LIMIT_S)[-1]
        self.assertIn("trigger by koordlet feature BEMemoryEvict, TM-EVICT-001", event["message"])
        self.assertEqual("transcode", event["involvedObject"]["name"])
        done = [each for each in self.audit() if each["reason"] == "TM-EVICT-001" and each["outcome"] == "done"]
        self.assertEqual(("transcode", "eviction"), (done[-1]["object"]["name"], done[-1]["object"]["part"]), done)
        losses = [json.loads(each) for each in (Path(self.state) / "learned/losses.jsonl").read_text().splitlines()]
        self.assertEqual("transcode", losses[-1]["name"], losses)
        words = list((Path(self.state) / "learned/evicted").glob("*transcode*/*.log"))
        self.assertTrue(words and "TM-EVICT-001" in words[0].read_text(), "what it said last, and why it went")

    def test_a_disruption_budget_is_kept_and_another_one_goes(self):
        budget = {"metadata": {"name": "keep"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "transcode"}}}}
        # No controller of budgets runs here: the API server believes what the status says.
        colocation.must(API.request("POST", BUDGETS, budget))
        self.addCleanup(API.request, "DELETE", f"{BUDGETS}/keep")
        self.press_until_gone("spark")
        self.assertIn("transcode", self.names())
        self.assertGreaterEqual(self.evictions("TM-EVICT-016"), 1)
        wait_for(lambda: '"stage":"forbidden"' in self.memory().read_text(), "that it may not go, kept for the next agent", self.agent, LIMIT_S)
        self.agent.kill()
        type(self).agent = self.start()
        wait_for(lambda: "goes on with evictions of the agent before" in self.agent.log, "what the one that was killed knew", self.agent, LIMIT_S)

    def test_observing_nobody_goes(self):
        before = self.evictions("TM-EVICT")
        self.line(memory_percent() - 1, mode="observe")
        wait_for(lambda: "would be evicted" in self.agent.log, "a line that says who would go", self.agent, LIMIT_S)
        self.line(OFF)
        self.assertEqual({"web", "spark", "transcode"}, self.names())
        self.assertEqual(before, self.evictions("TM-EVICT"))


if __name__ == "__main__":
    unittest.main()
