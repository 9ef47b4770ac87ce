"""Timeliness inside YARN, with its operator: of a transcode container and a newer, more timely Spark container on one node, which one an eviction ends, and what its
application sees. A ResourceManager preempts the newest container, whatever is asked of it, and no other request to it ends a container without a failure."""

import sys
import time
import unittest

from cluster.tidemark_process import wait_for
from yarn.preempting import WithOperator
from yarn.sharing import HELD_MIB, MASTER_MIB, TASK_MIB, TERMINATED, holds, tearDownModule  # noqa: F401
from yarn.test_shared_node import QUEUES

ALONE = "evicts by the memory in use on the machine, which must be steady"

PREEMPTED = -102


class ClassOrder(WithOperator):
    QUEUES = QUEUES
    YARN_SITE = {"yarn.nodemanager.resource.memory.enforced": "false"}  # a container may use more than YARN allocated to it

    @classmethod
    def copilot_flags(cls) -> list[str]:
        return [f"--hadoop-conf-dir={cls.yarn.configuration}", "--queue-class=spark=spark", "--queue-class=transcode=transcode"]

    def start_both(self, transcode_mib: int = HELD_MIB) -> None:
        self.jobs = {}
        self.containers = {name: self.start_one(name, mib) for name, mib in (("transcode", transcode_mib), ("spark", HELD_MIB))}

    def start_one(self, name: str, mib: int) -> str:
        """The container of a job in the queue of that class, which holds its memory."""
        job = self.jobs[name] = self.yarn.submit(holds(mib), memory_mib=TASK_MIB, master_memory_mib=MASTER_MIB, queue=name)
        self.addCleanup(job.end)
        its = lambda: [container for container, each in self.copilot.running().items() if each["application"] == job.id and not each["master"]]
        (container,) = wait_for(its, f"a container in the queue {name}", self.copilot)
        wait_for(lambda: self.held(container) >= mib << 20, "memory in use", self.copilot)
        return container

    def status(self, name: str) -> int:
        """As its master sees it."""
        return self.jobs[name].wait_told(self.containers[name]).status

    def evicted(self) -> str:
        """The class of the container that an eviction ends."""
        wait_for(lambda: self.known() == 4, "an agent that knows them", self.agent)
        begin = self.draw_until_one_goes(list(self.containers.values()))
        took = time.monotonic() - begin
        self.all_have_ended()
        (name,) = [name for name, container in self.containers.items() if container not in self.copilot.running()]
        print(f"{self.id().rsplit('.', 1)[-1]}: {name} ended with exit status {self.status(name)} after {took:.1f} s", file=sys.stderr)
        return name

    def test_by_class_the_older_transcode_goes_and_counts_a_failure(self):
        self.start_both()
        self.assertEqual("transcode", self.evicted())
        self.assertEqual(TERMINATED, self.status("transcode"))

    def test_by_preemption_the_newer_spark_goes_and_counts_none(self):
        self.start_both()
        self.order_by_preemption()
        self.assertEqual("spark", self.evicted())
        self.assertEqual(PREEMPTED, self.status("spark"))

    def test_memory_pressure_ends_the_older_container_that_causes_it(self):
        self.start_both(TASK_MIB + HELD_MIB)
        self.order_by_preemption()
        self.assertEqual("transcode", self.evicted())
        self.assertEqual(TERMINATED, self.status("transcode"))

    def order_by_preemption(self) -> None:
        self.addCleanup(self.say, {}, yarn=None)
        self.say({}, yarn="preempt")

    def test_a_signal_by_the_resource_manager_counts_a_failure(self):
        """It ends the chosen container, but as its NodeManager sees it: by a signal."""
        self.start_both()
        answer = self.yarn.rm.ask(f"/ws/v1/cluster/containers/{self.containers['transcode']}/signal/GRACEFUL_SHUTDOWN?user.name=root", "POST")
        self.assertEqual(200, answer.status)
        self.assertEqual(TERMINATED, self.status("transcode"))


if __name__ == "__main__":
    unittest.main()
