"""Clients of Livy, unmodified, at a real gateway: the PyPI package `livy`, and the hook of Airflow's provider. No kubelet runs: the test reports the status of driver pods."""

import os
import re
import subprocess
import unittest
from pathlib import Path

if "TIDEMARK_GATEWAY_CLIENTS" not in os.environ:
    raise unittest.SkipTest("the clients cannot be installed here")

from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from yarn.gateway_case import GatewayCase

PROGRAM = Path(__file__).with_name("livy_client.py")


class Clients(GatewayCase):
    TOTALS = []

    def start(self, client: str) -> tuple[subprocess.Popen, int]:
        """The client, and the id of the batch that it created."""
        process = subprocess.Popen(
            [os.environ["TIDEMARK_GATEWAY_CLIENTS"], PROGRAM, client, self.url, f"local://{self.jar}", "SleepingTasks", "spark"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "AIRFLOW_HOME": f"{self.folder}/airflow"},
        )
        self.addCleanup(process.kill)
        return process, int(self.line(process, r"batch (\d+)"))

    def line(self, process: subprocess.Popen, wanted: str) -> str:
        for line in process.stdout:
            if found := re.fullmatch(wanted, line.strip()):
                return found[1]
        raise AssertionError(f"the client ended with {process.wait()} before {wanted}\n{self.gateway.log[-2000:]}")

    def ends(self, client: str, code: int) -> str:
        """The state that the client has of a batch whose driver ends with this code."""
        process, number = self.start(client)
        pod = wait_for(lambda: self.driver_of(number), "a driver pod", self.gateway)
        self.set_status(pod, {"phase": "Running", "containerStatuses": [self.status_of("running", {"startedAt": None})]})
        wait_for(lambda: self.batch(number)["state"] == "running", "a running driver", self.gateway)
        ended = {"exitCode": code, "startedAt": None, "finishedAt": None}
        self.set_status(pod, {"phase": "Failed" if code else "Succeeded", "containerStatuses": [self.status_of("terminated", ended)]})
        process.stdin.write("wait\n")
        process.stdin.flush()
        return self.line(process, r"state (\w+)")

    def test_the_package_livy_and_airflows_hook_see_the_ends_of_batches(self):
        self.begin()
        for client in ("livy", "airflow"):
            with self.subTest(client):
                self.assertEqual("success", self.ends(client, 0))
                self.assertEqual("dead", self.ends(client, 1))

    def test_they_kill_a_batch(self):
        self.begin()
        for client in ("livy", "airflow"):
            with self.subTest(client):
                process, number = self.start(client)
                wait_for(lambda: self.driver_of(number), "a driver pod", self.gateway)
                process.stdin.write("kill\n")
                process.stdin.flush()
                self.assertEqual("killed", self.line(process, r"state (\w+)"))
                wait_for(lambda: not self.driver_of(number), "no driver pod", self.gateway, PATIENCE_S)


if __name__ == "__main__":
    unittest.main()
