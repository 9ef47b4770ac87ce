"""A ResourceManager whose scheduler ignores vcores, which is Hadoop's default; and Hadoop's files that are wrong or change while the operator runs."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from cluster.tidemark_process import wait_for
from support.yarn import Yarn, until
from yarn.operating import NODE_ID, SITE, Operating, origin

DEFAULT = "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator"
IGNORING, AWAY = "tidemark_yarn_operator_clusters_ignoring_cpu", "tidemark_yarn_operator_clusters_away"
FILES_LIMIT_S = 20  # docs/guide/yarn.md: within ten seconds


class OperatorSettings(Operating):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.yarn = cls.enterClassContext(Yarn([SITE], capacity={"yarn.scheduler.capacity.resource-calculator": DEFAULT}))
        cls.nms = cls.yarn.nodes

    def setUp(self):
        super().setUp()
        self.put_node("yarn-0", {NODE_ID: self.nms[0].id, **origin(2000, SITE.memory_mib)})

    def doctor(self, folder: Path | None = None) -> subprocess.CompletedProcess:
        words = ["doctor", "yarn", "--hadoop-conf-dir", str(folder or self.yarn.configuration), "-o", "json"]
        return subprocess.run([os.environ["TIDEMARK_BINARY"], *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

    def test_a_scheduler_that_ignores_vcores_is_reported(self):
        operator = self.begin()
        self.wait_total(0, SITE.memory_mib, 2, operator)
        self.assertEqual(0, operator.metrics()[IGNORING])
        job = self.yarn.submit("sleep 1000", containers=3, memory_mib=256, master_memory_mib=256)
        self.addCleanup(job.end)
        until("four vcores are used of two", lambda: self.nms[0].seen()["usedVirtualCores"] == 4)
        wait_for(lambda: operator.metrics()[IGNORING] == 1, "a cluster that ignores CPU", operator)
        self.assertRegex(operator.log, "ignores vcores.*DominantResourceCalculator")
        done = self.doctor()
        self.assertEqual(1, done.returncode, done.stdout + done.stderr)
        self.assertEqual(("bad", "vcores"), next((each["severity"], each["what"]) for each in json.loads(done.stdout)["findings"] if each["severity"] == "bad"))

    def test_memory_per_vcore_limits_memory_by_cpu(self):
        self.wait_total(0, 1024, 2, self.begin("--memory-per-vcore=512"))

    def test_an_invalid_file_stops_only_its_own_cluster_and_files_are_read_again(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-hadoop-")))
        shutil.copytree(self.yarn.configuration, folder, dirs_exist_ok=True)
        blue = folder / "blue.yarn-site.xml"
        blue.write_text("<configuration>")
        operator = self.begin(configuration=folder)
        self.wait_total(0, SITE.memory_mib, 2, operator)
        self.assertEqual(1, operator.metrics()[AWAY])
        self.assertIn("blue.yarn-site.xml:1: no element found", operator.log)
        self.assertIn("blue.yarn-site.xml:1: no element found", self.doctor(folder).stdout)
        blue.unlink()
        wait_for(lambda: "Hadoop's files changed" in operator.log, "a new reading", operator, FILES_LIMIT_S)
        self.annotate("yarn-0", origin(1000, 1024))
        self.wait_total(0, 1024, 1, operator)


if __name__ == "__main__":
    unittest.main()
