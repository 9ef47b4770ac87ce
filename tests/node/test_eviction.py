"""The agent on a real node whose memory is used above its line: the right pod goes, by the API server where that answers, by the kernel where it does not."""

import json
import os
import subprocess
import sys
import time
import unittest
from pathlib import Path

from cluster import colocation
from cluster.manager_case import manager
from cluster.tidemark_process import Component, wait_for
from node.evicting import CLASSES, LIMIT_S, Evicting, offline
from node.test_agent import API
from node.test_agent import tearDownModule  # noqa: F401
from support.node import pods

POD_MIB = 1000  # some four hundredths of a machine with 24 GiB: lines are whole percents
OFF = 99  # a line that nothing reaches
PAUSE_S = 20  # of evictions that are about CPU, at the start of an agent too
BATCH = {"batch-cpu": 1000, "batch-memory": 64 << 20}
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def memory_percent() -> int:
    """As the agent calculates it (contract 7.4): whole, of what is not available."""
    fields = {line.split(":")[0]: int(line.split()[1]) for line in Path("/proc/meminfo").read_text().splitlines()}
    return 100 * (fields["MemTotal"] - fields["MemAvailable"]) // fields["MemTotal"]


class Eviction(Evicting):
    WORKS = [pods.Work("web", pods.BURSTABLE, 5, 200), offline("spark", "spark", POD_MIB, BATCH), offline("transcode", "transcode", POD_MIB, BATCH)]

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

    def line(self, percent: int, mode: str = "enforce") -> None:
        self.drawn = time.monotonic()
        self.say({"memoryEvictThresholdPercent": percent, "memoryEvictLowerPercent": percent - 1}, mode)

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

    def test_above_the_line_the_least_timely_work_goes_and_no_other(self):
        """Both offline pods hold the same: transcoding goes first, and what it releases is enough."""
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
        words = sorted((Path(self.state) / "learned/evicted").glob("*-transcode/*.log"))  # by time
        self.assertTrue(words and "TM-EVICT-001" in words[-1].read_text(), "what it said last, and why it went")

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

    def asked_back(self, pods_kept: int, reason: str) -> None:
        """Of transcoding, with no line drawn."""
        amounts = lambda pods: {f"kubernetes.io/{name}": str(pods * amount) for name, amount in BATCH.items()}
        told = {"class": "transcode", "giveBack": amounts(2 - pods_kept), "keep": amounts(pods_kept), "reason": reason}
        self.say({"enable": False}, reclaim={"generation": 10 - pods_kept, "classes": [told]})

    def test_a_class_gives_back_down_to_what_it_keeps_and_no_other(self):
        both = {"transcode", "transcode-2"}
        self.node.run([offline("transcode-2", "transcode", 5, BATCH)])
        uids = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.node.pods() if not pod["metadata"].get("deletionTimestamp")}
        self.asked_back(1, "TM-LEDGER-009")
        wait_for(lambda: len(self.names() & both) == 1, "one of two on its way", self.agent, LIMIT_S)
        self.all_have_ended()
        gone = next(iter(both - self.names()))
        events = wait_for(lambda: self.events("evictPodSuccess", uids[gone]), "an event", self.agent, LIMIT_S)
        self.assertIn("trigger by koordlet feature ReclaimEvict, TM-LEDGER-009", events[0]["message"])
        end = time.monotonic() + PAUSE_S + 5
        while time.monotonic() < end:
            self.assertEqual({"web", "spark"} | both - {gone}, self.names(), "what it keeps is a level")
            time.sleep(0.5)
        self.asked_back(0, "TM-STATE-027")
        wait_for(lambda: not self.names() & both, "the other one on its way: the class is off", self.agent, LIMIT_S)
        self.asked_back(2, "TM-LEDGER-009")
        self.all_have_ended()
        self.assertEqual({"web", "spark"}, self.names(), self.agent.log[-6000:])
        self.assertIn("TM-STATE-027", {each["reason"] for each in self.audit() if each["outcome"] == "done"})

    def with_a_manager(self) -> Component:
        """Of the whole cluster, until the case is over; what it made of the node is put back then."""
        config = {"schema": 1, "mode": {"capacity": "enforce", "nodeSlo": "enforce", "agent": {"default": "observe", "eviction": "enforce"}}, "rollout": {"pace": "at-once"}, "classes": CLASSES}
        colocation.put_settings(API, {"enable": True})
        self.addCleanup(self.offer_batch)
        self.addCleanup(API.request, "PATCH", f"/api/v1/nodes/{self.node.name}", {"metadata": {"labels": {"tidemark.io/state": None}, "annotations": {"tidemark.io/state-detail": None}}}, content=colocation.MERGE)
        self.addCleanup(colocation.delete_settings, API)
        colocation.must(API.request("POST", colocation.SETTINGS, {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": json.dumps(config)}}), 201)
        component = manager("--leader-elect=false")
        self.addCleanup(component.stop)
        wait_for(component.ready, "a ready manager", component)
        return component

    def test_a_class_that_somebody_switches_off_goes(self):
        """The whole way: a command, a manager, the NodeSLO, this agent."""
        component = self.with_a_manager()
        begin = time.monotonic()
        done = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], "off", "node", self.node.name, "--only", "class=transcode", "--now", "--yes", "--reason", "a test", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90,
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        wait_for(lambda: "transcode" not in self.names(), "the class on its way", self.agent, LIMIT_S)
        print(f"a class that is off: its pod is on its way {time.monotonic() - begin:.1f} s after the command was given, the agent's first {PAUSE_S} s included", file=sys.stderr)
        drained = 'tidemark_tasks_ended_total{class="transcode",pool="default",reason="drained"}'
        wait_for(lambda: component.metrics().get(drained) == 1, "it counted as no sign of too much being sold", component, LIMIT_S)
        self.all_have_ended()
        self.assertEqual({"web", "spark"}, self.names(), self.agent.log[-6000:])

    def test_observing_nobody_goes(self):
        before = self.evictions("TM-EVICT")
        self.line(memory_percent() - 1, mode="observe")
        wait_for(lambda: "would be evicted" in self.agent.log, "a line that says who would go", self.agent, LIMIT_S)
        self.line(OFF)
        self.assertEqual({"web", "spark", "transcode"}, self.names())
        self.assertEqual(before, self.evictions("TM-EVICT"))


if __name__ == "__main__":
    unittest.main()
