"""An agent that evicts on a real node: pods, rights and settings shared by tests."""

import json
import sys
import time
import unittest.mock
from pathlib import Path

from cluster import colocation
from cluster.colocation import NODESLOS
from cluster.tidemark_process import wait_for
from node.test_agent import API, RIGHTS, OnARealNode
from support.node import pods
from support.patience import PATIENCE_S as LIMIT_S

GRACE_S = 3
OFF = 99  # a memory threshold that is never reached
CLASSES = [{"name": "transcode", "order": 10}, {"name": "spark", "order": 30}]
# docs/guide/install.md, "Rights of an agent": what evictions need beside measuring.
EVICTION_RIGHTS = [
    {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
]


def offline(name: str, work_class: str, mebibytes: int, batch: dict[str, int] | None = None) -> pods.Work:
    labels = {"koordinator.sh/qosClass": "BE", "tidemark.io/class": work_class, "app": name}
    return pods.Work(name, pods.BEST_EFFORT, 5, mebibytes, labels=labels, batch=batch or {})


class Evicting(OnARealNode):
    @classmethod
    def setUpClass(cls):
        cls.enterClassContext(unittest.mock.patch.object(sys.modules[OnARealNode.__module__], "RIGHTS", [*RIGHTS, *EVICTION_RIGHTS]))
        super().setUpClass()
        cls.addClassCleanup(API.request, "DELETE", f"{NODESLOS}/{cls.node.name}")

    def say(self, threshold: dict, mode: str = "enforce", modes: dict | None = None, reclaim: dict | None = None, per_hour: int = 100, **evict: object) -> None:
        """Settings as the manager would send them to this agent."""
        word = {
            "schema": 1,
            "agent": {
                "modes": {"default": "observe", "eviction": mode, **(modes or {})},
                "classes": [{**each, "restartCostSeconds": cost} for each, cost in zip(CLASSES, (60, 600), strict=True)],
                "evict": {"graceSeconds": GRACE_S, **evict},
            },
            "evictions": {"perHour": per_hour, "until": "2100-01-01T00:00:00Z"},
            "reclaim": reclaim,  # null in a merge patch removes the key
        }
        spec = {"resourceUsedThresholdWithBE": {"enable": True, **threshold}, "extensions": {"Object": {"tidemark": word}}}
        patched = API.request("PATCH", f"{NODESLOS}/{self.node.name}", {"spec": spec}, content="application/merge-patch+json")
        if patched.status == 404:
            colocation.must(API.request("POST", NODESLOS, {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO", "metadata": {"name": self.node.name}, "spec": spec}))
        else:
            colocation.must(patched)

    def memory(self) -> Path:
        """The agent's evictions, stored for the next agent."""
        return Path(self.state) / "run/evictions.json"

    def names(self) -> set[str]:
        return {pod["metadata"]["name"] for pod in self.node.pods() if not pod["metadata"].get("deletionTimestamp")}

    def all_have_ended(self) -> None:
        wait_for(lambda: self.agent.metrics().get("tidemark_agent_tasks_leaving") == 0, "no task on its way", self.agent, LIMIT_S)

    def events(self, reason: str, uid: str) -> list[dict]:
        """The events of that pod: other tests had pods of the same names on their nodes."""
        events = API.get("/api/v1/namespaces/default/events").get("items", [])
        return [event for event in events if event["reason"] == reason and event["involvedObject"]["uid"] == uid]

    def audit(self) -> list[dict]:
        return [json.loads(line) for line in (Path(self.state) / "learned/audit.jsonl").read_text().splitlines()]

    def evictions(self, reason: str) -> float:
        return sum(value for name, value in self.agent.metrics().items() if name.startswith("tidemark_agent_evictions_total") and reason in name)


class EachAnew(Evicting):
    """Each case begins with all its pods, unreachable thresholds, and an agent without refusals."""

    def setUp(self):
        self.line(OFF)
        going = lambda: {pod["metadata"]["name"] for pod in self.node.pods()} - self.names()
        wait_for(lambda: not going(), "the end of earlier victims", self.agent, LIMIT_S)
        there = self.names()
        self.node.run([work for work in self.WORKS if work.name not in there])
        self.agent.stop()
        self.memory().unlink(missing_ok=True)  # refusals of one case must not delay the next
        type(self).agent = self.start()

    def line(self, percent: int, mode: str = "enforce") -> None:
        self.drawn = time.monotonic()
        self.say({"memoryEvictThresholdPercent": percent, "memoryEvictLowerPercent": percent - 1}, mode)
