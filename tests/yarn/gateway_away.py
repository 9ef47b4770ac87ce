"""The API server and the ResourceManager are away for some time, for test_gateway_away.py and its long form: no run of the gateway fails or moves."""

import os
import subprocess
import time

from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from yarn.gateway_case import GatewayCase

SUCCEEDED = {"exitCode": 0, "reason": "Completed", "startedAt": None, "finishedAt": None}
# A ResourceManager that was frozen gives up masters that it has not heard of meanwhile.
PATIENT = {f"yarn.{what}.liveness-monitor.expiry-interval-ms": "3600000" for what in ("am", "nm")}


def control(*words: str) -> None:
    subprocess.run([os.environ["TIDEMARK_TEST_CLUSTER_CONTROL"], *words], stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=PATIENCE_S)


class AwayCase(GatewayCase):
    YARN_SITE = PATIENT

    def post_and_start(self) -> dict[str, int]:
        """A run in each state in which it depends on its side."""
        self.go = self.yarn.layout.scratch / "go"
        runs = {
            "running on YARN": self.post(("1", "0", str(self.go)), **{"spark.tidemark.side": "yarn"}),
            "running at Kubernetes": self.post(**{"spark.tidemark.side": "kubernetes", "spark.tidemark.rerunSafe": "true"}),
            "without a node": self.post(**{"spark.tidemark.side": "kubernetes", "spark.tidemark.rerunSafe": "true"}),
        }
        pod = wait_for(lambda: self.driver_of(runs["running at Kubernetes"]), "a driver pod", self.gateway)
        self.set_status(pod, {"phase": "Running", "containerStatuses": [self.status_of("running", {"startedAt": None})]})
        wait_for(lambda: self.driver_of(runs["without a node"]), "a driver pod", self.gateway)
        for name in ("running on YARN", "running at Kubernetes"):
            wait_for(lambda: self.batch(runs[name])["state"] == "running", name, self.gateway, 2 * PATIENCE_S)
        return runs

    def states(self, runs: dict[str, int]) -> dict[str, tuple[str, int]]:
        return {name: (batch["state"], len(batch["attempts"])) for name, batch in ((name, self.batch(number)) for name, number in runs.items())}

    def no_run_fails(self, away_s: int, *flags: str) -> None:
        self.begin(*flags)
        runs = self.post_and_start()
        before = self.states(runs)
        control("kill", "apiserver")
        self.yarn.rm.freeze()
        try:
            # A run that arrives meanwhile waits for its side.
            late = {f"posted meanwhile for {side}": self.post(**{"spark.tidemark.side": side}) for side in ("kubernetes", "yarn")}
            time.sleep(away_s)
            self.assertEqual(before, self.states(runs))
            self.assertEqual({"starting"}, {state for state, _ in self.states(late).values()})
        finally:
            control("start", "apiserver")
            self.yarn.rm.resume()
        self.go.touch()
        for name in ("running at Kubernetes", "without a node", *late):
            if "yarn" in name:
                continue
            pod = wait_for(lambda: self.driver_of((runs | late)[name]), f"a driver pod of the run {name}", self.gateway, 2 * PATIENCE_S)
            self.set_status(pod, {"phase": "Succeeded", "containerStatuses": [self.status_of("terminated", SUCCEEDED)]})
        for name, number in (runs | late).items():
            batch = self.wait_ended(number)
            self.assertEqual(("success", 1), (batch["state"], len(batch["attempts"])), f"{name}: {batch['log']}")
