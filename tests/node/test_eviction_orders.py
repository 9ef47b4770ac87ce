"""Evictions on a real node by order, without a threshold: reclaim from a class, a class that is switched off, a node that leaves after it joined."""

import json
import os
import subprocess
import sys
import time
import unittest

from cluster import colocation
from cluster.manager_case import manager
from cluster.node_states import NodeStates
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

    @property
    def path(self) -> str:
        return f"/api/v1/nodes/{self.node.name}"

    def read(self) -> dict:
        return colocation.must(API.get(self.path)).json

    def limited(self) -> float:
        """Kernel files of offline pods that the agent wrote."""
        return self.agent.metrics()['tidemark_agent_files_in_force{component="batchLimits"}']

    def tidemark(self, *words: str) -> str:
        words = [os.environ["TIDEMARK_BINARY"], *words, "--reason", "a test", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]]
        done = subprocess.run([*words, *([] if "--dry-run" in words else ["--yes"])], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2 * LIMIT_S)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr + self.agent.log[-3000:])
        return done.stdout

    def with_a_manager(self, **config: object) -> Component:
        """Until the case is over; then the effects of its orders on the node are reverted."""
        config = {"schema": 1, "rollout": {"pace": "at-once"}, "classes": CLASSES, **config}
        colocation.put_settings(API, {"enable": True})
        self.addCleanup(self.offer_batch)
        marks = {"labels": {"tidemark.io/state": None, "tidemark.io/pool": None}, "annotations": {"tidemark.io/state-detail": None}}
        self.addCleanup(API.request, "PATCH", self.path, {"metadata": marks}, content=colocation.MERGE)
        self.addCleanup(colocation.delete_settings, API)
        colocation.must(API.request("POST", colocation.SETTINGS, {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": json.dumps(config)}}), 201)
        component = manager("--leader-elect=false")
        self.addCleanup(component.stop)
        wait_for(component.ready, "a ready manager", component)
        return component

    def test_a_class_that_is_switched_off_is_evicted(self):
        """The whole path: a command, a manager, the NodeSLO, this agent."""
        component = self.with_a_manager(mode={"capacity": "enforce", "nodeSlo": "enforce", "agent": {"default": "observe", "eviction": "enforce"}})
        begin = time.monotonic()
        self.tidemark("off", "node", self.node.name, "--only", "class=transcode", "--now")
        wait_for(lambda: "transcode" not in self.names(), "the class on its way", self.agent, LIMIT_S)
        print(f"a class that is off: its pod is on its way {time.monotonic() - begin:.1f} s after the command was given, the agent's first {PAUSE_S} s included", file=sys.stderr)
        drained = 'tidemark_tasks_ended_total{class="transcode",pool="default",reason="drained"}'
        wait_for(lambda: component.metrics().get(drained) == 1, "it counts as drained, not as oversold", component, LIMIT_S)
        self.all_have_ended()
        self.assertEqual({"web", "spark"}, self.names(), self.agent.log[-6000:])

    def test_the_node_joins_and_leaves(self):
        """Observed until its agent reports, then in force; it leaves when nothing offline is left on it."""
        night = {"name": "night", "mode": "enforce", "nodeSelector": {"matchLabels": {"tidemark.io/pool": "night"}}}
        component = self.with_a_manager(mode="observe", pools=[night])
        self.assertEqual(0, self.limited(), "an agent that observes limits no pod")
        with NodeStates(self.node.name, lambda node: True) as states:
            done = self.tidemark("node", "join", self.node.name, "--pool=night", f"--wait={LIMIT_S}s")
            self.assertIn(f"{self.node.name}: on, pool night\n", done)
            wait_for(lambda: self.limited() > 0, "limits of offline pods in force", self.agent, LIMIT_S)
            wait_for(lambda: colocation.ORIGIN in self.read()["metadata"]["annotations"], "an offer of the manager", component, LIMIT_S)
            self.assertIn(f"{self.node.name}: nothing to do\n", self.tidemark("node", "join", self.node.name, "--pool=night", "--dry-run"))
            self.assertEqual({"web", "spark", "transcode"}, self.names(), "nothing is evicted by a join")

            done = self.tidemark("node", "leave", self.node.name, "--drain=5s", "--grace=5s")
            self.assertIn("1 of 1 node has offered 0, tasks 0, files 0", done)
            node = self.read()
            wait_for(lambda: states.reach(node["metadata"]["resourceVersion"]), "the watch to deliver the last state", limit_s=LIMIT_S)
        labels = [(found.get("tidemark.io/state"), found.get("tidemark.io/pool")) for found in (seen["metadata"]["labels"] for _, _, seen in states.seen)]
        steps = [step for before, step in zip([None, *labels], labels) if step != before]
        self.assertEqual([("observe", None), ("observe", "night"), ("on", "night"), ("draining", "night"), ("off", "night")], [step for step in steps if any(step)])
        self.assertEqual({"web"}, self.names(), self.agent.log[-6000:])
        self.assertEqual({None, "0"} | {node["status"]["allocatable"].get(f"kubernetes.io/{name}") for name in BATCH}, {None, "0"}, "it offers nothing")
        self.assertEqual(0, self.limited())


if __name__ == "__main__":
    unittest.main()
