"""kill -9 of a real gateway in every state of its runs, between a real API server and a real ResourceManager: each run has one
driver. No NodeManager and no kubelet run: the test reports the status of driver pods."""

import re
import time
import unittest
from collections import Counter
from collections.abc import Sequence

from cluster.colocation import must
from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from yarn.gateway_case import PODS, GatewayCase

PHASES = ["received", "queued", "routed", "reserved", "submitted", "admitted", "running", "ending", "done"]  # of a run on Kubernetes
ROUNDS = 3  # kills in each phase
SUCCEEDED = {"exitCode": 0, "reason": "Completed", "startedAt": None, "finishedAt": None}


class KillsCase(GatewayCase):
    TOTALS = []

    def post_everywhere(self) -> dict[int, str]:
        """One run on each side, by their ids."""
        return {self.post(**{"spark.tidemark.side": side}): side for side in ("yarn", "kubernetes")}

    def phase_of(self, number: int) -> str:
        """The last phase in the log of the gateway; received before the first line. A line may be half written."""
        found = re.findall(rf"run changed run={number} phase=(\w+) ", self.gateway.log)
        return found[-1] if found else "received"

    def pods_of(self, number: int) -> list[dict]:
        return [pod for pod in self.drivers() if pod["metadata"]["labels"]["tidemark.io/run"].endswith(f"-{number}")]

    def bind(self, pod: dict) -> None:
        """As a scheduler does. No kubelet watches the node."""
        meta = {key: pod["metadata"][key] for key in ("name", "namespace")}
        must(self.api.request("POST", f"{PODS}/{meta['name']}/binding", {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": {"kind": "Node", "name": "n1"}}))

    def go_on(self, numbers) -> None:
        """What a kubelet does next with the drivers of these runs."""
        phases = {each["id"]: each["phase"] for each in self.ask("GET", "/tidemark/v1/runs?size=1000")["runs"]}
        for number in numbers:
            for pod in self.pods_of(number):
                if self.batch(number)["state"] == "running" and pod["status"]["phase"] == "Running":
                    self.set_status(pod, {"phase": "Succeeded", "containerStatuses": [self.status_of("terminated", SUCCEEDED)]})
                elif not pod["spec"].get("nodeName"):
                    self.bind(pod)
                elif pod["status"]["phase"] == "Pending" and phases.get(number) == "admitted":
                    self.set_status(pod, {"phase": "Running", "containerStatuses": [self.status_of("running", {"startedAt": None})]})

    def kill_in_each_phase(self, rounds: int, phases: Sequence[str] = PHASES) -> Counter[str]:
        """The kills by phase: one that a run leaves at once may be missed. All its runs end, and each has one driver."""
        runs: dict[int, str] = {}
        kills: Counter[str] = Counter()
        for phase in [*phases] * rounds:
            posted = self.post_everywhere()
            runs |= posted
            on_kubernetes = next(number for number, side in posted.items() if side == "kubernetes")
            deadline = time.monotonic() + PATIENCE_S
            while (at := PHASES.index(self.phase_of(on_kubernetes))) < PHASES.index(phase):
                self.assertLess(time.monotonic(), deadline, self.gateway.log[-3000:])
                if at >= PHASES.index("submitted"):
                    self.go_on(posted)
            kills[self.phase_of(on_kubernetes)] += 1
            self.gateway.kill()
            self.begin()
        for number in (number for number, side in runs.items() if side == "yarn"):
            wait_for(lambda: self.batch(number)["appId"], "an application", self.gateway)
            self.ask("DELETE", f"/batches/{number}")  # without a NodeManager it would wait for ever
        deadline = time.monotonic() + PATIENCE_S
        while any(self.batch(number)["state"] not in ("success", "killed") for number in runs):
            self.assertLess(time.monotonic(), deadline, self.gateway.log[-3000:])
            self.go_on(runs)
        tags = Counter(re.search(r"tidemark-run:(\d+)", each["applicationTags"])[1] for each in self.applications())
        for number, side in runs.items():
            self.assertEqual(1 if side == "kubernetes" else 0, len(self.pods_of(number)), number)
            self.assertEqual(1 if side == "yarn" else 0, tags[str(number)], number)
            self.assertEqual("success" if side == "kubernetes" else "killed", self.batch(number)["state"])
        return kills


class Kills(KillsCase):
    def test_each_run_has_one_driver_however_often_the_gateway_is_killed(self):
        self.begin()
        print(f"kills by the phase of the run on Kubernetes: {dict(self.kill_in_each_phase(ROUNDS))}")


if __name__ == "__main__":
    unittest.main()
