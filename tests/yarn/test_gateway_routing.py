"""Live signals of the gateway's routing: idle batch capacity of nodes and a ResourceQuota at a real API server, and the queue of a real ResourceManager."""

import os
import subprocess
import unittest
from pathlib import Path

from cluster.colocation import MERGE, must
from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from yarn.gateway_case import PODS, GatewayCase

NODES, QUOTAS = "/api/v1/nodes", "/api/v1/namespaces/default/resourcequotas"
NEED = 2  # cores and pods of a driver and one executor


class GatewayRouting(GatewayCase):
    def add_node(self, name: str, cores: int, **labels: str) -> None:
        must(self.api.request("POST", NODES, {"metadata": {"name": name, "labels": labels}}))
        self.addCleanup(self.api.request, "DELETE", f"{NODES}/{name}")
        amounts = {"kubernetes.io/batch-cpu": str(cores * 1000), "kubernetes.io/batch-memory": "16Gi"}
        ready = {"type": "Ready", "status": "True", "reason": "", "message": ""}
        must(self.api.request("PATCH", f"{NODES}/{name}/status", {"status": {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}}, content=MERGE))

    def explain(self, number: int, *more: str) -> subprocess.CompletedProcess:
        return subprocess.run([os.environ["TIDEMARK_BINARY"], "explain", "run", str(number), "--gateway", self.url, *more], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)

    def explained(self, number: int, text: str) -> str:
        wait_for(lambda: text in self.explain(number).stdout, f"{text} of run {number}", self.gateway)
        return self.explain(number).stdout

    def wait_for_signals(self) -> None:
        """Until the gateway has read both sides, which the decision for a pinned run shows."""
        def known() -> bool:
            text = self.explained(self.post(**{"spark.tidemark.side": "kubernetes"}), "attempt 1: needs ")
            return " idle" in text and "root.default" in text

        wait_for(known, "known signals", self.gateway)
        for pod in self.drivers():
            self.ask("DELETE", f"/batches/{pod['metadata']['labels']['tidemark.io/run'].rpartition('-')[2]}")
        wait_for(lambda: not self.drivers(), "no driver", self.gateway)

    def test_a_run_that_does_not_fit_goes_to_yarn_and_its_decision_replays(self):
        self.add_node("idle-1", 2 * NEED)
        self.begin()
        self.wait_for_signals()
        first, second, third = self.post(), self.post(), self.post(("1", "0"))
        text = self.explained(third, "TM-ROUTE-030")
        self.assertIn("on yarn: Kubernetes has too little idle batch capacity for the job", text)
        self.assertRegex(text, "YARN: queue root.default [0-9]+ % used")
        for number in (first, second):
            self.explained(number, "on kubernetes: the run is within the share of Kubernetes")
        self.assertEqual("success", self.wait_ended(third)["state"], self.gateway.log)
        self.gateway.kill()
        self.begin()
        replayed = self.explain(third, "--replay")
        self.assertEqual(0, replayed.returncode, replayed.stdout + replayed.stderr)
        self.assertIn("the same decision again", replayed.stdout)

    def test_a_resource_quota_sends_runs_to_yarn(self):
        self.add_node("idle-1", 100)
        self.begin()
        self.wait_for_signals()
        must(self.api.request("POST", QUOTAS, {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}))
        self.addCleanup(self.api.request, "DELETE", f"{QUOTAS}/few")
        must(self.api.request("PATCH", f"{QUOTAS}/few/status", {"status": {"hard": {"pods": "1"}, "used": {"pods": "0"}}}, content=MERGE))
        def refused() -> int | None:  # the watch needs a moment
            number = self.post(("1", "0"))
            return number if "quota of its namespace leaves 1 pods" in self.explained(number, "attempt 1: needs ") else None

        number = wait_for(refused, "a known quota", self.gateway)
        self.explained(number, "on yarn: the ResourceQuota of the namespace at Kubernetes has too little left for the job [TM-ROUTE-029]")
        self.assertEqual("success", self.wait_ended(number)["state"], self.gateway.log)

    def test_the_owner_of_the_nodes_goes_first(self):
        self.add_node("idle-1", NEED, **{"tidemark.io/business": "ads"})
        routes = Path(self.folder) / "routes.yaml"
        routes.write_text("schema: 1\nownerKeepsPercent: 50\n")
        self.begin(f"--routes-file={routes}")
        self.wait_for_signals()
        other, own = self.post(("1", "0"), **{"spark.tidemark.business": "search"}), self.post(**{"spark.tidemark.business": "ads"})
        self.explained(other, "on yarn: the idle batch capacity of Kubernetes is for the business that owns the nodes [TM-ROUTE-031]")
        self.assertIn("2 cores, 16384 MiB of them on nodes of ads", self.explained(own, "on kubernetes: the run is within the share"))
        wait_for(lambda: self.driver_of(own), "a driver pod", self.gateway)


if __name__ == "__main__":
    unittest.main()
