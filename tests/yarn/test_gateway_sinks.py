"""A driver that is killed at each step of the commit of each sink, on two real sides: it runs as a pod of a real kubelet, the pod is evicted through the API, and the
job finishes on a real YARN. A driver that does not react to SIGTERM gets SIGKILL at the end of its grace."""

import os
import signal
import sys
import unittest
from pathlib import Path

from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from support.yarn import Totals
from yarn.sinks import CELLS, Cell
from yarn.two_sides_case import TwoSidesCase

CORES = 64  # each paused task holds one
LIMIT_S = 4 * PATIENCE_S
# The sink adds to what is there, and files of the first attempt are in place: rows come twice if a job declares this safe.
NOT_SAFE = {
    "append v1": ("two files of four in place", "before _SUCCESS", "after _SUCCESS"), "append v2": ("two tasks of four", "before _SUCCESS", "after _SUCCESS"),
    "iceberg append": ("after the snapshot",),
}


class Sinks(TwoSidesCase):
    JOBS = ("WrittenSinks", "PausingFileSystem")
    TOTALS = [Totals(memory_mib=4096, vcores=CORES + 1)]
    YARN_SITE = {"yarn.scheduler.maximum-allocation-vcores": str(CORES)}

    def post_cells(self, root: Path, cells: list[Cell], **conf: str) -> int:
        for cell in cells:
            cell.make(root)
        catalog = "spark.sql.catalog.default_iceberg"
        return self.ask("POST", "/batches", {
            "file": f"local://{self.jar}", "className": "WrittenSinks", "args": [str(root)], "name": "written sinks",
            "driverMemory": "512m", "executorMemory": "768m", "numExecutors": 1, "executorCores": CORES,
            "conf": {
                **self.conf(), "spark.kubernetes.executor.request.cores": "1", "spark.hadoop.fs.pausing.impl": "PausingFileSystem",
                catalog: "org.apache.iceberg.spark.SparkCatalog", f"{catalog}.type": "hadoop", f"{catalog}.warehouse": f"file://{root}-catalog",
                "spark.tidemark.side": "kubernetes", **{"spark.tidemark.rerunSafe": "true", **conf},
            },
        })["id"]

    def freeze(self, driver: dict) -> None:
        """The Java program of the driver handles no signal except SIGKILL from now on."""
        application = driver["metadata"]["labels"]["spark-app-selector"]
        found = [
            int(folder.name) for folder in Path("/proc").iterdir()
            if folder.name.isdigit() and f"SPARK_APPLICATION_ID={application}\0" in self.text_of(folder / "environ") and "deploy.SparkSubmit\0" in self.text_of(folder / "cmdline")
        ]
        self.assertEqual(1, len(found), "one driver process")
        os.kill(found[0], signal.SIGSTOP)

    @staticmethod
    def text_of(file: Path) -> str:
        try:
            return file.read_text(errors="replace")
        except OSError:
            return ""

    def kill_at_the_steps(self, root: Path, cells: list[Cell], **conf: str) -> int:
        """A run whose driver is evicted, and killed, when each sink is at its step."""
        self.begin()
        number = self.number = self.post_cells(root, cells, **conf)
        try:
            self.wait(lambda: all(cell.is_reached(root) for cell in cells), "each sink at its step", LIMIT_S)
        except AssertionError as error:
            raise AssertionError(f"not at its step: {[cell.name for cell in cells if not cell.is_reached(root)]}\n{error}")
        driver = self.driver_of(number)
        self.freeze(driver)
        self.evict(driver)
        return number

    def test_a_run_that_has_begun_to_commit_does_not_move(self):
        root = self.yarn.layout.scratch / "begun"
        cells = [cell for cell in CELLS if cell.step in NOT_SAFE.get(cell.sink, ())]
        outputs = [f"file://{root / cell.name / 'out'}" for cell in cells]
        number = self.kill_at_the_steps(root, cells, **{"spark.tidemark.rerunSafe": "before-commit", "spark.tidemark.outputs": ",".join(outputs)})
        batch = self.wait_ended(number)
        self.assertEqual(("dead", ["infrastructure"]), (batch["state"], [each["end"] for each in batch["attempts"]]), self.why())
        self.assertIn(f"does not move: it has begun to commit {', '.join(outputs)}", "\n".join(batch["log"]))

    def test_each_sink_has_each_row_once_after_a_kill_at_each_step_of_its_commit(self):
        root = self.yarn.layout.scratch / "sinks"
        number = self.kill_at_the_steps(root, CELLS)
        self.wait(lambda: self.batch(number)["attempts"][-1]["side"] == "yarn" and self.batch(number)["attempts"][-1]["handle"], "an application on YARN")
        self.assertEqual([], [pod["metadata"]["name"] for pod in self.pods_of("executor")], "the first attempt is gone before the second one begins")
        (root / "go").touch()
        wait_for(lambda: self.batch(number)["state"] in ("success", "dead", "killed"), "the end of the batch", self.gateway, LIMIT_S)
        batch = self.batch(number)
        self.assertEqual("success", batch["state"], self.why())
        self.assertEqual(["infrastructure", "succeeded"], [each["end"] for each in batch["attempts"]])
        for cell in CELLS:
            print(f"{cell.sink:20} {cell.step:28} {'once' if cell.has_each_row_once(root) else 'MORE'}  rows, distinct, old: {cell.counted(root)}", file=sys.stderr)
        for cell in CELLS:
            with self.subTest(f"{cell.sink}: {cell.step}"):
                self.assertEqual(cell.step not in NOT_SAFE.get(cell.sink, ()), cell.has_each_row_once(root), cell.counted(root))


if __name__ == "__main__":
    unittest.main()
