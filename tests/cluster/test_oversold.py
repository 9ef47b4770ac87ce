"""A node that two schedulers oversold, on a real API server: it is marked and tainted, neither side is offered more than it holds, and both marks go
when it fits again, or with an order to be off, even without a manager."""

import json
import os
import subprocess
import unittest

from cluster import colocation
from cluster.colocation import MERGE, SETTINGS, TIDEMARK_CONFIG, must
from cluster.manager_case import WithManager
from cluster.test_manager import CAPACITY, STATUS, quantity
from cluster.tidemark_process import Component, wait_for
from support.patience import PATIENCE_S as LIMIT_S

NODE = "oversold-node"
PODS, NODE_PATH = "/api/v1/namespaces/default/pods", f"/api/v1/nodes/{NODE}"
BATCH_CPU, BATCH_MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"
BOOK, OFFER, MARK = "tidemark.io/yarn-book", "tidemark.io/yarn-offer", "tidemark.io/oversold"
OTHERS = {"key": "gpu", "value": "a", "effect": "PreferNoSchedule"}
OURS = {"key": MARK, "effect": "NoSchedule"}
CONFIG = {"schema": 1, "mode": "enforce", "rollout": {"pace": "at-once"}, "ledger": {"mode": "strict"}, "arbitrate": {"enabled": True, "overAfter": "1s"}}


class Oversold(WithManager):
    def setUp(self):
        colocation.put_settings(self.api, {"enable": True, "cpuReclaimThresholdPercent": 60})
        self.nodes = [NODE]
        colocation.put_node(self.api, NODE, capacity=CAPACITY)
        must(self.api.request("PATCH", NODE_PATH, {"spec": {"taints": [OTHERS]}}, content=MERGE))
        colocation.put_metric(self.api, NODE, STATUS)
        must(self.api.request("POST", SETTINGS, {"metadata": {"name": TIDEMARK_CONFIG}, "data": {"config.yaml": json.dumps(CONFIG)}}), 201)
        self.yarn_holds(0)
        self.component = self.run_manager("--leader-elect=false")
        wait_for(lambda: self.offered() is not None, "a first offer", self.component, limit_s=LIMIT_S)

    def offered(self) -> str | None:
        return colocation.offered(self.api, NODE).get(BATCH_CPU)

    def annotations(self) -> dict:
        return must(self.api.request("GET", NODE_PATH)).get("metadata.annotations") or {}

    def taints(self) -> list[dict]:
        return [{key: value for key, value in each.items() if key != "timeAdded"} for each in must(self.api.request("GET", NODE_PATH)).get("spec.taints") or []]

    def bind(self, name: str, milli: int) -> None:
        requests = {BATCH_CPU: str(milli), BATCH_MEMORY: "1Gi"}
        colocation.put_pod(self.api, NODE, {"name": name, "prio": "koord-batch", "qos": "BE", "requests": requests, "phase": "Running"})
        self.addCleanup(self.api.request, "DELETE", f"{PODS}/{name}", gracePeriodSeconds=0)

    def yarn_holds(self, milli: int) -> None:
        """As YARN's operator reports it."""
        offer = json.loads(self.annotations().get(OFFER, "{}"))
        book = {
            "schema": 1, "generation": offer.get("generation", 0), "sold": [{"class": "", "resources": {BATCH_CPU: str(milli), BATCH_MEMORY: "1Gi"}}],
            "confirmed": offer.get("resources", {BATCH_CPU: "0", BATCH_MEMORY: "0"}),
        }
        must(self.api.request("PATCH", NODE_PATH, {"metadata": {"annotations": {BOOK: json.dumps(book)}}}, content=MERGE))

    def command(self, *words: str) -> str:
        done = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], *words, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90,
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def both_sell_too_much(self) -> None:
        """Of 17200m, Kubernetes' scheduler binds 12000m while YARN starts containers of 9000m."""
        self.bind("oversold-1", 8000)
        self.bind("oversold-2", 4000)
        self.yarn_holds(9000)
        wait_for(lambda: MARK in self.annotations() and OURS in self.taints(), "mark and taint", self.component, limit_s=LIMIT_S)

    def clean(self) -> bool:
        return MARK not in self.annotations() and self.taints() == [OTHERS]

    def test_neither_side_gets_more_until_it_fits_again(self):
        self.both_sell_too_much()
        # A ledger with confirmation gives less until the confirmation, and never more.
        wait_for(lambda: quantity(self.offered()) <= 12_000, "no more than its pods hold", self.component, limit_s=LIMIT_S)
        self.assertLessEqual(quantity(json.loads(self.annotations()[OFFER])["resources"][BATCH_CPU]), 9_000)
        self.assertIn(OTHERS, self.taints())
        self.assertIn("TM-ARBITRATE-002", self.command("explain", "node", NODE))
        self.api.request("DELETE", f"{PODS}/oversold-1", gracePeriodSeconds=0)
        wait_for(self.clean, "no mark, no taint of ours, and the taints of others", self.component, limit_s=LIMIT_S)

    def test_off_removes_both_marks_without_a_manager(self):
        self.both_sell_too_much()
        self.component.kill()
        said = self.command("off", "node", NODE, "--now", "--reason", "a test")
        self.assertTrue(self.clean(), f"{said}{self.taints()} {self.annotations()}")
        self.command("on", "node", NODE, "--reason", "a test")

    def test_the_successor_of_a_killed_manager_continues(self):
        self.both_sell_too_much()
        self.component.kill()
        self.component: Component = self.run_manager("--leader-elect=false")
        wait_for(lambda: "TM-ARBITRATE-002" in self.command("explain", "node", NODE), "the verdict, kept", self.component, limit_s=LIMIT_S)
        self.assertIn(OURS, self.taints())
        self.yarn_holds(0)
        wait_for(self.clean, "neither mark nor taint", self.component, limit_s=LIMIT_S)


if __name__ == "__main__":
    unittest.main()
