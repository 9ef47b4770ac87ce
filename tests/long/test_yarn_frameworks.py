"""What MapReduce and Spark, with default settings except sizes, do when containers end: the basis of evictions. The versions are those of
tests/support/yarn/pom.xml and tests/support/yarn/spark/pom.xml."""

import os
import signal
import time
import unittest
from contextlib import suppress
from pathlib import Path

from support.patience import PATIENCE_S as LIMIT_S
from support.yarn import Totals, Yarn, frameworks, until

AT_ONCE, NEVER_MS = 0, 2**31 - 1
TIMES = 4
EXCLUDED_AFTER = 3  # mapreduce.job.maxtaskfailures.per.tracker, the default
MAPS, TASKS = 10, 12


class WithFrameworks(unittest.TestCase):
    SITE: Totals  # of the node on which containers end
    OTHERS: list[Totals] = []

    @classmethod
    def setUpClass(cls):
        cls.yarn = cls.enterClassContext(Yarn([cls.SITE], site=frameworks.SHUFFLE, others=cls.OTHERS))
        cls.rm, cls.node = cls.yarn.rm, cls.yarn.nodes[0]

    def setUp(self):
        self.addCleanup(self.set_total, self.SITE.memory_mib, self.SITE.vcores, NEVER_MS)

    def set_total(self, memory_mib: int, vcores: int, over_commit_ms: int) -> None:
        self.assertEqual(200, self.rm.update_total(self.node.id, memory_mib, vcores, over_commit_ms).status)
        until(f"{memory_mib} MiB and {vcores} cores", lambda: self.node.total() == (memory_mib, vcores))

    def tasks(self) -> list[str]:
        """Containers of all jobs with processes, without masters."""
        return sorted(each["id"] for each in self.node.containers() if each["state"] == "RUNNING" and not each["id"].endswith("_000001") and self.node.processes(each["id"]))

    def preempt(self, job, count: int) -> None:
        """Ends at least this many, the newest first. The known use is a moment old when a cut arrives: sometimes one cut ends two containers, or none."""
        so_far = lambda: job.report()["numNonAMContainerPreempted"]
        while so_far() < count:
            until("two containers work", lambda: len(self.tasks()) >= 2, LIMIT_S)
            self.set_total(self.node.seen()["usedMemoryMB"] - 1, self.SITE.vcores + 1, AT_ONCE)
            self.set_total(self.SITE.memory_mib, self.SITE.vcores, NEVER_MS)
            time.sleep(2)  # time to work, and for new ones to start

    def kill(self, count: int) -> None:
        for _ in range(count):
            until("two containers work", lambda: len(self.tasks()) >= 2, LIMIT_S)
            for pid in self.node.processes(self.tasks()[-1]):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(2)

    def gate(self) -> Path:
        """The job lasts until its gate opens: the remaining work does not depend on the machine's speed."""
        return self.yarn.layout.scratch / f"gate-{len(self.yarn.jobs)}"


class Frameworks(WithFrameworks):
    SITE = Totals(memory_mib=4096, vcores=16)

    def test_a_preempted_map_is_run_again_and_counts_as_no_failure(self):
        gate = self.gate()
        job = frameworks.map_reduce(self.yarn, MAPS, 0, map_memory_mib=512, until=gate)
        self.preempt(job, TIMES)
        gate.touch()
        self.assertEqual("SUCCEEDED", job.wait_for("FINISHED", LIMIT_S)["finalStatus"])
        self.assertEqual(MAPS, job.sum())
        until("its client knows", job.counters)
        counters = job.counters()
        self.assertEqual(None, counters.get("Failed map tasks"), counters)
        self.assertGreaterEqual(counters["Killed map tasks"], 1, "of the started ones")
        self.assertGreaterEqual(job.report()["numNonAMContainerPreempted"], TIMES)

    def test_a_killed_map_counts_as_a_failure(self):
        """Four failures of one map end the job."""
        gate = self.gate()
        job = frameworks.map_reduce(self.yarn, MAPS, 0, map_memory_mib=512, until=gate)
        self.kill(1)
        gate.touch()
        self.assertEqual("SUCCEEDED", job.wait_for("FINISHED", LIMIT_S)["finalStatus"])
        until("its client knows", job.counters)
        self.assertEqual(1, job.counters()["Failed map tasks"])

    def test_a_preempted_executor_is_replaced_and_counts_as_no_failure(self):
        gate = self.gate()
        job = frameworks.spark(self.yarn, TASKS, 0, executors=3, until=gate)
        self.preempt(job, TIMES)
        gate.touch()
        self.assertEqual("SUCCEEDED", job.wait_for("FINISHED", LIMIT_S)["finalStatus"], job.tail())
        self.assertEqual(set(), job.failed(), job.tail())
        self.assertTrue(job.preempted())  # it gets no report about an allocated but unclaimed one

    def test_a_killed_executor_counts_as_a_failure(self):
        """Twice as many failures as executors end the application; so does a task that was on four of them."""
        gate = self.gate()
        job = frameworks.spark(self.yarn, TASKS, 0, executors=3, until=gate)
        self.kill(1)
        gate.touch()
        self.assertEqual("SUCCEEDED", job.wait_for("FINISHED", LIMIT_S)["finalStatus"], job.tail())
        self.assertEqual((0, 1), (len(job.preempted()), len(job.failed())), job.tail())


class SeveralNodes(WithFrameworks):
    """Whether a job still uses a node on which several of its maps ended. One of three nodes would be a third, and a MapReduce master never excludes so many."""

    SITE, OTHERS = Totals(1664, 4), [Totals(512, 1)] * 3

    def start_job(self):
        """More maps than fit, none of which ends before its gate opens; returns those that run here."""
        gate = self.gate()
        job = frameworks.map_reduce(self.yarn, MAPS, 0, map_memory_mib=384, until=gate)
        self.host = self.node.id.split(":")[0]
        return job, gate, until("three maps work here", lambda: len(found := set(self.tasks())) >= 3 and found, LIMIT_S)

    def test_killed_maps_exclude_their_node(self):
        """So the next killed map would do harm."""
        job, gate, _ = self.start_job()
        self.kill(EXCLUDED_AFTER)
        until("its master excludes that node", lambda: job.excluded() == {self.host}, LIMIT_S)
        self.assertEqual({self.host: EXCLUDED_AFTER}, job.failures_by_host())
        gate.touch()
        job.wait_for("FINISHED", LIMIT_S)

    def test_preempted_maps_do_not(self):
        job, gate, first = self.start_job()
        self.preempt(job, TIMES)
        until("new maps run here", lambda: set(self.tasks()) - first, LIMIT_S)
        self.assertEqual((set(), {}), (job.excluded(), job.failures_by_host()))
        gate.touch()
        self.assertEqual("SUCCEEDED", job.wait_for("FINISHED", LIMIT_S)["finalStatus"])


if __name__ == "__main__":
    unittest.main()
