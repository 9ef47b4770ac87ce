"""Behavior of a real ResourceManager and NodeManager when the total of a node changes: our code for YARN depends on it. The answers are those of
the Hadoop version in tests/support/yarn/pom.xml; another version may differ, and then a case here fails."""

import os
import re
import signal
import time
import unittest

from support.yarn import Job, NotReady, Totals, Yarn, until
from yarn.recording_proxy import RecordingProxy

SITE = Totals(memory_mib=2048, vcores=4)
MASTER_MIB, TASK_MIB = 256, 256
HEARTBEATS_S = 4  # four heartbeats of a master, and more of a node
PREEMPTED = "exitStatus=-102, diagnostics=Container preempted by scheduler"
WAIT = "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms"
CONFIGURED_MAXIMUM = (8192, 8)
NEVER_MS = 2**31 - 1  # the operator's: docs/guide/yarn.md


def varint(value: int) -> bytes:
    return bytes([value & 0x7F | 0x80]) + varint(value >> 7) if value > 0x7F else bytes([value])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def may_be_preempted(container: str) -> bytes:
    """The bytes in the answer to a master that name one, by yarn_service_protos.proto and yarn_protos.proto: the field `container` of a PreemptionContractProto."""
    time_ms, application, attempt, number = map(int, re.fullmatch(r"container_(\d+)_(\d+)_(\d+)_(\d+)", container).groups())
    application_id = field(1, application) + field(2, time_ms)
    attempt_id = field(1, application_id) + field(2, attempt)
    return field(2, field(1, field(2, attempt_id) + field(3, number)))


class WithOneNode(unittest.TestCase):
    SITE_FILE = {"yarn.nodemanager.sleep-delay-before-sigkill.ms": "10000"}  # the default is 250 ms, too short for SIGTERM on a slow machine

    @classmethod
    def setUpClass(cls):
        cls.yarn = cls.enterClassContext(Yarn([SITE], site=cls.SITE_FILE))
        cls.rm, cls.node = cls.yarn.rm, cls.yarn.nodes[0]

    def setUp(self):
        self.addCleanup(self.set_total, SITE.memory_mib, SITE.vcores)

    def set_total(self, memory_mib: int, vcores: int, over_commit_ms: int = -1) -> None:
        self.assertEqual(200, self.rm.update_total(self.node.id, memory_mib, vcores, over_commit_ms).status)
        self.wait_for_total(memory_mib, vcores)

    def wait_for_total(self, memory_mib: int, vcores: int) -> None:
        until(f"{memory_mib} MiB and {vcores} cores at the ResourceManager", lambda: self.node.total() == (memory_mib, vcores))
        until(f"{memory_mib} MiB and {vcores} cores at the node", lambda: self.node.own_total() == (memory_mib, vcores))

    def maximum(self) -> tuple[int, int]:
        """The maximum of a container, as reported to a client and a master."""
        shown = self.rm.ask("/ws/v1/cluster/apps/new-application", "POST", {}).body["maximum-resource-capability"]
        return shown["memory"], shown["vCores"]

    def submit(self, command: str, containers: int = 1) -> Job:
        job = self.yarn.submit(command, containers=containers, memory_mib=TASK_MIB, master_memory_mib=MASTER_MIB)
        self.addCleanup(self.end, job)
        return job

    def end(self, job: Job) -> None:
        try:
            job.end()
        except NotReady:
            return  # never accepted
        until("nothing of it is on the node", lambda: self.node.seen()["usedMemoryMB"] == 0)

    def running(self) -> int:
        return sum(container["state"] == "RUNNING" for container in self.node.containers())

    def start_job(self, containers: int) -> Job:
        """Its containers do nothing on the node; the master's own is one more."""
        job = self.submit("sleep 1000", containers)
        # A NodeManager reports RUNNING before the process exists: a container ended then gets no signal.
        working = lambda: sum(len(self.node.processes(each["id"])) == 2 for each in self.node.containers() if each["state"] == "RUNNING")
        until(f"a master and {containers} containers run their commands", lambda: working() == containers + 1)
        # A master may get more than it asked for, and returns that with its next heartbeat.
        until("nothing else is on the node", lambda: self.node.seen()["usedMemoryMB"] == MASTER_MIB + containers * TASK_MIB)
        return job

    def kill_with_0(self, job: Job) -> None:
        """With its master; that is no failure of the job, and the master starts again."""
        self.set_total(0, 0, over_commit_ms=0)
        job.wait_for("ACCEPTED")
        until("nothing runs", lambda: self.running() == 0)
        report = self.wait_says(job, "Skipping AM assignment as cluster resource is empty")
        self.assertEqual((1, 1), (report["numNonAMContainerPreempted"], report["numAMContainerPreempted"]))
        first, second = job.attempts()
        self.assertEqual(("FAILED", "SCHEDULED"), (first["appAttemptState"], second["appAttemptState"]))
        self.assertIn(f"{first['appAttemptId']} with final state: FAILED, and exit status: -102", self.rm.said())
        self.assertIn("The number of failed attempts is 0.", self.rm.said())  # it counts against no retry limit

    @staticmethod
    def wait_says(job: Job, what: str) -> dict:
        """Waits for this text in its report: an application is accepted before its ResourceManager has looked for a place."""
        return until(f"{job.id} says `{what}`", lambda: what in (report := job.report())["diagnostics"] and report)

    def asks_for(self, job: Job) -> dict[str, int]:
        capability = job.report()["resourceRequests"][0]["capability"]
        return {name: capability[name] for name in ("memory", "vCores")}


class Node(WithOneNode):
    def test_it_registers_with_the_total_of_its_yarn_site(self):
        self.assertEqual((SITE.memory_mib, SITE.vcores), self.node.total())
        self.assertEqual((SITE.memory_mib, SITE.vcores), self.node.own_total())
        self.assertIn(f"with total resource of <memory:{SITE.memory_mib}, vCores:{SITE.vcores}>", self.node.said())

    def test_its_name_is_its_resolved_host_name(self):
        self.assertEqual(f"localhost:{self.node.ports.containers}", self.node.id)  # the configured address is 127.0.0.1

    def test_an_update_changes_the_total_and_reaches_the_node_with_its_next_heartbeat(self):
        answer = self.rm.update_total(self.node.id, 1000, 3)
        # The answer is no proof: it shows the old or the new value, depending on the scheduler's progress.
        self.assertIn(answer.body["resourceInfo"]["memory"], (SITE.memory_mib, 1000))
        self.assertEqual(200, answer.status)
        self.wait_for_total(1000, 3)

    def test_a_node_that_is_unknown_is_refused(self):
        self.assertEqual(404, self.rm.update_total("localhost:1", 1000, 3).status)

    def test_a_negative_total_is_accepted(self):
        """YARN accepts it: the program that computes a total must prevent it."""
        self.set_total(-1, -1)

    def test_one_that_restarts_has_the_total_of_its_yarn_site(self):
        for end in (self.node.kill, self.node.stop):
            with self.subTest(end.__name__):
                self.set_total(1000, 3)
                end()
                self.node.start()
                self.wait_for_total(SITE.memory_mib, SITE.vcores)

    def test_one_whose_resource_manager_restarts_keeps_its_total(self):
        """It registers again with its last total: the ResourceManager stores no state here."""
        self.set_total(1000, 3)
        before = self.node.registrations()
        self.rm.kill()
        self.rm.start()
        self.node.wait_registered(before)
        self.wait_for_total(1000, 3)


class Jobs(WithOneNode):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Until then the configured value counts as the maximum, whatever nodes have.
        until("the largest node is the maximum", lambda: cls.maximum(cls) == (SITE.memory_mib, SITE.vcores))

    def test_a_job_runs_to_its_end(self):
        job = self.submit("sleep 0.1", containers=2)
        self.assertEqual("SUCCEEDED", job.wait_for("FINISHED")["finalStatus"])
        self.assertIn("Max mem capability of resources in this cluster 2048", job.masters())

    def test_when_no_node_has_resources_a_job_is_refused(self):
        """It does not wait: the maximum of a container is the largest node, which has nothing."""
        self.set_total(0, 0)
        until("the largest node has nothing", lambda: self.maximum() == (0, 0))
        client = self.submit("sleep 0.1")
        self.assertRaisesRegex(NotReady, "Invalid memory specified for application master, exiting. Specified memory=0", lambda: client.id)
        new = self.rm.ask("/ws/v1/cluster/apps/new-application", "POST", {}).body["application-id"]
        refused = self.rm.ask("/ws/v1/cluster/apps", "POST", {
            "application-id": new, "application-name": "asked by REST", "application-type": "YARN", "resource": {"memory": MASTER_MIB, "vCores": 1},
            "am-container-spec": {"commands": {"command": "sleep 0.1"}},
        })
        self.assertEqual(400, refused.status, refused.text)
        self.assertIn("maximum allowed allocation=<memory:0, vCores:0>", refused.text)
        self.assertEqual(404, self.rm.ask(f"/ws/v1/cluster/apps/{new}").status)

    def test_lowering_a_total_below_the_use_without_a_timeout_kills_nothing(self):
        job = self.start_job(2)
        self.set_total(300, 1)
        time.sleep(HEARTBEATS_S)
        self.assertEqual((3, "RUNNING"), (self.running(), job.state))
        node = self.node.seen()
        self.assertEqual((300 - 768, 1 - 3), (node["availMemoryMB"], node["availableVirtualCores"]))

    def test_with_the_longest_timeout_no_container_ends_but_the_newests_master_is_warned(self):
        """Only the protocol shows it: the master of distributed shell ignores it."""
        scheduler = f">127.0.0.1:{self.rm.ports.scheduler}<"
        proxy = self.enterContext(RecordingProxy())
        site = self.yarn.configuration / "yarn-site.xml"  # masters use it too
        direct = site.read_text()
        self.assertIn(scheduler, direct)
        self.addCleanup(site.write_text, direct)
        site.write_text(direct.replace(scheduler, f">127.0.0.1:{proxy.to(self.rm.ports.scheduler)}<"))
        job = self.start_job(2)
        oldest, *_, newest = sorted(container["id"] for container in self.node.containers())
        self.assertNotIn(may_be_preempted(newest), proxy.recorded())
        self.set_total(MASTER_MIB + TASK_MIB, 2, over_commit_ms=NEVER_MS)
        until("its master reads it", lambda: may_be_preempted(newest) in proxy.recorded())
        time.sleep(HEARTBEATS_S)
        self.assertNotIn(may_be_preempted(oldest), proxy.recorded(), "the rest fits")
        self.assertEqual((3, "RUNNING"), (self.running(), job.state))

    def test_lowering_a_total_with_timeout_0_kills_the_newest_until_the_rest_fits(self):
        job = self.start_job(2)
        newest = max(container["id"] for container in self.node.containers())
        self.set_total(MASTER_MIB + TASK_MIB, 2, over_commit_ms=0)
        until("its master knows", lambda: f"containerID={newest}, state=COMPLETE, {PREEMPTED}" in job.masters())
        until("the container is gone from the node", lambda: self.running() == 2)
        report = job.report()
        self.assertEqual(("RUNNING", 1, 0), (report["state"], report["numNonAMContainerPreempted"], report["numAMContainerPreempted"]))
        self.assertEqual(0, self.node.seen()["availMemoryMB"])
        until("the node has ended it by SIGTERM", lambda: f"Exit code from container {newest} is : 143" in self.node.said())

    def test_timeout_0_kills_masters_too_and_a_retry_without_resources_stays_empty(self):
        """The second attempt is limited to the largest node at that time, which has nothing; it asks for nothing and gets nothing, whatever comes later."""
        job = self.start_job(1)
        self.kill_with_0(job)
        self.assertEqual({"memory": 0, "vCores": 0}, self.asks_for(job))
        self.set_total(SITE.memory_mib, SITE.vcores)
        time.sleep(HEARTBEATS_S)
        self.assertEqual(("ACCEPTED", 0), (job.state, self.running()))

    def test_a_master_that_asks_while_the_total_is_below_its_containers_ends_with_its_job(self):
        """Also without a timeout. A master's request is compared with the largest node whenever it changes, also when a container was allocated;
        the library of masters ends on the refusal."""
        self.set_total(MASTER_MIB + TASK_MIB, 2)
        job = self.submit("sleep 1000", containers=2)
        until("a master and one container run, and one waits", lambda: self.running() == 2)
        master = self.java_of(job)
        os.kill(master, signal.SIGSTOP)
        self.set_total(SITE.memory_mib, SITE.vcores)
        until("it gets the other one", lambda: self.node.seen()["usedMemoryMB"] == MASTER_MIB + 2 * TASK_MIB)
        self.set_total(0, 0)
        os.kill(master, signal.SIGCONT)
        report = job.wait_for("FINISHED")
        self.assertEqual("FAILED", report["finalStatus"])
        self.assertIn("maximum allowed allocation=<memory:0, vCores:0>", job.masters())

    def java_of(self, job: Job) -> int:
        return next(pid for pid, line in self.yarn.processes().items() if "distributedshell.ApplicationMaster" in line and "/bin/java " in line and "bash" not in line)


class RightAfterTheStart(WithOneNode):
    """For ten seconds, or here for the duration of the test, the ResourceManager waits for nodes to return."""

    SITE_FILE = {WAIT: "600000"}

    def test_submissions_wait_until_a_node_has_resources(self):
        self.set_total(0, 0)
        self.assertEqual(CONFIGURED_MAXIMUM, self.maximum())
        job = self.submit("sleep 0.1")
        job.wait_for("ACCEPTED")
        self.wait_says(job, "Skipping AM assignment as cluster resource is empty")
        time.sleep(HEARTBEATS_S)
        self.assertEqual(("ACCEPTED", 0), (job.state, self.running()))
        self.set_total(SITE.memory_mib, SITE.vcores)
        self.assertEqual("SUCCEEDED", job.wait_for("FINISHED")["finalStatus"])

    def test_masters_killed_by_timeout_0_start_again_when_resources_exist(self):
        job = self.start_job(1)
        self.kill_with_0(job)
        self.assertEqual({"memory": MASTER_MIB, "vCores": 1}, self.asks_for(job))
        self.set_total(SITE.memory_mib, SITE.vcores)
        until("it runs again", lambda: self.running() == 2)


if __name__ == "__main__":
    unittest.main()
