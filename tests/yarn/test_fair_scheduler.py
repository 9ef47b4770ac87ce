"""`tidemark yarn-operator` at a ResourceManager with Hadoop's FairScheduler: totals, vcores, held and pending amounts, and reclaims by an agent. All other tests use the CapacityScheduler,
the default of Hadoop."""

import json
import tempfile
import time
import unittest
from pathlib import Path

from cluster.tidemark_process import wait_for
from support.yarn import until
from yarn.asking_back import MASTER_MIB, PREEMPTED, TASK_MIB, TASKS, AskingBack
from yarn.operating import POLL_S, origin

BOOK = "tidemark.io/yarn-book"


class FairScheduler(AskingBack):
    @classmethod
    def setUpClass(cls):
        queues = Path(cls.enterClassContext(tempfile.TemporaryDirectory())) / "fair-scheduler.xml"
        queues.write_text('<allocations><queue name="default"/><queuePlacementPolicy><rule name="default"/></queuePlacementPolicy></allocations>\n')
        cls.YARN_SITE = {
            "yarn.resourcemanager.scheduler.class": "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler", "yarn.scheduler.fair.allocation.file": str(queues),
            "yarn.scheduler.increment-allocation-mb": "128",  # by default every container is a multiple of 1024
        }
        super().setUpClass()

    def test_a_cut_ends_no_container_and_an_agents_reclaim_is_preempted(self):
        operator, job = self.begin_with_a_job()
        self.wait_held("yarn-0", 1 + TASKS, MASTER_MIB + TASKS * TASK_MIB, operator)
        *rest, newest = self.running()
        self.cut_ends_none_of([*rest, newest], operator)
        wait_for(self.answer, "an operator that acknowledges", operator)
        self.ask_back(1, newest, 0)
        self.assertEqual(([newest], []), ((answer := self.wait_answer(1, operator))["gone"], answer["stayed"]))
        self.assertEqual(PREEMPTED, job.wait_told(newest))
        self.assertEqual((1, 0), (job.report()["numNonAMContainerPreempted"], job.report()["numAMContainerPreempted"]))
        until("the others run, and its place is held back", lambda: self.running() == rest)
        self.wait_total(0, 3072, 4, operator)
        self.cut_ends_none_of(rest, operator)  # although a timeout of 0 stays in force until it is reset

    def cut_ends_none_of(self, containers: list[str], operator) -> None:
        self.annotate("yarn-0", origin(4000, TASK_MIB))  # a master that asks for more than the largest node would end
        self.wait_total(0, TASK_MIB, 4, operator)
        time.sleep(3 * POLL_S)
        self.assertLessEqual(set(containers), set(self.running()))
        self.annotate("yarn-0", origin(4000, 3072))
        self.wait_total(0, 3072, 4, operator)

    def test_no_node_gets_more_vcores_than_it_has(self):
        """The default policy shares by memory, but a container starts only on a node that has its vcores. So no cluster of a FairScheduler ignores CPU."""
        self.annotate("yarn-0", origin(2000, 3072))
        self.wait_total(0, 3072, 2, self.begin())
        job = self.yarn.submit("sleep 1000", containers=TASKS, memory_mib=256, master_memory_mib=MASTER_MIB)
        self.addCleanup(job.end)
        until("the master and one container run", lambda: len(self.running()) == 2)
        time.sleep(3 * POLL_S)
        self.assertEqual(2, self.nms[0].seen()["usedVirtualCores"])

    def test_waiting_work_is_in_the_ledger(self):
        operator = self.begin()
        book = lambda: json.loads(self.annotation("yarn-0", BOOK) or "{}")
        wait_for(book, "a book", operator)
        self.assertNotIn("waiting", book())
        job = self.yarn.submit("sleep 1000", containers=4, memory_mib=1024, master_memory_mib=MASTER_MIB)
        self.addCleanup(job.end)
        wait_for(lambda: "waiting" in book(), "that work waits", operator)


if __name__ == "__main__":
    unittest.main()
