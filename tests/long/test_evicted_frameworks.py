"""A MapReduce and a Spark job of which the agent of a shared node evicts one container after the other, twenty of each."""

import os
import sys
import time
import unittest
from contextlib import suppress

if "TIDEMARK_JAVA" not in os.environ:
    raise unittest.SkipTest("no YARN can be made here: it wants Java and Maven")

from cluster.tidemark_process import wait_for
from support.yarn import ENDED, Totals, frameworks, until
from yarn.preempting import WithOperator
from yarn.sharing import tearDownModule, test_eviction  # noqa: F401

EVICTIONS = 20
MAPS = 3 * EVICTIONS
A_STEP = 0.022  # of the machine's memory: the line lies at what is used in whole percents, and the goal one below that
LIMIT_S = 900


class Frameworks(WithOperator):
    """With nothing set but sizes. Killed, a fifth map of one kind or a seventh executor would have ended them."""

    SITE = Totals(memory_mib=8192, vcores=12)
    YARN_SITE = frameworks.SHUFFLE

    @classmethod
    def more_flags(cls) -> list[str]:
        return [*super().more_flags(), "--yarn-hold-back=0s"]

    def evict_while_it_runs(self, job) -> float:
        """So many, a few in a step; only where those that work hold more than a step takes, so that no master has to go: the next one would ask for what the
        largest node has just then, and this is the only one. How many the ResourceManager has taken."""
        before = self.evictions("TM-EVICT-022")
        taken = lambda: self.evictions("TM-EVICT-022") - before
        a_step = int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * A_STEP)

        def one_step() -> bool:
            if taken() >= EVICTIONS or job.state in ENDED:
                return True
            held = 0
            for name, each in self.copilot.running().items():
                with suppress(OSError):  # it has ended
                    held += 0 if each["master"] else self.held(name)
            self.line(test_eviction.memory_percent() if held > a_step else test_eviction.OFF)
            time.sleep(0.5)  # the agent decides once a second
            return False

        wait_for(one_step, f"{EVICTIONS} evictions", self.agent, LIMIT_S)
        self.line(test_eviction.OFF)
        return taken()

    def check(self, job, evicted: int) -> None:
        report = job.wait_for("FINISHED", LIMIT_S)
        ended = f"ended as {report['finalStatus']} after {report['elapsedTime'] / 1000:.0f} s"
        print(f"{type(job).__name__}: {evicted:.0f} evictions, {report['numNonAMContainerPreempted']} containers pre-empted, {ended}", file=sys.stderr)
        self.assertEqual("SUCCEEDED", report["finalStatus"], job.tail())
        self.assertGreaterEqual(evicted, EVICTIONS)
        self.assertEqual([""], [each["blacklistedNodes"] for each in job.attempts()], "one attempt, and no node that it would not have")
        self.assertEqual(0, self.evictions("TM-EVICT-015"), "nobody was killed")
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
