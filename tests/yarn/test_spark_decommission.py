"""A Spark job whose settings use the grace of a stop: the executor moves its cached and shuffle blocks to the other one and ends before the deadline. The job computes nothing twice and counts no
failure."""

import re
import tempfile
import time
import unittest

from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from support.yarn import ENDED, Totals, Yarn, frameworks, until
from yarn.over_socket import Copilot

CONTAINER_MIB = 896  # 512 and Spark's overhead of 384
PARTITIONS = 8
GRACE_S = 30  # the agent's default
# docs/guide/yarn.md
SETTINGS = {
    "spark.decommission.enabled": "true", "spark.storage.decommission.enabled": "true", "spark.executor.decommission.signal": "TERM",
    "spark.storage.decommission.replicationReattemptInterval": "5s",
}
TEST = {"spark.scheduler.maxRegisteredResourcesWaitingTime": f"{PATIENCE_S}s", "spark.yarn.maxAppAttempts": "1"}  # no task starts before both executors are there


class SparkDecommission(unittest.TestCase):
    def setUp(self):
        # No room for a third executor, which could get the blocks.
        self.yarn = self.enterContext(Yarn([Totals(3 * CONTAINER_MIB, 4)]))
        self.copilot = Copilot(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-copilot-")), self.yarn.nodes[0].ports.web)
        self.addCleanup(self.copilot.stop)

    def start_job(self):
        ready, go = self.yarn.layout.scratch / "ready", self.yarn.layout.scratch / "go"
        job = frameworks.spark_program(self.yarn, "MovedBlocks", str(PARTITIONS), str(ready), str(go), more={**SETTINGS, **TEST})
        until("its blocks are there", lambda: ready.exists() or job.state in ENDED)
        self.assertTrue(ready.exists(), job.tail())
        executors = sorted(name for name, each in self.copilot.running().items() if not each["master"])
        self.assertEqual(2, len(executors))
        return job, go, executors[0]

    def executor_log(self, container: str) -> str:
        return next(self.yarn.nodes[0].container_logs.glob(f"*/{container}/stderr")).read_text()

    def test_a_stopped_executor_moves_its_blocks_and_ends_within_its_grace(self):
        job, go, executor = self.start_job()
        begin = time.monotonic()
        self.assertEqual(202, self.copilot.ask("POST", "/tidemark/v1/stop", {"containerID": executor, "graceSeconds": GRACE_S, "reason": "TM-EVICT-001"})[0])
        wait_for(lambda: executor not in self.copilot.running(), "the end of the executor", self.copilot)
        took = time.monotonic() - begin
        log = self.executor_log(executor)
        print(f"the executor ended {took:.1f} s after the stop")
        self.assertLess(took, GRACE_S, log[-3000:])
        self.assertIn("No running tasks, all blocks migrated, stopping.", log)
        self.assertIn("Finished decommissioning", log)
        self.assertTrue(re.search(r"Block rdd_\S+ migrated successfully", log), log[-3000:])
        self.assertTrue(re.search(r"Migrated migrate_shuffle_\S+ .*BlockManagerId", log), log[-3000:])
        until("its master knows", lambda: f"Completed container {executor}" in job.masters())
        go.touch()
        self.assertEqual("SUCCEEDED", job.wait_for("FINISHED")["finalStatus"], job.tail())
        self.assertRegex(job.masters(), rf"Completed container {executor} .*exit status: 0\)")
        self.assertEqual(set(), job.failed())
        self.assertNotIn("Lost task", job.masters())
        self.assertNotIn("a container was killed", self.copilot.log)


if __name__ == "__main__":
    unittest.main()
