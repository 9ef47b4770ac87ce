"""Online work needs the CPUs of the machine for a long time: a batch job that gets almost none of what it was sold is evicted, waits in the
queue, and later runs to its end. Held back is only memory that it keeps."""

import json
import os
import unittest

from cluster.local_case import LocalCase
from cluster.tidemark_process import wait_for

CORES = os.cpu_count() or 1
SPIN = "while :; do :; done"
SPINNING = ["sh", "-c", f"for i in $(seq {CORES}); do ({SPIN}) & done; wait"]
# Writes down each signal and ends on it; uses all the CPU that it gets until the file exists.
COMMAND = """
echo begun >>{words}
trap 'echo told to end >>{words}; exit 143' TERM
until [ -e {go} ]; do :; done
echo done >>{words}
"""
WINDOW_S = 6
LINES = {"cpuEvictBESatisfactionLowerPercent": 30, "cpuEvictBESatisfactionUpperPercent": 50}  # the defaults of `tidemark up`


def config_map(lines: dict) -> str:
    """More is sold than exists: the job starts even if other programs keep the machine busy."""
    sells = {"enable": True, "cpuReclaimThresholdPercent": 300, "memoryReclaimThresholdPercent": 85, "metricReportIntervalSeconds": 2, "metricAggregateDurationSeconds": 10}
    holds = {"enable": True, "cpuSuppressThresholdPercent": 90, "cpuSuppressPolicy": "idle", "cpuEvictTimeWindowSeconds": WINDOW_S, "memoryEvictThresholdPercent": 100, **lines}
    orders = {"lsClass": {"cpuQOS": {"enable": True, "groupIdentity": 2}}, "beClass": {"cpuQOS": {"enable": True, "groupIdentity": -1}}}
    data = {"colocation-config": sells, "resource-threshold-config": {"clusterStrategy": holds}, "resource-qos-config": {"clusterStrategy": orders}}
    return json.dumps({"kind": "ConfigMap", "metadata": {"name": "slo-controller-config"}, "data": {key: json.dumps(value) for key, value in data.items()}})


class LocalStarved(LocalCase):
    def start(self, *more: str):
        if not (file := self.folder / "settings.yaml").exists():
            file.write_text(config_map({}))
        super().start("--settings", str(file), *more)

    def draw(self, lines: dict) -> None:
        fresh = self.folder / "settings.new"
        fresh.write_text(config_map(lines))
        fresh.rename(self.folder / "settings.yaml")

    def words(self) -> list[str]:
        return (self.folder / "words").read_text().splitlines() if (self.folder / "words").exists() else []

    def test_a_starved_job_is_evicted_waits_and_runs_again_to_its_end(self):
        wait_for(lambda: "kubernetes.io/batch-cpu" in self.get("node", "here")["status"]["allocatable"], "an offer", self.component)
        command = COMMAND.format(words=self.folder / "words", go=self.folder / "go")
        done = self.local("run", "--name=crunch", f"--cpu={CORES}", "--memory=32Mi", "--", "sh", "-c", command)
        self.assertEqual(0, done.returncode, done.stderr)
        wait_for(lambda: self.words() == ["begun"], "it runs", self.component)
        web = {"name": "main", "image": "local", "command": SPINNING, "resources": {"requests": {"cpu": "500m"}}}
        self.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"terminationGracePeriodSeconds": 1, "containers": [web]}})
        wait_for(lambda: self.phases().get("web") == "Running", "online work that uses all CPUs", self.component)

        self.draw(LINES)
        wait_for(lambda: self.words() == ["begun", "told to end"], "the job to get SIGTERM", self.component)
        wait_for(lambda: self.tasks()["crunch"]["state"] == "Requeued", "it waits again", self.component)
        told = json.loads(self.local("top", "--once", "-o", "json").stdout)["evicted"]
        self.assertRegex(told[0]["why"], r"far less CPU than it requested.*TM-EVICT-003", told)
        self.assertEqual("Running", self.phases()["web"])

        self.draw({})
        self.assertEqual(0, self.kubectl("delete", "pod", "web").returncode)
        (self.folder / "go").touch()
        wait_for(lambda: self.tasks()["crunch"]["state"] == "Succeeded", "the job to succeed", self.component)
        self.assertEqual(["begun", "told to end", "begun", "done"], self.words())
        status = self.get("job", "crunch")["status"]
        self.assertEqual((1, 0), (status.get("succeeded"), status.get("failed", 0)), status)


if __name__ == "__main__":
    unittest.main()
