"""Koordinator's node agent → ours → Koordinator's, on a real node with pods: ours only observes beside it, takes over its limits, and restores
them. No pod ends, and online work is not touched.

The test plays Koordinator's part from the contract (koordlet.py); our agent is real.
"""

import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from cluster import colocation
from cluster.tidemark_process import wait_for
from node.koordlet import KOORDLET, PINNED, PROCESSORS, QUOTA, SHARED, SUPPRESSED_US, TOPOLOGIES, Koordlet
from node.protecting import QUOTA_FLOOR_US, ROOM, Protecting
from node.test_agent import API
from node.test_agent import tearDownModule  # noqa: F401
from support.node import cgroups
from support.patience import PATIENCE_S as LIMIT_S

# Writable files that are no settings: the processes of a cgroup, and counters that a write resets.
NO_SETTINGS = {"cgroup.procs", "cgroup.threads", "tasks", "cpuacct.usage", "memory.oom_control", "memory.shown_ram_in_bytes"}
COUNTERS = ("failcnt", "max_usage_in_bytes", ".pressure")
# By everything that readers use (contract 3.1).
REPORTED = {"updateTime", "nodeMetric", "podsMetric", "prodReclaimableMetric"}


class SwapWithKoordlet(Protecting):
    WORKS = [*Protecting.WORKS, PINNED, KOORDLET]
    maxDiff = None

    @classmethod
    def more_flags(cls) -> list[str]:
        return ["--peer-namespace=default"]  # the namespace of all pods of the test node

    def setUp(self):
        """A node that our agent never ran on: it starts in the case."""
        self.local("on")
        self.order("observe")  # cleanup after a failed case
        if self.agent.process.poll() is None:
            wait_for(lambda: self.in_all() == 0, "no limit of ours in force", self.agent, LIMIT_S)
        self.agent.stop()
        there = {pod["metadata"]["name"] for pod in self.node.pods()}
        self.node.run([work for work in self.WORKS if work.name not in there])
        self.order(None)
        shutil.rmtree(f"{self.state}/run")
        type(self).pods = self.node.pods()

    def koordlet_has_worked(self, policy: str) -> None:
        peer = Koordlet(self.node.cgroup, self.pods)
        peer.work(policy)
        peer.report(self.node.name)
        self.addCleanup(API.request, "DELETE", f"{TOPOLOGIES}/{self.node.name}")
        self.want(cpuSuppressPolicy=policy, **ROOM)
        self.found, self.running, self.objects = self.settings(), self.lives(), self.kept_objects()
        print(f"{len(self.found)} files in groups of {len(self.running)} pods are compared", file=sys.stderr)
        self.assertGreater(len(self.found), 100)

    # -- what is compared

    def settings(self) -> dict[str, str]:
        """Each writable file of each cgroup of the pods that stay, in every hierarchy. The kubelet rewrites the weights of its own three cgroups each minute:
        with the same values here, because koordlet's pod, the only one that comes and goes, is in none of the classes that change them."""
        found, koordlets = {}, next((pod["metadata"]["uid"] for pod in self.pods if pod["metadata"]["name"] == KOORDLET.name), "none")
        for top in cgroups.there(self.node.cgroup):
            for file in (top / "kubepods").rglob("*"):
                setting = file.is_file() and file.stat().st_mode & 0o400 and file.stat().st_mode & 0o200
                if not setting or file.name in NO_SETTINGS or file.name.endswith(COUNTERS) or koordlets in str(file):
                    continue
                found[str(file)] = file.read_text().strip()
        return found

    def changed(self) -> dict[str, tuple[str, str | None]]:
        now = self.settings()
        return {file: (self.found.get(file), now.get(file)) for file in {*self.found, *now} if self.found.get(file) != now.get(file)}

    def changed_outside(self, *parts: str) -> dict:
        return {file: values for file, values in self.changed().items() if not any(part in file for part in parts)}

    def lives(self) -> dict:
        return {name: life for name, life in super().lives().items() if name != KOORDLET.name}

    def kept_objects(self) -> dict:
        """Koordinator's objects about the node and its pods. The batch offer of the node belongs to a manager, which does not run here: an order removes it."""
        node = colocation.must(API.get(f"/api/v1/nodes/{self.node.name}")).json
        marks = {key: value for key, value in node["metadata"].get("annotations", {}).items() if not key.startswith("tidemark.io/") and key != colocation.ORIGIN}
        pods = {pod["metadata"]["name"]: (pod["metadata"].get("labels"), pod["metadata"].get("annotations")) for pod in self.node.pods() if pod["metadata"]["name"] != KOORDLET.name}
        topology = colocation.must(API.get(f"{TOPOLOGIES}/{self.node.name}")).json
        spec = colocation.must(API.get(f"{colocation.NODEMETRICS}/{self.node.name}")).get("spec")
        slo = colocation.must(API.get(f"{colocation.NODESLOS}/{self.node.name}")).get("spec")
        return {"annotations": marks, "pods": pods, "topology": topology, "spec": spec, "slo": slo}

    # -- agents that start and stop

    def in_all(self) -> float:
        return sum(value for name, value in self.agent.metrics().items() if name.startswith("tidemark_agent_files_in_force"))

    def ours_comes(self) -> None:
        type(self).agent = self.start()

    def ours_only_observes(self) -> None:
        def observes() -> bool:
            said = self.says()
            return said.get("pid") == self.agent.process.pid and said["peerPresent"] and {("restore", 0)} == {(each["permit"], each["inForce"]) for each in said["strategies"]}

        wait_for(observes, "detection of Koordinator's agent, and nothing in force", self.agent, LIMIT_S)

    def ours_has_written_nothing(self) -> None:
        shown = self.says()["at"]
        wait_for(lambda: self.says()["at"] > shown, "ten more seconds of passes", self.agent, LIMIT_S)
        self.assertEqual({}, self.changed())
        self.assertFalse([name for name, value in self.agent.metrics().items() if name.startswith("tidemark_agent_kernel_writes_total") and value])

    def koordlet_goes(self) -> None:
        self.node.end([KOORDLET.name])

    def koordlet_comes(self) -> None:
        self.node.run([KOORDLET])
        type(self).pods = self.node.pods()

    def ours_enforces(self) -> None:
        wait_for(lambda: self.in_force("cpuSuppress") > 0 and self.in_force("cpuPriority") > 0, "its own limits in force", self.agent, LIMIT_S)

    def ours_begins_anew(self) -> None:
        """An agent that never saw Koordinator's need not wait for it: agent/protect/protect_controller_test.cc tests the wait of six minutes."""
        self.assertEqual(0, self.agent.stop())
        self.ours_comes()

    def all_is_as_the_peer_left_it(self) -> None:
        wait_for(lambda: not self.changed(), "all original values", self.agent if self.agent.process.poll() is None else None, LIMIT_S)
        self.assertEqual(self.running, self.lives(), "no task ended")
        self.assertEqual(self.objects, self.kept_objects())

    # -- orders of a person

    def command(self, *words: str) -> subprocess.CompletedProcess:
        done = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], *words, "--reason=a test", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        )
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done

    def local(self, verb: str) -> dict:
        done = self.tidemark(verb, "--local", "--reason=a test", "-o", "json")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def besteffort_cpus(self) -> str:
        return (self.folder("cpuset", "besteffort") / "cpuset.cpus").read_text().strip()

    # -- the cases

    def test_koordinator_ours_koordinator_with_a_quota_for_offline_work(self):
        self.koordlet_has_worked(QUOTA)
        self.assertEqual(SUPPRESSED_US, self.quota())
        self.ours_comes()
        self.ours_only_observes()
        wait_for(lambda: self.condition().get("reason") == "PeerPresent", "condition PeerPresent", self.agent, LIMIT_S)
        self.ours_has_written_nothing()
        reported = self.status()["updateTime"]

        self.koordlet_goes()
        self.ours_begins_anew()
        self.ours_enforces()
        wait_for(lambda: self.quota() != SUPPRESSED_US, "our quota", self.agent, LIMIT_S)
        wait_for(lambda: self.condition().get("reason") == "Enforcing", "condition Enforcing", self.agent, LIMIT_S)
        self.assertEqual({}, self.changed_outside("/besteffort"), "online work is as Koordinator left it")

        self.command("off", "node", self.node.name, "--now")
        wait_for(self.held, "the least", self.agent, LIMIT_S)
        self.assertEqual({}, self.changed_outside("/besteffort"))
        self.command("on", "node", self.node.name)
        wait_for(lambda: self.quota() > QUOTA_FLOOR_US, "more than the minimum", self.agent, LIMIT_S)
        self.local("off")
        self.assertTrue(self.held())
        self.local("on")
        self.ours_enforces()
        self.assertEqual(self.running, self.lives(), "no task ended")

        self.koordlet_comes()
        self.ours_only_observes()
        self.all_is_as_the_peer_left_it()
        status = self.report(lambda status: status["updateTime"] != reported and self.running.keys() <= {each["name"] for each in status["podsMetric"]}, "a report of ours")
        self.assertLessEqual(REPORTED, status.keys(), "the fields that Koordinator's manager reads")
        self.assertLessEqual({"cpu", "memory"}, status["nodeMetric"]["nodeUsage"]["resources"].keys())
        self.assertNotEqual("345m", status["nodeMetric"]["nodeUsage"]["resources"]["cpu"], "Koordinator's report is replaced completely")
        self.assertEqual(0, self.agent.stop())
        self.all_is_as_the_peer_left_it()

    def test_koordinator_ours_koordinator_with_some_cpus_for_offline_work(self):
        self.koordlet_has_worked(PROCESSORS)
        self.assertEqual(SHARED, self.besteffort_cpus())
        self.ours_comes()
        self.ours_only_observes()
        self.koordlet_goes()
        self.ours_begins_anew()
        self.ours_enforces()
        self.assertEqual({}, self.changed_outside("/besteffort"), "online work is as Koordinator left it")
        # Stop without a successor: in observe mode all values are restored, whatever runs.
        self.command("observe", "node", self.node.name)
        self.all_is_as_the_peer_left_it()
        self.assertEqual(0, self.in_all())
        self.command("on", "node", self.node.name)
        self.ours_enforces()
        self.koordlet_comes()
        self.ours_only_observes()
        self.all_is_as_the_peer_left_it()
        self.assertEqual(0, self.agent.stop())
        self.all_is_as_the_peer_left_it()

    def test_after_a_kill_and_local_off_koordinators_values_return(self):
        """Koordinator's values that cannot be restored while offline work runs are printed; the agent restores them later."""
        self.koordlet_has_worked(QUOTA)
        self.koordlet_goes()
        self.ours_comes()
        self.ours_enforces()
        wait_for(lambda: self.quota() != SUPPRESSED_US, "our quota", self.agent, LIMIT_S)
        self.agent.kill()
        seen = self.local("off")
        self.assertFalse(seen["agentRuns"])
        self.assertTrue(self.held(), "limited to the minimum")
        left = {(each["group"].rsplit("kubepods/", 1)[1], each["file"]): each["found"] for each in seen["left"]}
        self.assertEqual(str(SUPPRESSED_US), left[("besteffort", "cpu.cfs_quota_us")], seen)
        self.assertEqual({}, self.changed_outside("/besteffort"))
        self.assertEqual(self.running, self.lives())

        self.local("on")
        self.koordlet_comes()
        self.ours_comes()
        self.ours_only_observes()
        self.all_is_as_the_peer_left_it()


if __name__ == "__main__":
    unittest.main()
