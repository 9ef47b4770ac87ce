"""`off --evict` on a node that a kubelet and a NodeManager share: pods and YARN containers are gone in time, each file has its original value, and the proof says
so; also after the manager, the operator or the agent was killed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from cluster.colocation import MERGE, NODESLOS, must
from cluster.tidemark_process import wait_for
from yarn.operating import THIRD
from yarn.preempting import WithOperator
from yarn.sharing import API, LIMIT_S, ROOM, offline, tearDownModule  # noqa: F401

ALONE = "measures how soon everything offline is gone"

GRACE_S, MARGIN_S = 5, 10
SAYS_S = 10  # an agent reports that often; the command needs its report for the proof
QOS = {"spec": {"resourceQOSStrategy": {"beClass": {"cpuQOS": {"enable": True, "groupIdentity": -1}}}}}
REPORT_S = 120  # an agent reports another number of files after a minute
ALL_GONE = "1 of 1 node has offered 0, tasks 0, files 0"


class OffEvict(WithOperator):
    WORKS = [*WithOperator.WORKS, offline("batch", "batch", 50)]
    # As in a large cluster: the ResourceManager ends a container at a heartbeat, and its NodeManager kills it at the next one.
    # Only without an operator does a master fail, and a ResourceManager that knows no total of 0 would start it again here.
    YARN_SITE = {"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "2000", "yarn.resourcemanager.am.max-attempts": "1"}

    def setUp(self):
        super().setUp()
        self.addCleanup(self.forget_order)
        self.manager = self.start_manager()
        self.node.run([work for work in self.WORKS if work.name not in self.names()])
        self.master, self.tasks = self.start_job("sleep 1000", 2)
        wait_for(lambda: self.known() == 3, "an agent that knows them", self.agent, LIMIT_S)
        wait_for(self.held, "a report of what YARN holds", self.operator)
        must(API.request("PATCH", f"{NODESLOS}/{self.node.name}", QOS, content=MERGE))
        self.sell()
        wait_for(lambda: self.files() > 2, "files in force, of the pod and of the containers", self.agent, LIMIT_S)

    def sell(self, **more: int) -> None:
        self.say({**ROOM, "cpuSuppressPolicy": "cfsQuota"}, modes={"default": "enforce"}, **more)

    def held(self) -> bool:
        """The operator reports memory of YARN's containers. A report of an earlier test says 0."""
        found = json.loads(self.annotations().get(THIRD, "{}")).get("allocations", [])
        return any(each["resources"].get("kubernetes.io/batch-memory", "0") != "0" for each in found)

    def files(self) -> float:
        """Kernel files with a value of Tidemark. The scores of processes (oomOrder) end with them."""
        return sum(value for name, value in self.agent.metrics().items() if name.startswith("tidemark_agent_files_in_force{") and "oomOrder" not in name)

    def forget_order(self) -> None:
        must(API.request("PATCH", f"/api/v1/nodes/{self.node.name}", {"metadata": {"labels": {"tidemark.io/state": None}, "annotations": {"tidemark.io/state-detail": None}}}, content=MERGE))

    def evict(self, *flags: str) -> subprocess.CompletedProcess:
        words = ["off", "node", self.node.name, "--evict", "--grace", f"{GRACE_S}s", "--yes", "--reason", "a test", *flags]
        began = time.monotonic()
        command = [os.environ["TIDEMARK_BINARY"], *words, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]]
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.kill)
        wait_for(lambda: {"web"} == {pod["metadata"]["name"] for pod in self.node.pods()} and not self.copilot.running(), "a node without offline work", self.copilot)
        self.gone = time.monotonic() - began
        out, err = child.communicate(timeout=LIMIT_S)
        self.took = time.monotonic() - began
        done = subprocess.CompletedProcess(command, child.returncode, out, err)
        print(f"{self.id().rsplit('.', 1)[-1]}: everything is gone after {self.gone:.1f} s, and the command ends after {self.took:.1f} s\n{done.stderr}{done.stdout}", file=sys.stderr)
        return done

    def left(self, done: subprocess.CompletedProcess) -> dict:
        self.assertEqual(1, done.returncode, done.stdout + done.stderr)
        (node,) = json.loads(done.stdout)["evict"]["nodesLeft"]
        return node

    def no_work_left(self) -> None:
        self.assertEqual({"web"}, self.names())
        self.assertEqual({}, self.copilot.running())
        self.assertLessEqual(self.gone, GRACE_S + MARGIN_S)

    def proven_in_time(self, done: subprocess.CompletedProcess) -> None:
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertGreaterEqual(self.took, GRACE_S, "the applications had the whole grace")
        self.assertLessEqual(self.took, GRACE_S + MARGIN_S + SAYS_S)
        self.no_work_left()
        self.assertIn(ALL_GONE, done.stdout)
        self.assertEqual(0, self.files())
        self.assertEqual(0, self.nm.total()[0])
        self.assertNotIn("TM-EVICT-025", self.agent.log, "the ResourceManager was enough")

    def test_everything_offline_is_gone_within_the_grace_and_ten_seconds(self):
        self.proven_in_time(self.evict())

    def test_so_it_is_after_the_manager_was_killed(self):
        os.kill(self.manager.process.pid, signal.SIGKILL)
        self.proven_in_time(self.evict())

    def test_without_an_agent_the_work_is_gone_and_the_next_agent_restores_the_files(self):
        self.agent.kill()
        try:
            done = self.evict("--wait", f"{GRACE_S + MARGIN_S}s", "-o", "json")
            self.no_work_left()
        finally:
            type(self).agent = self.start()
        left = self.left(done)
        self.assertEqual((0, 0, "unconfirmed"), (left["pods"], left["yarnMemoryBytes"], left["agent"]))
        done = self.evict()
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertIn(ALL_GONE, done.stdout)
        self.assertEqual(0, self.files())

    def report(self) -> str:
        """The agent's last one, in the condition of its node."""
        conditions = API.get(f"/api/v1/nodes/{self.node.name}")["status"]["conditions"]
        return next((each["message"] for each in conditions if each["type"] == "TidemarkIsolation"), "")

    def test_without_manager_and_agent_the_work_is_gone_and_the_files_are_named(self):
        wait_for(lambda: re.search(r"batchLimits: enforce \(\d+ files?\)", self.report()), "a report of files", self.agent, REPORT_S)
        os.kill(self.manager.process.pid, signal.SIGKILL)
        self.agent.kill()
        try:
            done = self.evict("--wait", f"{GRACE_S + MARGIN_S}s")
            self.no_work_left()
        finally:
            type(self).agent = self.start()
        self.assertEqual(1, done.returncode, done.stdout + done.stderr)
        self.assertIn("0 of 1 node has offered 0, tasks 0, files 0", done.stdout)
        self.assertRegex(done.stdout, rf"  {self.node.name}: offered 0, tasks 0, the agent has not confirmed; its last report is Enforcing: .*batchLimits: enforce \(\d+ files?\).*; `tidemark off --local` there restores without an agent")

    def test_without_an_operator_the_agent_ends_the_containers(self):
        self.sell(per_hour=1)  # does not apply to a person's order
        os.kill(self.operator.process.pid, signal.SIGKILL)
        done = self.evict("--wait", f"{GRACE_S + MARGIN_S}s", "-o", "json")
        self.no_work_left()
        left = self.left(done)
        self.assertGreater(left["yarnMemoryBytes"], 0, "the last report of an operator that is dead")
        self.assertIn("TM-EVICT-025", self.agent.log)
        wait_for(lambda: self.files() == 0, "original values", self.agent, LIMIT_S)


if __name__ == "__main__":
    unittest.main()
