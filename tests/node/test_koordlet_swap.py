"""Koordinator's node agent → ours → Koordinator's, on a real node with pods on it: ours only observes beside it, takes over what it left, and gives it back
as it was. No pod ends for it, and nothing of online work is touched.

The peer's part is played from the contract (koordlet.py); ours is the real thing.
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

# Files that can be written and are no settings: who is in the group, and counters that a write sets back.
NO_SETTINGS = {"cgroup.procs", "cgroup.threads", "tasks", "cpuacct.usage", "memory.oom_control", "memory.shown_ram_in_bytes"}
COUNTERS = ("failcnt", "max_usage_in_bytes", ".pressure")
# By everything that is read from it (contract 3.1).
REPORTED = {"updateTime", "nodeMetric", "podsMetric", "prodReclaimableMetric"}


class SwapWithKoordlet(Protecting):
    WORKS = [*Protecting.WORKS, PINNED, KOORDLET]
    maxDiff = None

    @classmethod
    def more_flags(cls) -> list[str]:
        return ["--peer-namespace=default"]  # where all pods of the test node are

    def setUp(self):
        """A node that ours never saw: it comes in the case."""
        self.local("on")
        self.order("observe")  # whatever a case left that failed
        if self.agent.process.poll() is None:
            wait_for(lambda: self.in_all() == 0, "nothing of ours in force", self.agent, LIMIT_S)
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
        """Each file of each group of the pods that stay, in every hierarchy, that somebody could set. The kubelet writes the weights of its own three groups
        anew each minute: to the same values here, because koordlet's pod, the only one that comes and goes, is in none of the classes that move them."""
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
        """What the peer and its manager keep of the node and its pods. What the node offers of batch is a manager's, who is not here: an order takes it away."""
        node = colocation.must(API.get(f"/api/v1/nodes/{self.node.name}")).json
        marks = {key: value for key, value in node["metadata"].get("annotations", {}).items() if not key.startswith("tidemark.io/") and key != colocation.ORIGIN}
        pods = {pod["metadata"]["name"]: (pod["metadata"].get("labels"), pod["metadata"].get("annotations")) for pod in self.node.pods() if pod["metadata"]["name"] != KOORDLET.name}
        topology = colocation.must(API.get(f"{TOPOLOGIES}/{self.node.name}")).json
        spec = colocation.must(API.get(f"{colocation.NODEMETRICS}/{self.node.name}")).get("spec")
        slo = colocation.must(API.get(f"{colocation.NODESLOS}/{self.node.name}")).get("spec")
        return {"annotations": marks, "pods": pods, "topology": topology, "spec": spec, "slo": slo}

    # -- who comes and goes

    def in_all(self) -> float:
        return sum(value for name, value in self.agent.metrics().items() if name.startswith("tidemark_agent_files_in_force"))

    def ours_comes(self) -> None:
        type(self).agent = self.start()

    def ours_only_observes(self) -> None:
        def observes() -> bool:
            said = self.says()
            return said.get("pid") == self.agent.process.pid and said["peerPresent"] and {("observe", 0)} == {(each["stance"], each["inForce"]) for each in said["strategies"]}

        wait_for(observes, "word that the peer is there, and nothing in force", self.agent, LIMIT_S)

    def ours_has_written_nothing(self) -> None:
        shown = self.says()["at"]
        wait_for(lambda: self.says()["at"] > shown, "another ten seconds of its passes", self.agent, LIMIT_S)
        self.assertEqual({}, self.changed())
        self.assertFalse([name for name, value in self.agent.metrics().items() if name.startswith("tidemark_agent_kernel_writes_total") and value])

    def koordlet_goes(self) -> None:
        self.node.end([KOORDLET.name])

    def koordlet_comes(self) -> None:
        self.node.run([KOORDLET])
        type(self).pods = self.node.pods()

    def ours_enforces(self) -> None:
        wait_for(lambda: self.in_force("cpuSuppress") > 0 and self.in_force("cpuPriority") > 0, "its own word in force", self.agent, LIMIT_S)

    def ours_begins_anew(self) -> None:
        """One that never saw the peer need not wait for it: six minutes, which agent/protect/protect_controller_test.cc waits."""
        self.assertEqual(0, self.agent.stop())
        self.ours_comes()

    def all_is_as_the_peer_left_it(self) -> None:
        wait_for(lambda: not self.changed(), "every file as it was found", self.agent if self.agent.process.poll() is None else None, LIMIT_S)
        self.assertEqual(self.running, self.lives(), "nobody ended for it")
        self.assertEqual(self.objects, self.kept_objects())

    # -- orders, as a person gives them

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

    def test_peer_ours_peer_where_offline_work_has_a_quota(self):
        self.koordlet_has_worked(QUOTA)
        self.assertEqual(SUPPRESSED_US, self.quota())
        self.ours_comes()
        self.ours_only_observes()
        wait_for(lambda: self.condition().get("reason") == "PeerPresent", "a condition that says who is there", self.agent, LIMIT_S)
        self.ours_has_written_nothing()
        reported = self.status()["updateTime"]

        self.koordlet_goes()
        self.ours_begins_anew()
        self.ours_enforces()
        wait_for(lambda: self.quota() != SUPPRESSED_US, "a quota of its own", self.agent, LIMIT_S)
        wait_for(lambda: self.condition().get("reason") == "Enforcing", "a condition that says so", self.agent, LIMIT_S)
        self.assertEqual({}, self.changed_outside("/besteffort"), "online work is as the peer left it")

        self.command("off", "node", self.node.name, "--now")
        wait_for(self.held, "the least", self.agent, LIMIT_S)
        self.assertEqual({}, self.changed_outside("/besteffort"))
        self.command("on", "node", self.node.name)
        wait_for(lambda: self.quota() > QUOTA_FLOOR_US, "more than the least", self.agent, LIMIT_S)
        self.local("off")
        self.assertTrue(self.held())
        self.local("on")
        self.ours_enforces()
        self.assertEqual(self.running, self.lives(), "nobody ended for it")

        self.koordlet_comes()
        self.ours_only_observes()
        self.all_is_as_the_peer_left_it()
        status = self.report(lambda status: status["updateTime"] != reported and self.running.keys() <= {each["name"] for each in status["podsMetric"]}, "a report of ours")
        self.assertLessEqual(REPORTED, status.keys(), "what the peer's manager reads")
        self.assertLessEqual({"cpu", "memory"}, status["nodeMetric"]["nodeUsage"]["resources"].keys())
        self.assertNotEqual("345m", status["nodeMetric"]["nodeUsage"]["resources"]["cpu"], "the peer's is replaced whole")
        self.assertEqual(0, self.agent.stop())
        self.all_is_as_the_peer_left_it()

    def test_peer_ours_peer_where_offline_work_has_some_of_the_processors(self):
        self.koordlet_has_worked(PROCESSORS)
        self.assertEqual(SHARED, self.besteffort_cpus())
        self.ours_comes()
        self.ours_only_observes()
        self.koordlet_goes()
        self.ours_begins_anew()
        self.ours_enforces()
        self.assertEqual({}, self.changed_outside("/besteffort"), "online work is as the peer left it")
        # Out without anybody after it: what is only observed is put back, whoever runs.
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

    def test_ours_is_killed_and_the_machine_switched_off_by_hand(self):
        """What cannot be put back while offline work runs is told with what the peer had there; it comes back with the agent."""
        self.koordlet_has_worked(QUOTA)
        self.koordlet_goes()
        self.ours_comes()
        self.ours_enforces()
        wait_for(lambda: self.quota() != SUPPRESSED_US, "a quota of its own", self.agent, LIMIT_S)
        self.agent.kill()
        told = self.local("off")
        self.assertFalse(told["agentRuns"])
        self.assertTrue(self.held(), "held to the least")
        left = {(each["group"].rsplit("kubepods/", 1)[1], each["file"]): each["found"] for each in told["left"]}
        self.assertEqual(str(SUPPRESSED_US), left[("besteffort", "cpu.cfs_quota_us")], told)
        self.assertEqual({}, self.changed_outside("/besteffort"))
        self.assertEqual(self.running, self.lives())

        self.local("on")
        self.koordlet_comes()
        self.ours_comes()
        self.ours_only_observes()
        self.all_is_as_the_peer_left_it()


if __name__ == "__main__":
    unittest.main()
