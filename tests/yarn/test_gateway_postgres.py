"""Two replicas of the gateway on a real PostgreSQL: one is killed, the other one drives its runs, and each run has one driver. No kubelet and no NodeManager
run: the test reports the status of driver pods."""

import json
import os
import re
import subprocess
import unittest
import urllib.request
from collections import Counter
from pathlib import Path

from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from support.postgres import Postgres
from yarn.gateway_case import ENDED, GatewayCase

SUITE = Path(os.environ["TIDEMARK_BINARY"]).parent / "gateway" / "postgres" / "gateway_postgres_test"
SUCCEEDED = {"exitCode": 0, "reason": "Completed", "startedAt": None, "finishedAt": None}
RUNS = 6  # on each side


class PostgresCase(GatewayCase):
    TOTALS = []

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = cls.enterClassContext(Postgres())

    def test_the_store_does_what_every_store_does(self):
        done = subprocess.run([SUITE, "--gtest_brief=1"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10 * PATIENCE_S, env={**os.environ, "TIDEMARK_TEST_POSTGRES": self.server.where})
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertNotIn("SKIPPED", done.stdout)

    def test_runs_go_on_at_the_other_replica_and_no_driver_is_doubled(self):
        killed = self.begin(f"--postgres={self.server.where}")
        first = self.url
        other = self.begin(f"--postgres={self.server.where}")
        second = self.url
        self.assertTrue(self.ask("PUT", "/tidemark/v1/switch", {"noMoreKubernetes": True})["noMoreKubernetes"])
        self.url = first
        wait_for(lambda: self.ask("GET", "/tidemark/v1/switch")["noMoreKubernetes"], "the switch at the other replica", killed)
        self.ask("PUT", "/tidemark/v1/switch", {"noMoreKubernetes": False})
        self.url = second
        wait_for(lambda: not self.ask("GET", "/tidemark/v1/switch")["noMoreKubernetes"], "the switch at the other replica", other)

        runs = {}
        for number in range(2 * RUNS):
            side = ("kubernetes", "yarn")[number % 2]
            self.url = (first, second)[number // 2 % 2]
            runs[self.post(**{"spark.tidemark.side": side})] = side
            if number == RUNS:  # then its runs are in every state
                self.run_drivers(runs)
        killed.kill()
        self.url, self.gateway = second, other
        repeated = self.again("a-key")
        self.assertEqual(repeated, self.again("a-key"))
        for number in (number for number, side in runs.items() if side == "yarn"):
            wait_for(lambda: self.batch(number)["appId"], "an application", other, 2 * PATIENCE_S)
            self.ask("DELETE", f"/batches/{number}")
        wait_for(lambda: self.run_drivers(runs) or all(self.batch(number)["state"] in ENDED for number in runs), "the ends of all runs", other, 3 * PATIENCE_S)
        self.assertIn("taking over runs", other.log)
        tags = Counter(re.search(r"tidemark-run:(\d+)", each["applicationTags"])[1] for each in self.applications())
        for number, side in runs.items():
            with self.subTest(number, side=side):
                pods = [pod for pod in self.drivers() if pod["metadata"]["labels"]["tidemark.io/run"].endswith(f"-{number}")]
                self.assertEqual((1, 0) if side == "kubernetes" else (0, 1), (len(pods), tags[str(number)]))
                self.assertEqual("success" if side == "kubernetes" else "killed", self.batch(number)["state"], self.batch(number)["log"])
        self.ask("DELETE", f"/batches/{repeated}")

    def again(self, key: str) -> int:
        request = urllib.request.Request(self.url + "/batches", b'{"file": "local:///a.jar", "className": "A", "conf": {"spark.kubernetes.container.image": "spark", "spark.tidemark.side": "kubernetes"}}',
                                         {"Content-Type": "application/json", "Idempotency-Key": key})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())["id"]

    def run_drivers(self, runs: dict[int, str]) -> None:
        """What a kubelet does next with the drivers of these runs."""
        for pod in self.drivers():
            number = int(pod["metadata"]["labels"]["tidemark.io/run"].rpartition("-")[2])
            if number not in runs:
                continue
            if pod["status"]["phase"] == "Pending":
                self.set_status(pod, {"phase": "Running", "containerStatuses": [self.status_of("running", {"startedAt": None})]})
            elif pod["status"]["phase"] == "Running" and self.batch(number)["state"] == "running":
                self.set_status(pod, {"phase": "Succeeded", "containerStatuses": [self.status_of("terminated", SUCCEEDED)]})


if __name__ == "__main__":
    unittest.main()
