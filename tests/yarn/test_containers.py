"""The fixture's containers in cgroups: where they lie, who is in there, and that nothing is left of the groups."""

import os
import secrets
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from support.node import cgroups
from support.yarn import Totals, Yarn, groups, leftovers, until

PLACE = "kubepods/besteffort/hadoop-yarn"
MASTER_MIB, TASK_MIB = 256, 128
PATIENCE_S = 60

# Starts a YARN with a container that is frozen, says where it is, and stays until it is killed.
KILLED = """
import time
from support.yarn import Yarn, until
with Yarn(groups="yarn") as yarn:
    yarn.submit("sleep 1000")
    container = until("its container runs", lambda: next((name for name in yarn.groups.containers() if not name.endswith("_000001") and len(yarn.nodes[0].processes(name)) == 2), ""))
    frozen = yarn.groups.folder("freezer") / "frozen"
    frozen.mkdir()
    for pid in yarn.nodes[0].processes(container):
        (frozen / "cgroup.procs").write_text(str(pid))
    (frozen / "freezer.state").write_text("FROZEN")
    print(yarn.layout.folder, yarn.groups.path, container, flush=True)
    time.sleep(1000)
"""


def number(group: Path, file: str) -> int:
    return int((group / file).read_text())


@unittest.skipIf(groups.why_not(), groups.why_not())
class Containers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.yarn = cls.enterClassContext(Yarn([Totals(2048, 8)], groups=PLACE))
        cls.node = cls.yarn.nodes[0]

    def test_they_lie_in_groups_of_their_own_and_the_groups_go_with_them(self):
        job = self.yarn.submit("sleep 1000", containers=2, memory_mib=TASK_MIB, vcores=2, master_memory_mib=MASTER_MIB)
        names = until("a master and two containers run", self.three_that_run)
        self.assertEqual(names, sorted(self.yarn.groups.containers()))
        self.assertRegex(self.yarn.groups.path, rf"^tidemark-test-[0-9a-f]{{8}}/{PLACE}$")
        for name in names:
            there = {folder for folder in cgroups.there(f"{self.yarn.groups.path}/{name}") if "/cpuacct/" not in str(folder)}
            self.assertEqual(there, set(self.yarn.groups.of(name)), "in no other hierarchy, but for cpuacct, which goes with cpu")
            cpu, memory = self.yarn.groups.of(name)
            self.assertEqual([f"{place}/{self.yarn.groups.path}/{name}" for place in self.places()], [str(cpu), str(memory)])
            until("its processes have begun", lambda: len(self.node.processes(name)) == 2)  # a shell, and what it runs
            self.assertEqual([self.node.processes(name)] * 2, self.yarn.groups.processes(name))
        mebibytes = [number(self.yarn.groups.of(name)[1], "memory.limit_in_bytes") >> 20 for name in names]
        shares = [number(self.yarn.groups.of(name)[0], "cpu.shares") for name in names]
        self.assertEqual(([MASTER_MIB, TASK_MIB, TASK_MIB], [1024, 2048, 2048]), (mebibytes, shares))
        job.end()
        until("the groups are gone", lambda: not any(cgroups.there(f"{self.yarn.groups.path}/{name}") for name in names))
        self.assertTrue(self.yarn.groups.folder("cpu").exists(), "what is above them stays")

    def test_a_job_runs_to_its_end(self):
        report = self.yarn.submit("exit 0").wait_for("FINISHED")
        self.assertEqual("SUCCEEDED", report["finalStatus"], report["diagnostics"])

    def test_the_status_of_a_command_is_the_status_of_its_container(self):
        job = self.yarn.submit("exit 7")
        container = job.id.replace("application", "container") + "_01_000002"
        self.assertEqual(7, job.wait_told(container).status)

    def three_that_run(self) -> list[str] | None:
        names = sorted(each["id"] for each in self.node.containers() if each["state"] == "RUNNING")
        return names if len(names) == 3 else None

    def places(self) -> list[Path]:
        return [next(place for place in cgroups.hierarchies() if name in place.name.split(",")) for name in groups.CONTROLLERS]


@unittest.skipIf(groups.why_not(), groups.why_not())
class Ending(unittest.TestCase):
    def test_what_is_below_a_group_of_somebody_else_goes_and_the_group_stays(self):
        parent = f"tidemark-test-{secrets.token_hex(4)}"
        cgroups.make(parent)
        self.addCleanup(lambda: self.assertEqual([], cgroups.remove(parent)))
        with Yarn(groups=PLACE, below=parent) as made:
            made.submit("sleep 1000")
            until("a master and a container run", lambda: all(map(any, map(made.groups.processes, made.groups.containers()))) and len(made.groups.containers()) == 2)
            self.assertEqual(f"{parent}/{PLACE}", made.groups.path)
        self.assertEqual([], cgroups.there(made.groups.path))
        self.assertEqual(len(cgroups.hierarchies()), len(cgroups.there(parent)))
        self.assertFalse(made.layout.folder.exists())

    def test_what_a_killed_run_leaves_is_taken_away_by_the_next_also_what_is_frozen(self):
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])},
        )
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        folder, path, container = (child.stdout.readline().split() or self.fail("it did not start"))
        group = next(each for each in cgroups.there(f"{path}/{container}"))
        child.send_signal(signal.SIGKILL)
        child.wait(PATIENCE_S)
        self.assertEqual(2, len(groups.pids(group)), "a container outlives it")
        self.assertIn(folder, leftovers.clear_away()[0])
        self.assertEqual(([], {}, False), (cgroups.there(path.split("/")[0]), leftovers.processes_of(Path(folder)), Path(folder).exists()))


if __name__ == "__main__":
    unittest.main()
