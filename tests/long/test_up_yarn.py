"""./dev up --yarn: a ResourceManager and a NodeManager in the idle part of this machine, a job of theirs, `tidemark off` that evicts it and `on` that restores it; and no residue after
Ctrl-C and after kill -9."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from driver.paths import ROOT
from demo.samples import Api
from support.node import cgroups
from support.yarn import leftovers

UP_WITHIN_S, GONE_WITHIN_S = 600, 120
SETTINGS = "/api/v1/namespaces/koordinator-system/configmaps/slo-controller-config"
# Works on a busy machine: three times its size is sold, nothing is limited, and offline work has no lower priority.
ROOM = {
    "colocation-config": {"enable": True, "cpuReclaimThresholdPercent": 300, "memoryReclaimThresholdPercent": 85, "metricReportIntervalSeconds": 5, "metricAggregateDurationSeconds": 30},
    "resource-threshold-config": {"clusterStrategy": {"enable": False}},
}


@unittest.skipUnless(os.geteuid() == 0 and cgroups.writable(), "cannot create cgroups here")
@unittest.skipUnless("TIDEMARK_JAVA" in os.environ, "cannot start YARN here")
class UpYarn(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-test-")))
        self.data = self.folder / "up"
        self.arguments = [str(ROOT / "dev"), "up", "--yarn", "--data-dir", str(self.data), "--seconds=2"]
        self.addCleanup(lambda: self.run_here([*self.arguments, "--stop"]))

    def run_here(self, words: list[str]) -> subprocess.CompletedProcess:
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=GONE_WITHIN_S)

    def tidemark(self, *words: str) -> str:
        done = self.run_here([os.environ["TIDEMARK_BINARY"], *words, f"--kubeconfig={self.data / 'kubeconfig'}"])
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def start(self) -> subprocess.Popen:
        self.log = self.folder / "log"
        with open(self.log, "w") as log:
            child = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.child = child
        self.wait(self.settings_are_there, "settings")
        Api(self.data / "kubeconfig").must("PATCH", SETTINGS, {"data": {key: json.dumps(value) for key, value in ROOM.items()}}, "application/merge-patch+json")
        self.wait(lambda: "up until Ctrl-C" in self.log.read_text(), "up")
        self.groups = (self.data / "groups").read_text().split()
        self.yarn = Path(re.search(rf"{leftovers.PLACE}/{leftovers.PREFIX}[^/<]+", (self.data / "hadoop-conf/yarn-site.xml").read_text())[0])  # other runs may have one too
        return child

    def settings_are_there(self) -> bool:
        try:
            return Api(self.data / "kubeconfig").call("GET", SETTINGS)[0] == 200
        except OSError:  # it does not listen yet
            return False

    def wait(self, condition, what: str):
        deadline = time.monotonic() + UP_WITHIN_S
        while not condition():
            self.assertIsNone(self.child.poll(), f"{what}:\n{self.log.read_text()}")
            self.assertLess(time.monotonic(), deadline, f"{what}:\n{self.log.read_text()}")
            time.sleep(0.1)

    def assert_nothing_left(self):
        self.assertEqual([], [str(folder) for name in self.groups for folder in cgroups.there(name)])
        self.assertEqual([], [file.name for file in self.data.iterdir() if file.name != "colocation.svg"] if self.data.exists() else [])
        self.assertEqual({}, leftovers.processes_of(self.yarn))
        self.assertFalse(self.yarn.exists())

    def test_yarn_gets_the_idle_part_is_reclaimed_and_goes(self):
        child = self.start()
        text = self.log.read_text()
        self.assertRegex(text, r"YARN hands out \d+ MiB and \d+ vcores of 50 millicores")
        self.assertRegex(text, r"(?m)^container_\S+ +master .*\n^container_\S+ +task .*\n^container_\S+ +task ")
        self.assertIn("YARN gets the manager's offer on this node [TM-YARN-003]", text)
        self.assertIn("Pre-empted, by its ResourceManager's count: 2 of 2 tasks, 1 of 1 master.", text)
        # The restarted job is in the groups of this machine's offline work, and in its agent's report.
        containers = [folder for folder in cgroups.there(f"{self.groups[0]}/kubepods/besteffort/hadoop-yarn") if list(folder.glob("container_*"))]
        self.assertTrue(containers)
        node = re.search(r"explain yarn (\S+) ", text)[1]
        self.assertIn("its containers        3 hold 768 MiB and 3 vcores", self.tidemark("explain", "yarn", node, f"--hadoop-conf-dir={self.data / 'hadoop-conf'}", "--millicores-per-vcore=50"))
        metric = Api(self.data / "kubeconfig").must
        self.wait(lambda: any(each["name"] == "yarn" for each in metric("GET", f"/apis/slo.koordinator.sh/v1alpha1/nodemetrics/{node}")["status"].get("hostApplicationMetric", [])), "a report with YARN in it")
        child.send_signal(signal.SIGINT)
        self.assertEqual(0, child.wait(GONE_WITHIN_S), self.log.read_text())
        self.assert_nothing_left()

    def test_stop_removes_a_killed_run(self):
        child = self.start()
        child.kill()
        child.wait()
        self.assertTrue(leftovers.processes_of(self.yarn), "containers outlive their NodeManager")
        # Processes with only the named Hadoop files in their environment are not part of it.
        bystander = subprocess.Popen(["sleep", "1000"], env={**os.environ, "HADOOP_CONF_DIR": str(self.data / "hadoop-conf")})
        self.addCleanup(bystander.wait)
        self.addCleanup(bystander.kill)
        stopped = self.run_here([*self.arguments, "--stop"])
        self.assertEqual(0, stopped.returncode, stopped.stderr)
        self.assertIn("nothing of it is left", stopped.stderr)
        self.assertIsNone(bystander.poll())
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
