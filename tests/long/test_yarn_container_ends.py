"""How containers end on a real ResourceManager and NodeManager, and what their master sees: the basis of all code that ends them. -102 does not count against an
application; an exit code of a process, 137 and 143 for signals, does. Answers of the Hadoop version in tests/support/yarn/pom.xml."""

import os
import re
import signal
import time
import unittest
from contextlib import suppress

from support.yarn import End, Job, Totals, Yarn, groups, until

SITE = Totals(memory_mib=8192, vcores=32)
MASTER_MIB, TASK_MIB = 256, 128
HEARTBEATS_S = 4  # four heartbeats of a master, and more of a node
GRACE_MS = 2000
LONG_MS = 600_000  # longer than any case
NEVER_MS = 2**31 - 1  # the longest possible timeout: 24 days
PREEMPTED = End(-102, "Container preempted by scheduler")
KILLED, TERMINATED = 128 + signal.SIGKILL, 128 + signal.SIGTERM


class WithContainers(unittest.TestCase):
    """A job whose containers do nothing. The cases end them one by one, so it has more than they end."""

    GROUPS: str | None = None
    COUNT = 12

    @classmethod
    def setUpClass(cls):
        cls.yarn = cls.enterClassContext(Yarn([SITE], groups=cls.GROUPS))
        cls.rm, cls.node = cls.yarn.rm, cls.yarn.nodes[0]
        cls.job = cls.start(cls.COUNT)

    @classmethod
    def start(cls, count: int) -> Job:
        job = cls.yarn.submit("sleep 1000", containers=count, memory_mib=TASK_MIB, master_memory_mib=MASTER_MIB)
        own = f"_{job.id.removeprefix('application_')}_"
        until("its containers run their commands", lambda: sum(len(cls.node.processes(each)) == 2 for each in cls.running() if own in each) == 1 + count)
        until("the master has returned the excess", cls.is_settled)
        return job

    @classmethod
    def is_settled(cls) -> bool:
        """The ResourceManager's allocations equal the running containers. It ends the newest allocation even if that has no process yet."""
        return cls.node.seen()["numContainers"] == len(cls.running())

    def setUp(self):
        self.addCleanup(self.restore_total)

    def restore_total(self) -> None:
        """The whole total, with a timeout that clears the one of a case."""
        self.set_total(SITE.memory_mib, SITE.vcores, NEVER_MS)
        until("what has ended is off the books", self.is_settled)

    def set_total(self, memory_mib: int, vcores: int, over_commit_ms: int = -1) -> None:
        self.assertEqual(200, self.rm.update_total(self.node.id, memory_mib, vcores, over_commit_ms).status)
        until(f"{memory_mib} MiB and {vcores} cores", lambda: self.node.total() == (memory_mib, vcores))

    def lower_total(self, over_commit_ms: int = -1) -> str:
        """Lowers the total until one container must go; returns that one: the newest."""
        newest = self.tasks()[-1]  # read first: it may end at once
        self.set_total(self.node.seen()["usedMemoryMB"] - TASK_MIB, SITE.vcores, over_commit_ms)
        return newest

    @classmethod
    def running(cls) -> list[str]:
        """Oldest first."""
        return sorted(container["id"] for container in cls.node.containers() if container["state"] == "RUNNING")

    def tasks(self) -> list[str]:
        return [container for container in self.running() if not container.endswith("_000001")]

    def grace_ms(self) -> int:
        """A timeout that is long enough for a test's steps, measured by a change of a total here."""
        began = time.monotonic()
        self.set_total(SITE.memory_mib, SITE.vcores - 1)
        self.set_total(SITE.memory_mib, SITE.vcores)
        return max(GRACE_MS, int(5000 * (time.monotonic() - began)))

    def kill(self, container: str) -> None:
        """Kills all of it, as a kill of its group does."""
        self.end_all(self.node.processes(container))

    @staticmethod
    def end_all(processes: set[int]) -> None:
        for pid in processes:
            with suppress(ProcessLookupError):  # a shell may end with its child
                os.kill(pid, signal.SIGKILL)

    def preempted(self) -> int:
        return self.job.report()["numNonAMContainerPreempted"]

    def assert_stays(self, running: list[str], after_ms: int = 0) -> None:
        time.sleep(HEARTBEATS_S + after_ms / 1000)
        self.assertEqual(running, self.running())


class Signals:
    """Under either executor."""

    def test_one_whose_processes_are_killed_ends_with_137(self):
        container, before = self.tasks()[0], self.preempted()
        self.kill(container)
        end = self.job.wait_told(container)
        self.assertEqual((KILLED, before), (end.status, self.preempted()))
        # The NodeManager may append messages of its own clean-up.
        self.assertRegex(end.diagnostics, r"(?s)Container killed on request. Exit code is 137.*Killed by external signal")

    def test_one_whose_first_process_is_terminated_ends_with_143_whatever_is_left(self):
        """The node may kill the rest or not: its clean-up reads the pid file, which is removed at the end of the container. No program may rely on it."""
        container = self.tasks()[0]
        first = self.node.first_process(container)
        self.addCleanup(self.end_all, self.node.processes(container) - {first})
        os.kill(first, signal.SIGTERM)
        self.assertEqual(TERMINATED, self.job.wait_told(container).status)

    def test_a_total_lowered_with_timeout_0_takes_precedence_over_a_kill(self):
        """The ResourceManager has ended it, and ignores later reports: a kill only saves the time until the node acts."""
        before = self.preempted()
        container = self.lower_total(over_commit_ms=0)
        self.kill(container)
        self.assertEqual(PREEMPTED, self.job.wait_told(container))
        self.assertEqual(before + 1, self.preempted())

    def test_signals_through_the_resource_manager_are_reported_as_signals(self):
        for word, status, name in (("FORCEFUL_SHUTDOWN", KILLED, "SIGKILL"), ("GRACEFUL_SHUTDOWN", TERMINATED, "SIGTERM")):
            with self.subTest(word):
                container = self.tasks()[0]
                self.assertEqual(200, self.rm.ask(f"/ws/v1/cluster/containers/{container}/signal/{word}", "POST", {}).status)
                end = self.job.wait_told(container)
                self.assertEqual(status, end.status)
                self.assertIn(f"Sent signal {word} ({name}) to pid", end.diagnostics)


class Default(Signals, WithContainers):
    """DefaultContainerExecutor, and behavior of the ResourceManager alone."""

    def test_a_timeout_ends_the_newest_when_it_is_over(self):
        started = time.monotonic()
        container = self.lower_total(over_commit_ms=GRACE_MS)
        self.assertEqual(PREEMPTED, self.job.wait_told(container))
        self.assertGreaterEqual(time.monotonic() - started, GRACE_MS / 1000)

    def test_one_that_is_killed_within_the_timeout_is_reported_as_137(self):
        before, grace_ms = self.preempted(), self.grace_ms()
        container = self.lower_total(over_commit_ms=grace_ms)
        self.kill(container)
        self.assertEqual(KILLED, self.job.wait_told(container).status)
        self.assert_stays(self.running(), grace_ms - GRACE_MS)  # the rest fits
        self.assertEqual(before, self.preempted())

    def test_a_timeout_is_cut_short_by_timeout_0_only_with_another_total(self):
        container = self.lower_total(over_commit_ms=LONG_MS)
        memory, vcores = self.node.total()
        running = self.running()
        self.set_total(memory, vcores, over_commit_ms=0)
        self.assert_stays(running)  # the same total is no update
        self.set_total(memory, vcores + 1, over_commit_ms=0)
        self.kill(container)
        self.assertEqual(PREEMPTED, self.job.wait_told(container))
        until("only the newest has ended", lambda: self.running() == running[:-1])

    def test_returned_capacity_within_the_timeout_ends_no_container(self):
        grace_ms = self.grace_ms()
        running = self.running()
        self.lower_total(over_commit_ms=grace_ms)
        self.set_total(SITE.memory_mib, SITE.vcores)
        self.assert_stays(running, grace_ms - GRACE_MS)

    def test_a_timeout_remains_after_returned_capacity_until_another_replaces_it(self):
        """A timeout of -1 does not replace another."""
        self.lower_total(over_commit_ms=0)
        self.set_total(SITE.memory_mib, SITE.vcores)
        until("it is off the books", self.is_settled)
        container = self.lower_total()
        self.assertEqual(PREEMPTED, self.job.wait_told(container))
        self.restore_total()
        running = self.running()
        self.lower_total()
        self.assert_stays(running)
        self.assertEqual(-TASK_MIB, self.node.seen()["availMemoryMB"])


class Order(WithContainers):
    COUNT = 2

    def test_masters_go_last_and_the_newest_goes_first(self):
        (old_master, *old), _ = self.running(), self.start(2)
        new_master, *new = self.running()[3:]
        mark = len(self.rm.said())
        self.set_total(MASTER_MIB, SITE.vcores, over_commit_ms=0)
        ended = until("room for one master is made", lambda: self.ended_since(mark))
        self.assertEqual([*reversed(new), *reversed(old), new_master], ended[:5])
        self.assertNotIn(old_master, ended)

    def ended_since(self, mark: int) -> list[str] | None:
        found = re.findall(r"Send MARK_CONTAINER_FOR_KILLABLE to (container_\w+)", self.rm.said()[mark:])
        return found if len(found) >= 5 else None


class Forgetting(WithContainers):
    COUNT = 1

    def test_a_restarted_node_or_resource_manager_has_no_timeout(self):
        for server in (self.node, self.rm):
            with self.subTest(server.name):
                self.job.end()  # otherwise it restarts with the server, in the middle of the check
                until("no container runs", lambda: not self.running())
                self.set_total(SITE.memory_mib - 1, SITE.vcores, over_commit_ms=0)
                before = self.node.registrations()
                server.kill()
                server.start()
                self.node.wait_registered(before)
                self.set_total(SITE.memory_mib, SITE.vcores)
                type(self).job = self.start(1)
                running = self.running()
                self.lower_total()
                self.assert_stays(running)


@unittest.skipIf(groups.why_not(), groups.why_not())
class InGroups(Signals, WithContainers):
    """LinuxContainerExecutor."""

    GROUPS = "hadoop-yarn"
    COUNT = 8

    def test_one_that_is_frozen_is_reported_at_once_and_keeps_its_resources_until_thawed(self):
        container = self.tasks()[-1]
        processes = self.node.processes(container)
        frozen = self.yarn.groups.folder("freezer") / "frozen"
        frozen.mkdir()
        self.addCleanup(frozen.rmdir)
        self.addCleanup(lambda: until("no process is frozen", lambda: not groups.pids(frozen)))
        self.addCleanup(lambda: (frozen / "freezer.state").write_text("THAWED"))
        for pid in processes:
            (frozen / "cgroup.procs").write_text(str(pid))
        (frozen / "freezer.state").write_text("FROZEN")
        until("it is frozen", lambda: (frozen / "freezer.state").read_text().strip() == "FROZEN")
        used, running = self.node.seen()["usedMemoryMB"], self.running()
        self.assertEqual(container, self.lower_total(over_commit_ms=0))
        self.assertEqual(PREEMPTED, self.job.wait_told(container))
        until("the node ends it", lambda: self.state(container) == "KILLING")
        self.assert_stays(running[:-1])  # no other container must end for its resources
        self.assertEqual(("KILLING", [processes] * 2, used), (self.state(container), self.yarn.groups.processes(container), self.node.seen()["usedMemoryMB"]))
        (frozen / "freezer.state").write_text("THAWED")
        until("it is gone, with its groups", lambda: not groups.pids(frozen) and not self.yarn.groups.of(container))
        until("the ResourceManager has it back", lambda: self.node.seen()["usedMemoryMB"] == used - TASK_MIB)

    def state(self, container: str) -> str:
        return next((each["state"] for each in self.node.containers() if each["id"] == container), "")


if __name__ == "__main__":
    unittest.main()
