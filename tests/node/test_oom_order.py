"""The OOM order of the kernel on a real node: set if the settings request it, on processes that a kubelet started, and restored."""

import json
import sys
from pathlib import Path

from cluster import colocation
from cluster.colocation import NODESLOS
from cluster.tidemark_process import wait_for
from node.protecting import BATCH, LIMIT_S, OFFLINE, Protecting
from node.test_agent import API, tearDownModule  # noqa: F401
from support.node import cgroups, pods

SMOKE = True

FIRST, LINE_MIN, LINE_MAX = 1000, 900, 999
INFRASTRUCTURE = {"tidemark.io/infrastructure": "true"}


class OomOrder(Protecting):
    WORKS = [
        pods.Work("online", pods.BURSTABLE, 20, 6),
        pods.Work("offline-1", pods.BEST_EFFORT, 20, 6, labels=OFFLINE, batch=BATCH),
        pods.Work("native", pods.BURSTABLE, 20, 6, labels=OFFLINE),  # offline, but Burstable for the kubelet
        pods.Work("shuffle", pods.BEST_EFFORT, 20, 6, labels=INFRASTRUCTURE),
    ]

    def say(self, mode: str) -> None:
        spec = {"extensions": {"Object": {"tidemark": {"schema": 1, "agent": {"modes": {"default": "observe", "oomOrder": mode}}}}}}
        colocation.must(API.request("PATCH", f"{NODESLOS}/{self.node.name}", {"spec": spec}, content="application/merge-patch+json"))

    def values(self, name: str) -> set[int]:
        """Values of all processes of the pod's containers; the pause container belongs to the runtime."""
        pod = next(pod for pod in self.node.pods() if pod["metadata"]["name"] == name)
        containers = [each["containerID"].split("//")[1] for each in pod["status"]["containerStatuses"]]
        places = [place for hierarchy in cgroups.there(self.node.cgroup) for container in containers for place in hierarchy.rglob(f"*{container}*")]
        pids = {int(pid) for place in places for file in place.rglob("cgroup.procs") for pid in file.read_text().split()}
        found = set()
        for pid in pids:
            try:
                found.add(int(Path(f"/proc/{pid}/oom_score_adj").read_text()))
            except (FileNotFoundError, ProcessLookupError):
                continue
        return found

    def tearDown(self):
        self.say("observe")
        wait_for(lambda: self.of_strategy()["inForce"] == 0, "nothing in force", self.agent, LIMIT_S)

    def test_offline_work_would_be_killed_first_and_online_work_is_unchanged(self):
        before = {work.name: self.values(work.name) for work in self.WORKS}
        self.assertLess(max(before["native"]), FIRST, "the kubelet gives a lower value to pods with requests")
        self.say("enforce")
        wait_for(lambda: self.values("native") == {FIRST}, "offline work first", self.agent, LIMIT_S)
        self.assertEqual({FIRST}, self.values("offline-1"))
        self.assertEqual(before["online"], self.values("online"))
        # A value set by a runtime with CAP_SYS_RESOURCE can be lowered only with it; otherwise by any process that may write there.
        refused = "cannot be changed (to lower one takes CAP_SYS_RESOURCE)"
        after = wait_for(lambda: self.infrastructure_is_after_its_tasks() and "lowered" or refused in self.of_strategy()["says"] and "refused", "infrastructure lowered, or the reason", self.agent, LIMIT_S)
        print(f"infrastructure at the place of its tasks: {after}", file=sys.stderr)
        self.assertGreater(self.of_strategy()["inForce"], 0)
        shown = self.doctor()
        self.assertEqual({"lowered": ["ok"], "refused": ["warn"]}[after], [each["severity"] for each in shown], shown)
        self.assertEqual(after == "refused", "CAP_SYS_RESOURCE" in (shown[0]["fix"] or ""), shown)
        self.say("observe")
        wait_for(lambda: {name: self.values(name) for name in before} == before, "all values of the kubelet", self.agent, LIMIT_S)

    def test_a_local_latch_keeps_the_order_of_running_tasks(self):
        before = self.values("native")
        self.say("enforce")
        wait_for(lambda: self.values("native") == {FIRST}, "offline work first", self.agent, LIMIT_S)
        self.addCleanup(self.tidemark, "on", "--local", "--reason", "the test is over")
        done = self.tidemark("off", "--local", "--reason", "a test")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual({FIRST}, self.values("native"))
        self.assertIn("oom_score_adj of", done.stdout)
        self.tidemark("on", "--local", "--reason", "the test is over")
        self.say("observe")
        wait_for(lambda: self.values("native") == before, "the values of the kubelet", self.agent, LIMIT_S)

    def doctor(self) -> list[dict]:
        """The strategy's state in the agent's state file."""
        done = self.tidemark("doctor", "node", "-o", "json", "--kubelet-endpoint", self.node.kubelet, "--kubelet-cgroup-root", f"/{self.node.cgroup}")
        return [each for each in json.loads(done.stdout)["findings"] if each["what"] == "oomOrder"]

    def infrastructure_is_after_its_tasks(self) -> bool:
        return all(LINE_MIN <= each <= LINE_MAX for each in self.values("shuffle"))

    def of_strategy(self) -> dict:
        return next(each for each in self.says()["strategies"] if each["name"] == "oomOrder")
