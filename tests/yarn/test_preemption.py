"""Evictions on a node that a kubelet and a NodeManager share, with YARN's operator: the ResourceManager itself ends the container, so its application
counts no failure. If the operator is silent the container is terminated like any other task."""

import json
import os
import signal
import sys
import time
import unittest

from cluster.tidemark_process import wait_for
from support.yarn import until
from yarn.preempting import ANSWER, WithOperator
from yarn.sharing import API, GRACE_S, MASTER_MIB, TASK_MIB, TERMINATED, offline, tearDownModule  # noqa: F401

ALONE = "evicts by the memory in use on the machine, which must be steady"

PREEMPTED = -102
ENDED = "tidemark.io/ended-tasks"
ANSWER_LIMIT_S = 3  # docs/guide/yarn.md: after that the copilot stops it
HOLD_BACK_S = 30  # the default is a minute
POD_MIB = 300


class Preemption(WithOperator):
    # One list for both sides: work without a class, such as YARN's here, goes first. tests/long/test_night.py shows the opposite.
    WORKS = [*WithOperator.WORKS, offline("transcode", "transcode", POD_MIB)]

    @classmethod
    def more_flags(cls) -> list[str]:
        return [*super().more_flags(), f"--yarn-hold-back={HOLD_BACK_S}s"]

    def shown(self) -> list[dict]:
        """The agent's report of ended containers."""
        return json.loads(self.annotations().get(ENDED, '{"ends":[]}'))["ends"]

    def evicted(self, of: str) -> int:
        return sum(each.get("evicted", 0) for each in self.shown() if each.get("job") == f"yarn/{of}")

    def test_the_newest_container_goes_and_its_master_sees_a_preemption(self):
        master, tasks = self.hold_memory(3)
        job = self.yarn.jobs[-1]
        manager = self.start_manager()
        agents = 'tidemark_tasks_ended_total{class="unnamed",pool="default",reason="agent"}'
        self.assertEqual(0, manager.metrics().get('tidemark_pool_breaker_phase{pool="default"}', 0))
        before = manager.metrics().get(agents, 0)  # earlier tests, which the node still reports
        begin = self.draw_until_one_goes(tasks)
        ended = time.time()
        ((told, grace_s),) = self.doors.graces()
        self.assertGreaterEqual(ended, told + grace_s)
        self.assertGreaterEqual(time.monotonic() - begin, GRACE_S, "it counts from the request")
        print(f"memory above its line: a container is gone {time.monotonic() - begin:.1f} s after the line was first drawn, by way of the ResourceManager, read by a test that looks every 50 ms", file=sys.stderr)
        self.all_have_ended()
        gone = sorted(set(tasks) - set(self.copilot.running()))
        self.assertEqual(tasks[-1:], gone, "one is enough, the newest")
        self.assertEqual({"web", "transcode"}, self.names())
        self.assertIn(master, self.copilot.running())
        self.assertEqual(PREEMPTED, job.wait_told(gone[0]).status)
        self.assertEqual((1, 0), (job.report()["numNonAMContainerPreempted"], job.report()["numAMContainerPreempted"]))
        self.assertEqual("TM-EVICT-022", self.loss_of(gone[0])["ended"])
        self.assertEqual(1, self.evictions("TM-EVICT-022"))
        answer = json.loads(self.annotations()[ANSWER])
        self.assertEqual(([gone[0]], []), (answer["gone"], answer["stayed"]))
        # The rest is held back, so that no new container takes its place at once.
        self.assertEqual(answer["keepMiB"], self.nm.total()[0])
        self.assertEqual(2 * TASK_MIB + MASTER_MIB, answer["keepMiB"])
        self.assertEqual(1, self.operator.metrics()["tidemark_yarn_operator_agent_preempted_total"])
        self.assertIn("TM-YARN-014", self.operator.log)
        # The manager gets it from the agent: the pool has one of one evictions, and the node backs off.
        wait_for(lambda: self.evicted(job.id) == 1, "a report of the agent", self.agent)
        wait_for(lambda: manager.metrics().get(agents) == before + 1, "one eviction in the manager's count", manager)
        wait_for(lambda: manager.metrics().get('tidemark_pool_breaker_phase{pool="default"}') == 1, "an open breaker", manager)
        backs_off = lambda: [each for each in API.get("/api/v1/namespaces/default/events").get("items", []) if (each["reason"], each["involvedObject"]["name"]) == ("TidemarkYarnBacksOff", self.node.name)]
        wait_for(backs_off, "a node that backs off", manager)
        # No total ends another container.
        until("the whole total is handed out again", lambda: self.nm.total() == (self.SITE.memory_mib, self.SITE.vcores))
        self.assertEqual(3, len(set(self.copilot.running()) & {master, *tasks}))

    def test_without_an_answer_of_the_operator_the_container_is_terminated(self):
        _, tasks = self.hold_memory(2)
        job = self.yarn.jobs[-1]
        os.kill(self.operator.process.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, self.operator.process.pid, signal.SIGCONT)
        begin = self.draw_until_one_goes(tasks)
        self.assertGreater(time.monotonic() - begin, ANSWER_LIMIT_S)
        self.all_have_ended()
        gone = sorted(set(tasks) - set(self.copilot.running()))
        self.assertEqual(TERMINATED, job.wait_told(gone[0]).status)
        self.assertEqual("TM-EVICT-015", self.loss_of(gone[0])["ended"])
        wait_for(lambda: self.evicted(job.id) == len(gone), "one report of each terminated container", self.agent)


if __name__ == "__main__":
    unittest.main()
