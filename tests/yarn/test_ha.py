"""`tidemark yarn-operator` over two YARN clusters, one with a real HA pair of ResourceManagers and a real ZooKeeper: its behavior while one of
them is killed or frozen, and the visible effect."""

import itertools
import json
import math
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from cluster import colocation
from cluster.colocation import MERGE, must
from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S as LIMIT_S
from support.yarn import Yarn, YarnPair, until
from yarn.operating import ELECTION, LEASE, NODE_ID, POLL_S, SITE, Operating, held_on, origin

MASTER_MIB, TASK_MIB = 256, 1024
# Each has room for the running work, and none equals a NodeManager's initial total.
TOTALS = [(3, 3000), (2, 2000), (3, 2500), (2, 2800)]
# A total later than this is a mistake, on a machine where an unhindered one arrives within the poll. On a slower machine (the first call to a
# newly active ResourceManager, in a cold JVM) all limits grow by the time that such a total takes there.
LAG_S, AT_ONCE_S = 3, 3 * POLL_S
CHECK_S = 11  # lag of the checker, without that time
ONE_AFTER_THE_OTHER_S = 10  # at least, for an operator that waits for a silent ResourceManager before it calls the next
DEFAULT, OTHER = "__default_yarn_cluster__", "other"
CLUSTER_ID = "yarn.hadoop.apache.org/cluster-id"


class Changing(threading.Thread):
    """Constant changes of the nodes' amounts for sale."""

    def __init__(self, names: list[str]):
        super().__init__(daemon=True)
        self.names, self.ended, self.changes = names, threading.Event(), 0
        self.last: tuple[int, int] = TOTALS[0]

    def run(self) -> None:
        api = colocation.client()
        for self.last in itertools.cycle(TOTALS):
            for name in self.names:
                must(api.request("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"annotations": origin(self.last[0] * 1000, self.last[1])}}, content=MERGE))
            self.changes += 1
            if self.ended.wait(0.1):
                break
        api.close()

    def end(self) -> None:
        self.ended.set()
        self.join(30)


class Looking(threading.Thread):
    """Reads the held amounts on the nodes all the time; keeps the minimum."""

    def __init__(self, names: list[str]):
        super().__init__(daemon=True)
        self.names, self.ended, self.looks = names, threading.Event(), 0
        self.least_mib = {name: 2**40 for name in names}

    def run(self) -> None:
        api = colocation.client()
        while not self.ended.wait(0.02):
            for name in self.names:
                said = held_on(api, name) or {"kubernetes.io/batch-memory": "0"}
                self.least_mib[name] = min(self.least_mib[name], mib(said["kubernetes.io/batch-memory"]))
            self.looks += 1
        api.close()

    def end(self) -> None:
        self.ended.set()
        self.join(30)


def mib(text: str) -> int:
    return int(text[:-2]) * {"Mi": 1, "Gi": 1024}[text[-2:]] if text != "0" else 0


class Ha(Operating):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.yarn = cls.enterClassContext(YarnPair([SITE, SITE]))
        cls.job = cls.yarn.submit("sleep 1000", memory_mib=TASK_MIB, master_memory_mib=MASTER_MIB)  # starts while the other cluster starts
        cls.other = cls.enterClassContext(Yarn([SITE]))
        cls.nms = [*cls.yarn.nodes, *cls.other.nodes]
        cls.configuration = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="tidemark-hadoop-conf-")))
        for yarn, prefix in ((cls.yarn, ""), (cls.other, f"{OTHER}.")):
            for name in ("core-site.xml", "yarn-site.xml"):
                shutil.copy(yarn.configuration / name, cls.configuration / f"{prefix}{name}")
        until("a master and a container run", lambda: [each["state"] for nm in cls.yarn.nodes for each in nm.containers()] == ["RUNNING"] * 2)
        cls.holds = {f"yarn-{number}": sum(each["totalMemoryNeededMB"] for each in nm.containers()) for number, nm in enumerate(cls.yarn.nodes)}

    def setUp(self):
        for member in self.yarn.rm.members:  # left by an earlier test
            if not member.alive:
                member.launch()
            member.resume()
        for member in self.yarn.rm.members:
            member.wait_there()
        for yarn in (self.yarn, self.other):
            yarn.wait_registered()
        super().setUp()
        for number, nm in enumerate(self.nms):
            self.put_node(f"yarn-{number}", {NODE_ID: nm.id, **({CLUSTER_ID: OTHER} if number == 2 else {}), **origin(3500, 3072)})
        self.of_pair = self.names[:2]
        self.operator = self.begin(*ELECTION, configuration=self.configuration)
        for number in range(3):
            self.wait_total(number, 3072, 3, self.operator)
        for name, amount in self.holds.items():
            wait_for(lambda: mib((self.held(name) or {}).get("kubernetes.io/batch-memory", "0")) == amount, f"{amount} MiB held on {name}", self.operator)

    def count(self, name: str) -> int:
        return int(self.operator.metrics()[f"tidemark_yarn_operator_{name}"])

    def look(self) -> Looking:
        looking = Looking(list(self.holds))
        self.addCleanup(looking.end)
        looking.start()
        return looking

    def assert_never_less(self, looking: Looking) -> None:
        """The running work is still there, and was reported all the time."""
        looking.end()
        self.assertEqual(["RUNNING"] * 2, [each["state"] for nm in self.yarn.nodes for each in nm.containers()])
        self.assertGreater(looking.looks, 100)
        self.assertEqual({}, {name: least for name, least in looking.least_mib.items() if least < self.holds[name]}, self.holds)

    def check(self, lag_s: int) -> subprocess.Popen:
        child = subprocess.Popen(
            [os.environ["TIDEMARK_BINARY"], "check", "ledger", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "-o", "json", f"--for={CHECK_S + lag_s}s", f"--lag={lag_s}s",
             "--hadoop-conf-dir", str(self.configuration), "--yarn-poll=500ms"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        return child

    def wait_totals(self, memory_mib: int, vcores: int) -> None:
        """At the currently active one."""

        def right() -> bool:
            try:
                return all(nm.total() == (memory_mib, vcores) for nm in self.yarn.nodes)
            except (OSError, KeyError):  # none is active, or it does not know the node yet
                return False

        wait_for(right, f"{memory_mib} MiB and {vcores} vcores of all nodes at the active one", self.operator, limit_s=LIMIT_S)

    def states(self) -> dict[str, str]:
        """Of all ResourceManagers, as the Lease shows them; the one without HA has no id."""
        annotations = must(self.api.request("GET", LEASE)).get("metadata.annotations", {})
        shown = json.loads(annotations.get("tidemark.io/yarn-managers", '{"managers":[]}'))["managers"]
        return {each["id"]: each["state"] for each in shown}

    def test_lease_shows_each_state_and_its_change(self):
        active = self.yarn.rm.active_one()
        other = self.yarn.rm.other(active)

        def wait_shown(of_active: str, of_other: str) -> None:
            wanted = {active.name: of_active, other.name: of_other, "": "active"}
            wait_for(lambda: self.states() == wanted, f"the states {wanted} on the Lease", self.operator, limit_s=LIMIT_S)

        wait_shown("active", "standby")
        active.kill()
        wait_shown("away", "active")
        active.launch()
        wait_shown("standby", "active")

    def test_one_is_killed_while_totals_change(self):
        slower = max(0, self.follows(1536, 2) - POLL_S)
        looking, check = self.look(), self.check(math.ceil(LAG_S + 3 * slower))
        changing = Changing(self.of_pair)
        self.addCleanup(changing.end)
        changing.start()
        wait_for(lambda: changing.changes > 5, "changes", self.operator)
        active = self.yarn.rm.active_one()
        other = self.yarn.rm.other(active)
        registered = sum(nm.registrations() for nm in self.yarn.nodes)
        active.kill()
        killed = time.monotonic()
        wait_for(lambda: self.count("clusters_away") == 1, "an unreachable cluster", self.operator)
        self.assertTrue(self.operator.ready())
        other.until("the other is active", other.active)
        taken_over = time.monotonic()
        changing.end()
        self.wait_totals(changing.last[1], changing.last[0])
        print(f"killed: the other active after {taken_over - killed:.1f} s, the last total right after {time.monotonic() - killed:.1f} s")
        self.assertEqual((0, 1), (self.count("clusters_away"), self.count("failovers_total")))
        # A NodeManager that registers twice, since its first call was answered too late, has its old total again.
        more_than_once = sum(nm.registrations() for nm in self.yarn.nodes) - registered - len(self.yarn.nodes)
        self.assertLessEqual(self.count("set_again_total"), more_than_once)
        out, error = check.communicate(timeout=60)
        report = json.loads(out or "{}")
        self.assertEqual((0, True), (check.returncode, report.get("clean")), f"{out}\n{error}")
        self.assertGreater(report["failures"], 0, "it saw the failover")
        self.assert_never_less(looking)

    def test_one_is_frozen_and_resumes_later(self):
        active = self.yarn.rm.active_one()
        other = self.yarn.rm.other(active)
        active.freeze()
        self.addCleanup(active.resume)
        frozen = time.monotonic()
        for name in self.of_pair:
            self.annotate(name, origin(2000, 1536))
        self.wait_totals(1536, 2)
        print(f"frozen: the last total right after {time.monotonic() - frozen:.1f} s")
        self.assertIs(other, self.yarn.rm.active_one())
        shown = self.count("updates_total")
        active.resume()
        self.annotate(self.of_pair[0], origin(3000, 2048))  # while both are active
        wait_for(lambda: self.total_at(other, 0) == (2048, 3), "a total at the active one", self.operator)
        active.until("the resumed one is on standby", lambda: active.state() == "STANDBY")
        self.annotate(self.of_pair[1], origin(3000, 2048))
        self.wait_totals(2048, 3)
        self.assertEqual((0, 1, shown + 2), (self.count("clusters_away"), self.count("failovers_total"), self.count("updates_total")))

    def total_at(self, member, number: int) -> tuple[int, int]:
        total = next(each["totalResource"] for each in member.nodes() if each["id"].endswith(f":{self.nms[number].ports.containers}"))
        return total["memory"], total["vCores"]

    def test_both_down_and_back(self):
        looking = self.look()
        for member in self.yarn.rm.members:
            member.kill()
        wait_for(lambda: self.count("clusters_away") == 1, "an unreachable cluster", self.operator)
        for name in self.of_pair:
            self.annotate(name, origin(2000, 2048))
        for member in self.yarn.rm.members:
            member.launch()
        until("one is active", self.yarn.rm.active)
        active = time.monotonic()
        self.wait_totals(2048, 2)
        print(f"both away: the last total right {time.monotonic() - active:.1f} s after one was active")
        until("the running work is known again", lambda: sum(nm.seen().get("usedMemoryMB", 0) for nm in self.yarn.nodes) == MASTER_MIB + TASK_MIB)
        self.assert_never_less(looking)

    def test_while_one_cluster_is_down_the_other_follows_at_once(self):
        rm = self.other.rm
        self.addCleanup(rm.resume)
        at_once_s = min(ONE_AFTER_THE_OTHER_S - 1, AT_ONCE_S + 3 * max(0, self.follows(2560, 3) - POLL_S))
        rm.freeze()
        self.assertLess(self.follows(1536, 2), at_once_s)
        rm.resume()
        rm.kill()
        self.addCleanup(lambda: rm.alive or rm.start())
        wait_for(lambda: self.up() == {DEFAULT: 1, OTHER: 0}, "the unreachable cluster", self.operator)
        self.assertEqual((1, True), (self.count("clusters_away"), self.operator.ready()))
        wait_for(lambda: re.search(rf" {OTHER} its ResourceManager does not answer", self.operator.log), "the log line about it", self.operator)
        self.assertLess(self.follows(2048, 3), at_once_s)
        self.annotate("yarn-2", origin(2000, 1024))
        rm.start()
        self.wait_total(2, 1024, 2, self.operator)
        self.assertEqual({DEFAULT: 1, OTHER: 1}, self.up())

    def up(self) -> dict[str, int]:
        metrics = self.operator.metrics()
        return {name: int(metrics[f'tidemark_yarn_operator_cluster_up{{cluster="{name}"}}']) for name in (DEFAULT, OTHER)}

    def follows(self, memory_mib: int, vcores: int) -> float:
        """Seconds until the totals of the pair have followed the amounts of their nodes."""
        begin = time.monotonic()
        for name in self.of_pair:
            self.annotate(name, origin(vcores * 1000, memory_mib))
        self.wait_totals(memory_mib, vcores)
        return time.monotonic() - begin


if __name__ == "__main__":
    unittest.main()
