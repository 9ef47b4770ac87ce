"""200 short jobs a minute for ten minutes on one machine: each ends once and soon, what is kept of them is bounded, and nothing is left of those that are gone."""

import os
import secrets
import statistics
import tempfile
import time
import unittest
from datetime import datetime, timezone
from pathlib import Path

from driver.demo.on_tidemark import OnTidemark
from driver.samples import Api
from support.node import cgroups

JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
A_MINUTE, MINUTES, KEPT_S = 200, int(os.environ.get("TIDEMARK_JOB_MINUTES", "10")), 30
GROWTH_MAX = 12 << 20  # of the resident memory, from the third minute on
SOON_S = 10
SWEPT_S = 10  # after the last pod: logs go a second later, once for many


def job(name: str) -> dict:
    """It asks for no processor: where other work has all of them, none is sold, and jobs rightly wait."""
    amounts = {"kubernetes.io/batch-memory": "16Mi"}
    container = {"name": "main", "image": "local", "command": ["sh", "-c", f"echo {name}"], "resources": {"requests": amounts, "limits": amounts}}
    template = {"metadata": {"labels": {"koordinator.sh/qosClass": "BE"}}, "spec": {"restartPolicy": "Never", "priorityClassName": "koord-batch", "containers": [container]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"ttlSecondsAfterFinished": KEPT_S, "backoffLimit": 0, "template": template}}


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


@unittest.skipUnless(os.geteuid() == 0 and cgroups.writable(), "no groups can be made here")
class LocalJobs(unittest.TestCase):
    def setUp(self):
        self.data = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-test-"))) / "up"
        self.up = OnTidemark(Path(os.environ["TIDEMARK_BINARY"]), self.data, f"tidemark-test-{secrets.token_hex(4)}")
        self.addCleanup(self.up.stop)
        self.up.start()
        self.api = Api(self.up.kubeconfig)

    def resident(self) -> int:
        return int(Path(f"/proc/{self.up.server.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    def see(self, ended: dict[str, float]) -> int:
        """Notes whose jobs have ended; answers how many are there."""
        items = self.api.must("GET", JOBS)["items"]
        for each in items:
            status = each.get("status", {})
            self.assertFalse(status.get("failed"), each)
            if status.get("completionTime"):
                ended[each["metadata"]["name"]] = (moment(status["completionTime"]) - moment(each["metadata"]["creationTimestamp"])).total_seconds()
        return len(items)

    def test_two_hundred_a_minute(self):
        begun, made, ended, memory, kept = time.monotonic(), 0, {}, [], 0
        while time.monotonic() - begun < 60 * MINUTES:
            due = int((time.monotonic() - begun) / 60 * A_MINUTE)
            for number in range(made, due):
                self.api.must("POST", JOBS, job(f"short-{number}"))
            made = max(made, due)
            kept = max(kept, self.see(ended))
            if len(memory) < (time.monotonic() - begun) // 60:
                memory.append(self.resident())
            time.sleep(2)
        deadline = time.monotonic() + 60
        while len(ended) < made:
            self.assertLess(time.monotonic(), deadline, f"{made - len(ended)} jobs have not ended")
            self.see(ended)
            time.sleep(0.5)
        print(
            f"{made} jobs in {MINUTES} min; from made to ended, by whole seconds: median {statistics.median(ended.values()):.0f} s, slowest {max(ended.values()):.0f} s; "
            f"kept at once {kept}; MiB resident by the minute: {[value >> 20 for value in memory]}"
        )
        self.assertLess(statistics.median(ended.values()), SOON_S)
        self.assertLess(kept, A_MINUTE * (KEPT_S + 60) / 60)
        if len(memory) > 3:
            self.assertLess(memory[-1] - memory[2], GROWTH_MAX, memory)
        deadline = time.monotonic() + KEPT_S + 60
        while self.api.must("GET", JOBS)["items"] or self.api.must("GET", PODS)["items"]:
            self.assertLess(time.monotonic(), deadline, "jobs or pods that do not go")
            time.sleep(1)
        deadline = time.monotonic() + SWEPT_S
        while left := self.left():
            self.assertLess(time.monotonic(), deadline, left)
            time.sleep(0.2)

    def left(self) -> list[str]:
        """Of pods: files and groups."""
        files = [path for folder in ("containers", "logs") for path in (self.data / folder).iterdir()]
        return [str(path) for path in (*files, *(path for top in cgroups.there(self.up.group) for path in top.rglob("pod*")))]


if __name__ == "__main__":
    unittest.main()
