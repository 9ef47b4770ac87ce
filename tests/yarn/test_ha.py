"""`tidemark yarn-operator` and ResourceManagers in HA, by a real pair with a real ZooKeeper: what it does while one of them is killed or frozen, and what is
seen of that from outside."""

import itertools
import json
import os
import subprocess
import threading
import time
import unittest

from cluster import colocation
from cluster.colocation import MERGE, must
from cluster.tidemark_process import Component, wait_for
from support.yarn import YarnPair, until
from yarn.operating import NODE_ID, SITE, Operating, held_on, origin

MASTER_MIB, TASK_MIB = 256, 1024
# Each has room for what runs, and none is what a NodeManager begins with.
TOTALS = [(3, 3000), (2, 2000), (3, 2500), (2, 2800)]
LIMIT_S = 90
LAG_S = 5  # of the checker: a total that is this late is a mistake


class Changing(threading.Thread):
    """What the nodes may sell, changed all the time."""

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
    """Reads what the nodes say that YARN holds, all the time: the least of it that was ever said."""

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
        cls.nms = cls.yarn.nodes

    def setUp(self):
        for member in self.yarn.rm.members:  # what a test before left
            if not member.alive:
                member.launch()
            member.resume()
        for member in self.yarn.rm.members:
            member.wait_there()
        self.yarn.wait_registered()
        super().setUp()
        for number, nm in enumerate(self.nms):
            self.put_node(f"yarn-{number}", {NODE_ID: nm.id, **origin(3500, 3072)})
        self.operator = self.begin()
        for number in (0, 1):
            self.wait_total(number, 3072, 3, self.operator)

    def count(self, name: str) -> int:
        return int(self.operator.metrics()[f"tidemark_yarn_operator_{name}"])

    def start_job(self) -> dict[str, int]:
        """A master and a container that run; what they were given, by node."""
        job = self.yarn.submit("sleep 1000", memory_mib=TASK_MIB, master_memory_mib=MASTER_MIB)
        self.addCleanup(job.end)
        until("a master and a container run", lambda: [each["state"] for nm in self.nms for each in nm.containers()] == ["RUNNING"] * 2)
        return {f"yarn-{number}": sum(each["totalMemoryNeededMB"] for each in nm.containers()) for number, nm in enumerate(self.nms)}

    def wait_said(self, holds: dict[str, int]) -> Looking:
        """One that looks, from when the nodes say it."""
        for name, amount in holds.items():
            wait_for(lambda: mib((self.held(name) or {}).get("kubernetes.io/batch-memory", "0")) == amount, f"{amount} MiB held on {name}", self.operator)
        looking = Looking(list(holds))
        self.addCleanup(looking.end)
        looking.start()
        return looking

    def check(self, seconds: int) -> subprocess.Popen:
        child = subprocess.Popen(
            [os.environ["TIDEMARK_BINARY"], "check", "ledger", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "-o", "json", f"--for={seconds}s", f"--lag={LAG_S}s",
             "--hadoop-conf-dir", str(self.yarn.configuration), "--yarn-poll=500ms"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        return child

    def wait_totals(self, memory_mib: int, vcores: int) -> None:
        """At whoever is active now."""

        def right() -> bool:
            try:
                return all(nm.total() == (memory_mib, vcores) for nm in self.nms)
            except (OSError, KeyError):  # nobody is active; or it does not know the node yet
                return False

        wait_for(right, f"{memory_mib} MiB and {vcores} vcores of all nodes at the one that is active", self.operator, limit_s=LIMIT_S)

    def test_one_that_is_killed_while_totals_change(self):
        holds = self.start_job()
        looking, check = self.wait_said(holds), self.check(20)
        changing = Changing(self.names)
        self.addCleanup(changing.end)
        changing.start()
        wait_for(lambda: changing.changes > 5, "changes", self.operator)
        active = self.yarn.rm.active_one()
        active.kill()
        killed = time.monotonic()
        wait_for(lambda: self.count("clusters_away") == 1, "a cluster that is away", self.operator)
        self.assertTrue(self.operator.ready())
        other = self.yarn.rm.other(active)
        other.until("the other is active", other.active)
        taken_over = time.monotonic()
        changing.end()
        vcores, memory_mib = changing.last
        self.wait_totals(memory_mib, vcores)
        right = time.monotonic()
        print(f"killed: the other active after {taken_over - killed:.1f} s, the last total right after {right - killed:.1f} s")
        self.assertEqual((0, 1, 0), (self.count("clusters_away"), self.count("failovers_total"), self.count("set_again_total")))
        # What runs is still there, and was told all the time.
        self.assertEqual(["RUNNING"] * 2, [each["state"] for nm in self.nms for each in nm.containers()])
        out, error = check.communicate(timeout=60)
        looking.end()
        self.assertGreater(looking.looks, 100)
        self.assertEqual({name: amount for name, amount in holds.items() if looking.least_mib[name] < amount}, {}, looking.least_mib)
        report = json.loads(out or "{}")
        self.assertEqual((0, True), (check.returncode, report.get("clean")), f"{out}\n{error}")
        self.assertGreater(report["failures"], 0, "it saw the failover")

    def test_one_that_is_frozen_and_goes_on_later(self):
        active = self.yarn.rm.active_one()
        other = self.yarn.rm.other(active)
        active.freeze()
        self.addCleanup(active.resume)
        frozen = time.monotonic()
        for name in self.names:
            self.annotate(name, origin(2000, 1024))
        self.wait_totals(1024, 2)
        print(f"frozen: the last total right after {time.monotonic() - frozen:.1f} s")
        self.assertIs(other, self.yarn.rm.active_one())
        told = self.count("updates_total")
        active.resume()
        resumed = time.monotonic()
        self.annotate(self.names[0], origin(3000, 2048))  # while both believe that they are active
        self.wait_total(0, 2048, 3, self.operator)
        print(f"continued: a total right after {time.monotonic() - resumed:.1f} s")
        active.until("the one that goes on is on standby", lambda: active.state() == "STANDBY")
        self.annotate(self.names[1], origin(3000, 2048))
        self.wait_totals(2048, 3)
        self.assertEqual((0, 1, told + 2), (self.count("clusters_away"), self.count("failovers_total"), self.count("updates_total")))

    def test_both_away_and_back(self):
        holds = self.start_job()
        looking = self.wait_said(holds)
        for member in self.yarn.rm.members:
            member.kill()
        wait_for(lambda: self.count("clusters_away") == 1, "a cluster that is away", self.operator)
        for name in self.names:
            self.annotate(name, origin(2000, 2048))
        time.sleep(5)  # long enough for tries to connect that wait longer and longer
        for member in self.yarn.rm.members:
            member.launch()
        until("one is active", self.yarn.rm.active)
        active = time.monotonic()
        self.wait_totals(2048, 2)
        print(f"both away: the last total right {time.monotonic() - active:.1f} s after one was active")
        until("what runs is known again", lambda: sum(nm.seen().get("usedMemoryMB", 0) for nm in self.nms) == MASTER_MIB + TASK_MIB)
        looking.end()
        self.assertEqual({name: amount for name, amount in holds.items() if looking.least_mib[name] < amount}, {}, looking.least_mib)


if __name__ == "__main__":
    unittest.main()
