"""A MapReduce and a Spark job of which the agent of a shared node evicts one container after the other, twenty of each."""

import os
import sys
import unittest

if "TIDEMARK_JAVA" not in os.environ:
    raise unittest.SkipTest("no YARN can be made here: it wants Java and Maven")

from support.yarn import ENDED, Totals, frameworks, until
from yarn.preempting import WithOperator
from yarn.sharing import tearDownModule  # noqa: F401

EVICTIONS = 20
MAPS = 3 * EVICTIONS
LIMIT_S = 900


class Frameworks(WithOperator):
    """With nothing set but sizes. Killed, a fifth map of one kind or a seventh executor would have ended them."""

    SITE = Totals(memory_mib=8192, vcores=12)
    YARN_SITE = frameworks.SHUFFLE

    @classmethod
    def more_flags(cls) -> list[str]:
        return [*super().more_flags(), "--yarn-hold-back=0s"]

    def evict_while_it_runs(self, job) -> float:
        return self.evict_some(EVICTIONS, lambda: job.state in ENDED, LIMIT_S)

    def check(self, job, evicted: int) -> None:
        report = job.wait_for("FINISHED", LIMIT_S)
        ended = f"ended as {report['finalStatus']} after {report['elapsedTime'] / 1000:.0f} s"
        print(f"{type(job).__name__}: {evicted:.0f} evictions, {report['numNonAMContainerPreempted']} containers pre-empted, {ended}", file=sys.stderr)
        self.assertEqual("SUCCEEDED", report["finalStatus"], job.tail())
        self.assertGreaterEqual(evicted, EVICTIONS)
        self.assertEqual([""], [each["blacklistedNodes"] for each in job.attempts()], "one attempt, and no node that it would not have")
        self.assertEqual(0, self.evictions("TM-EVICT-015"), "nobody was ended by his copilot")
        self.assertEqual({"web"}, self.names())

    def test_map_reduce_finishes_however_often_its_maps_are_evicted(self):
        job = frameworks.map_reduce(self.yarn, MAPS, 4, map_memory_mib=384)
        self.check(job, self.evict_while_it_runs(job))
        self.assertEqual(MAPS, job.sum())
        until("its client knows", job.counters)
        self.assertEqual(None, job.counters().get("Failed map tasks"), job.counters())

    def test_spark_finishes_however_often_its_executors_are_evicted(self):
        job = frameworks.spark(self.yarn, 24 * EVICTIONS, 1, executors=6)
        self.check(job, self.evict_while_it_runs(job))
        self.assertEqual(set(), job.failed())


if __name__ == "__main__":
    unittest.main()
