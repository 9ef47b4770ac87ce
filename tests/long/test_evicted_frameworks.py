"""A MapReduce and a Spark job on four NodeManagers, one of them on a node of Kubernetes: its agent evicts their containers one after the other, twenty of each, with default settings except sizes."""

import os
import sys
import unittest
from pathlib import Path

if "TIDEMARK_JAVA" not in os.environ:
    raise unittest.SkipTest("cannot start YARN here: it needs Java and Maven")

from cluster.tidemark_process import wait_for
from support.yarn import ENDED, Job, Totals, frameworks, until
from yarn.preempting import WithOperator
from yarn.sharing import tearDownModule  # noqa: F401

EVICTIONS = 20
MAPS, TASKS = 24, 40  # more than fit
LIMIT_S = 1500  # after each few evictions nothing new starts on the node for a minute


class Frameworks(WithOperator):
    """Killed, a fifth map of one kind or a seventh executor would have ended the jobs, and three maps of one node would have excluded it (tests/long/test_yarn_frameworks.py)."""

    SITE = Totals(memory_mib=8192, vcores=12)
    OTHERS = [Totals(memory_mib=1024, vcores=2)] * 3  # always full: evicted tasks must return to the node
    YARN_SITE = frameworks.SHUFFLE

    def evict_while_it_runs(self, job: Job, gate: Path) -> float:
        """The number of evictions. It reads the master's list of nodes all the time, since at the end that is gone."""
        excluded: set[str] = set()

        def over() -> bool:
            excluded.update(job.excluded())
            return job.state in ENDED

        until("it works on the node", lambda: len(self.work()) >= 4, LIMIT_S)
        again = self.evicted_again()
        evicted = self.evict_some(EVICTIONS, over, LIMIT_S)
        before = self.work()
        wait_for(lambda: self.evicted_again() - again >= EVICTIONS - 1, "all except the first to count as repeated evictions of a job", self.agent, LIMIT_S)
        wait_for(lambda: self.work() - before, "new containers on the node afterwards", self.agent, LIMIT_S)
        over()
        gate.touch()
        self.assertEqual(set(), excluded)
        return evicted

    def evicted_again(self) -> float:
        return self.agent.metrics().get('tidemark_agent_evicted_again_total{class=""}', 0)

    def work(self) -> set[str]:
        """Containers of the node except masters."""
        return {name for name, each in self.copilot.running().items() if not each["master"]}

    def check(self, job: Job, evicted: float) -> None:
        report = job.wait_for("FINISHED", LIMIT_S)
        ended = f"ended as {report['finalStatus']} after {report['elapsedTime'] / 1000:.0f} s"
        print(f"{type(job).__name__}: {evicted:.0f} evictions, {report['numNonAMContainerPreempted']} containers pre-empted, {ended}", file=sys.stderr)
        self.assertEqual("SUCCEEDED", report["finalStatus"], job.tail())
        self.assertGreaterEqual(evicted, EVICTIONS)
        self.assertEqual(1, len(job.attempts()))
        self.assertEqual(0, self.evictions("TM-EVICT-015"), "no container was ended by its copilot")
        self.assertEqual({"web"}, self.names())

    def test_map_reduce_finishes_despite_evictions_of_its_maps(self):
        gate = self.yarn.layout.scratch / "maps"
        job = frameworks.map_reduce(self.yarn, MAPS, 1, map_memory_mib=384, until=gate)
        self.check(job, self.evict_while_it_runs(job, gate))
        self.assertEqual(MAPS, job.sum())
        until("its client knows", job.counters)
        self.assertEqual(None, job.counters().get("Failed map tasks"), job.counters())
        self.assertEqual({}, job.failures_by_host())

    def test_spark_finishes_despite_evictions_of_its_executors(self):
        gate = self.yarn.layout.scratch / "tasks"
        job = frameworks.spark(self.yarn, TASKS, 1, executors=9, until=gate)
        self.check(job, self.evict_while_it_runs(job, gate))
        self.assertEqual(set(), job.failed())


if __name__ == "__main__":
    unittest.main()
