"""`off --evict` on a real kubelet, while no manager runs: everything offline is gone in time, and the proof says so."""

import json
import os
import subprocess
import sys
import time
import unittest

from cluster.tidemark_process import wait_for
from node.protecting import BATCH, LIMIT_S, OFFLINE, ROOM, Protecting
from node.test_agent import API, tearDownModule  # noqa: F401
from support.node import pods

GRACE_S, MARGIN_S = 5, 10


class OffEvict(Protecting):
    WORKS = [
        pods.Work("online", pods.BURSTABLE, 20, 6),
        pods.Work("offline-1", pods.BEST_EFFORT, 100, 6, labels=OFFLINE, batch=BATCH),
        pods.Work("offline-2", pods.BEST_EFFORT, 100, 6, containers=2, labels=OFFLINE, batch=BATCH),
    ]

    def evict(self, *flags: str) -> subprocess.CompletedProcess:
        words = ["off", "node", self.node.name, "--evict", "--grace", f"{GRACE_S}s", "--yes", "--reason", "a test", *flags]
        return subprocess.run(
            [os.environ["TIDEMARK_BINARY"], *words, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S
        )

    def on(self) -> None:
        self.order(None)
        body = {"metadata": {"annotations": {"tidemark.io/state-detail": None}}}
        API.request("PATCH", f"/api/v1/nodes/{self.node.name}", body, content="application/merge-patch+json")

    def offline(self) -> set[str]:
        return {name for name in self.names() if name.startswith("offline")}

    def setUp(self):
        super().setUp()
        self.addCleanup(self.on)
        self.offer_batch()  # the order of another case took it
        self.node.run([work for work in self.WORKS if work.name not in self.names()])
        self.want(**ROOM)
        wait_for(lambda: self.in_force("batchLimits") > 0, "written files", self.agent, LIMIT_S)
        wait_for(lambda: self.condition().get("reason") == "Enforcing", "condition Enforcing", self.agent, LIMIT_S)

    def test_everything_offline_is_gone_within_the_grace_and_ten_seconds(self):
        began = time.monotonic()
        done = self.evict()
        took = time.monotonic() - began
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        print(f"off --evict: {took:.1f} s\n{done.stderr}{done.stdout}", file=sys.stderr)
        self.assertLessEqual(took, GRACE_S + MARGIN_S)
        self.assertEqual(set(), self.offline())
        self.assertIn("online", self.names())
        self.assertIn("evicted 2 pods; 1 of 1 node has offered 0, tasks 0, files 0", done.stdout)
        self.assertEqual(0, sum(each["inForce"] for each in self.says()["strategies"]))

    def test_report_of_a_dead_agent_about_an_earlier_order_is_no_proof(self):
        self.assertEqual(0, self.evict().returncode)
        self.agent.kill()
        try:
            self.on()  # an agent would write files now; this one could have died before it reported them
            done = self.evict("--wait", "3s", "-o", "json")
        finally:
            type(self).agent = self.start()
        self.assertEqual(1, done.returncode, done.stdout + done.stderr)
        (left,) = json.loads(done.stdout)["evict"]["nodesLeft"]
        self.assertEqual("unconfirmed", left["agent"], left)
        self.assertTrue(left["agentSays"].startswith("Off: "), left)

    def test_dry_run_counts_the_pods_and_evicts_none(self):
        before = self.offline()
        done = self.evict("--dry-run")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn("would evict 2 offline pods\n", done.stdout)
        self.assertEqual(before, self.offline())

    def test_without_an_agent_the_pods_go_and_its_files_are_named(self):
        self.agent.kill()
        try:
            done = self.evict("--wait", f"{GRACE_S + MARGIN_S}s", "-o", "json")
        finally:
            type(self).agent = self.start()
        self.assertEqual(1, done.returncode, done.stdout + done.stderr)
        self.assertEqual(set(), self.offline())
        shown = json.loads(done.stdout)["evict"]
        self.assertEqual(0, shown["counts"]["podsLeft"])
        self.assertEqual([self.node.name], [each["node"] for each in shown["nodesLeft"]])
        self.assertEqual("unconfirmed", shown["nodesLeft"][0]["agent"], shown)


if __name__ == "__main__":
    unittest.main()
