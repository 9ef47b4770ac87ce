"""Evictions on a node that a kubelet and a NodeManager share, with YARN's operator: the ResourceManager itself ends the container, so that its application
counts no failure. Where the operator is silent the container is killed as before."""

import json
import os
import signal
import sys
import time
import unittest
from contextlib import suppress
from pathlib import Path

from cluster.colocation import MERGE, must
from cluster.tidemark_process import Component, wait_for
from support.yarn import ENDED, Totals, frameworks, until
from yarn.sharing import API, MASTER_MIB, TASK_MIB, OnASharedNode, tearDownModule, test_eviction  # noqa: F401
from yarn.test_operator import NODE_ID, origin

PREEMPTED, KILLED = -102, 137
TAKE_BACK, TAKEN_BACK = "tidemark.io/yarn-take-back", "tidemark.io/yarn-taken-back"
ANSWER_LIMIT_S = 3  # docs/guide/yarn-copilot.md: after that the copilot kills


class WithOperator(OnASharedNode):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.nm = cls.yarn.nodes[0]

    def setUp(self):
        super().setUp()
        self.annotate({NODE_ID: self.nm.id, **origin(1000 * self.SITE.vcores, self.SITE.memory_mib)})
        self.addCleanup(self.annotate, {NODE_ID: None, TAKE_BACK: None, TAKEN_BACK: None})
        self.operator = Component(
            "yarn-operator", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--hadoop-conf-dir", str(self.yarn.configuration), "--leader-elect=false",
            "--metrics-addr=127.0.0.1:0",
        )
        self.addCleanup(self.operator.stop)
        wait_for(lambda: TAKEN_BACK in self.annotations(), "an operator that says it hears", self.operator)

    def annotate(self, annotations: dict) -> None:
        must(API.request("PATCH", f"/api/v1/nodes/{self.node.name}", {"metadata": {"annotations": annotations}}, content=MERGE))

    def annotations(self) -> dict:
        return API.get(f"/api/v1/nodes/{self.node.name}")["metadata"]["annotations"]


class Preemption(WithOperator):
    def loss_of(self, container: str) -> dict:
        path = Path(self.state) / "learned/losses.jsonl"
        return wait_for(lambda: next((loss for each in path.read_text().splitlines() if (loss := json.loads(each))["name"] == container), None), "its loss", self.agent)

    def test_the_newest_goes_and_its_master_hears_of_a_pre_emption(self):
        master, tasks = self.hold_memory(3)
        job = self.yarn.jobs[-1]
        begin = self.draw_until_one_goes(tasks)
        print(f"memory above its line: a container is gone {time.monotonic() - begin:.1f} s after the line was first drawn, by way of the ResourceManager, read by a test that looks every 50 ms", file=sys.stderr)
        self.all_have_ended()
        gone = sorted(set(tasks) - set(self.copilot.running()))
        self.assertEqual(tasks[-1:], gone, "one is enough, and that is the newest")
        self.assertIn(master, self.copilot.running())
        self.assertEqual(PREEMPTED, job.wait_told(gone[0]).status)
        self.assertEqual((1, 0), (job.report()["numNonAMContainerPreempted"], job.report()["numAMContainerPreempted"]))
        self.assertEqual("TM-EVICT-022", self.loss_of(gone[0])["ended"])
        self.assertEqual(1, self.evictions("TM-EVICT-022"))
        answer = json.loads(self.annotations()[TAKEN_BACK])
        self.assertEqual(([gone[0]], []), (answer["gone"], answer["stayed"]))
        self.assertEqual(1, self.operator.metrics()["tidemark_yarn_operator_taken_back_total"])
        self.assertIn("TM-YARN-014", self.operator.log)
        # What is left is held back, so that nothing new comes in its place at once; nobody else ends by any total.
        self.assertEqual(answer["keepMiB"], self.nm.total()[0])
        self.assertEqual(2 * TASK_MIB + MASTER_MIB, answer["keepMiB"])
        until("all of it is handed out again", lambda: self.nm.total() == (self.SITE.memory_mib, self.SITE.vcores), 90)
        self.assertEqual(3, len(set(self.copilot.running()) & {master, *tasks}))

    def test_where_the_operator_is_silent_it_is_killed(self):
        _, tasks = self.hold_memory(2)
        job = self.yarn.jobs[-1]
        os.kill(self.operator.process.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, self.operator.process.pid, signal.SIGCONT)
        begin = self.draw_until_one_goes(tasks)
        self.assertGreater(time.monotonic() - begin, ANSWER_LIMIT_S)
        self.all_have_ended()
        gone = sorted(set(tasks) - set(self.copilot.running()))
        self.assertEqual(KILLED, job.wait_told(gone[0]).status)
        self.assertIn(self.loss_of(gone[0])["ended"], ("TM-EVICT-015", "TM-EVICT-018"))


class Frameworks(WithOperator):
    """With nothing set but sizes. Killed, a fifth map of one kind or a seventh executor would have ended them."""

    SITE = Totals(memory_mib=8192, vcores=8)
    YARN_SITE = frameworks.SHUFFLE
    EVICTIONS = 20

    @classmethod
    def more_flags(cls) -> list[str]:
        return [*super().more_flags(), "--yarn-hold-back=0s"]

    def evict_while_it_runs(self, job) -> float:
        """So many, a few in a step; only where those that work hold more than a step takes, so that no master has to go: the next one would ask for what the
        largest node has just then, and this is the only one. How many the ResourceManager has taken."""
        before = self.evictions("TM-EVICT-022")
        taken = lambda: self.evictions("TM-EVICT-022") - before
        a_step = int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 0.03)

        def one_step() -> bool:
            if taken() >= self.EVICTIONS or job.state in ENDED:
                return True
            held = 0
            for name, each in self.copilot.running().items():
                with suppress(OSError):  # it has ended
                    held += 0 if each["master"] else self.held(name)
            self.line(test_eviction.memory_percent() if held > a_step else test_eviction.OFF)
            time.sleep(0.5)  # the agent decides once a second
            return False

        wait_for(one_step, f"{self.EVICTIONS} evictions", self.agent, 240)
        self.line(test_eviction.OFF)
        return taken()

    def check(self, job, evicted: int) -> None:
        report = job.wait_for("FINISHED", 240)
        print(f"{type(job).__name__}: {evicted:.0f} evictions, {report['numNonAMContainerPreempted']} containers pre-empted, ended as {report['finalStatus']} after {report['elapsedTime'] / 1000:.0f} s", file=sys.stderr)
        self.assertEqual("SUCCEEDED", report["finalStatus"], job.tail())
        self.assertGreaterEqual(evicted, self.EVICTIONS)
        self.assertEqual([""], [each["blacklistedNodes"] for each in job.attempts()], "one attempt, and no node that it would not have")
        self.assertEqual(0, self.evictions("TM-EVICT-015"), "nobody was killed")
        self.assertEqual({"web"}, self.names())

    def test_map_reduce_finishes_after_twenty_evictions(self):
        job = frameworks.map_reduce(self.yarn, 60, 4, map_memory_mib=384)
        self.check(job, self.evict_while_it_runs(job))
        self.assertEqual(60, job.sum())
        until("its client knows", job.counters)
        self.assertEqual(None, job.counters().get("Failed map tasks"), job.counters())

    def test_spark_finishes_after_twenty_evictions(self):
        job = frameworks.spark(self.yarn, 120, 1, executors=6)
        self.check(job, self.evict_while_it_runs(job))
        self.assertEqual(set(), job.failed())


if __name__ == "__main__":
    unittest.main()
