"""Evictions on a real node by order, without a threshold: reclaim from a class, and a class that is switched off."""

import json
import os
import subprocess
import sys
import time
import unittest

from cluster import colocation
from cluster.manager_case import manager
from cluster.tidemark_process import Component, wait_for
from node.evicting import CLASSES, LIMIT_S, EachAnew, offline
from node.test_agent import API
from node.test_agent import tearDownModule  # noqa: F401
from support.node import pods

PAUSE_S = 20  # between CPU evictions, also after an agent's start
BATCH = {"batch-cpu": 1000, "batch-memory": 64 << 20}


class Orders(EachAnew):
    WORKS = [pods.Work("web", pods.BURSTABLE, 5, 6), offline("spark", "spark", 6, BATCH), offline("transcode", "transcode", 6, BATCH)]

    def asked_back(self, pods_kept: int, reason: str) -> None:
        """Reclaims from transcode, with all thresholds off."""
        amounts = lambda pods: {f"kubernetes.io/{name}": str(pods * amount) for name, amount in BATCH.items()}
        shown = {"class": "transcode", "amount": amounts(2 - pods_kept), "keep": amounts(pods_kept), "reason": reason}
        self.say({"enable": False}, reclaim={"generation": 10 - pods_kept, "classes": [shown]})

    def test_a_class_is_reclaimed_down_to_its_kept_amount_and_no_other(self):
        both = {"transcode", "transcode-2"}
        self.node.run([offline("transcode-2", "transcode", 5, BATCH)])
        uids = {pod["metadata"]["name"]: pod["metadata"]["uid"] for pod in self.node.pods() if not pod["metadata"].get("deletionTimestamp")}
        self.asked_back(1, "TM-LEDGER-009")
        wait_for(lambda: len(self.names() & both) == 1, "one of two pods on its way", self.agent, LIMIT_S)
        self.all_have_ended()
        gone = next(iter(both - self.names()))
        events = wait_for(lambda: self.events("evictPodSuccess", uids[gone]), "an event", self.agent, LIMIT_S)
        self.assertIn("trigger by koordlet feature ReclaimEvict, TM-LEDGER-009", events[0]["message"])
        end = time.monotonic() + PAUSE_S + 5
        while time.monotonic() < end:
            self.assertEqual({"web", "spark"} | both - {gone}, self.names(), "the kept amount is a level")
            time.sleep(0.5)
        self.asked_back(0, "TM-STATE-027")
        wait_for(lambda: not self.names() & both, "the other pod on its way: the class is off", self.agent, LIMIT_S)
        self.asked_back(2, "TM-LEDGER-009")
        self.all_have_ended()
        self.assertEqual({"web", "spark"}, self.names(), self.agent.log[-6000:])
        self.assertIn("TM-STATE-027", {each["reason"] for each in self.audit() if each["outcome"] == "done"})

    def with_a_manager(self) -> Component:
        """An order for the whole cluster, until the case is over; then its effects on the node are reverted."""
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

    def test_a_class_that_is_switched_off_is_evicted(self):
        """The whole path: a command, a manager, the NodeSLO, this agent."""
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
        wait_for(lambda: component.metrics().get(drained) == 1, "it counts as drained, not as oversold", component, LIMIT_S)
        self.all_have_ended()
        self.assertEqual({"web", "spark"}, self.names(), self.agent.log[-6000:])


if __name__ == "__main__":
    unittest.main()
