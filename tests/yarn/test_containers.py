"""The fixture's containers in cgroups: their place, their processes, and no residue of the cgroups."""

import secrets
import unittest
from pathlib import Path

from support.node import cgroups
from support.yarn import Totals, Yarn, groups, until

PLACE = "kubepods/besteffort/hadoop-yarn"
MASTER_MIB, TASK_MIB = 256, 128


def number(group: Path, file: str) -> int:
    return int((group / file).read_text())


@unittest.skipIf(groups.why_not(), groups.why_not())
class Containers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.yarn = cls.enterClassContext(Yarn([Totals(2048, 8)], groups=PLACE))
        cls.node = cls.yarn.nodes[0]

    def test_they_have_their_own_groups_which_are_removed_with_them(self):
        job = self.yarn.submit("sleep 1000", containers=2, memory_mib=TASK_MIB, vcores=2, master_memory_mib=MASTER_MIB)
        names = until("a master and two containers run", self.three_that_run)
        self.assertEqual(names, sorted(self.yarn.groups.containers()))
        self.assertRegex(self.yarn.groups.path, rf"^tidemark-test-[0-9a-f]{{8}}/{PLACE}$")
        for name in names:
            there = {folder for folder in cgroups.there(f"{self.yarn.groups.path}/{name}") if "/cpuacct/" not in str(folder)}
            self.assertEqual(there, set(self.yarn.groups.of(name)), "in no other hierarchy except cpuacct, which is mounted with cpu")
            cpu, memory = self.yarn.groups.of(name)
            self.assertEqual([f"{place}/{self.yarn.groups.path}/{name}" for place in self.places()], [str(cpu), str(memory)])
            until("exactly a shell and its child are in both groups", lambda: self.two_lie_in_both(name))
        mebibytes = [number(self.yarn.groups.of(name)[1], "memory.limit_in_bytes") >> 20 for name in names]
        shares = [number(self.yarn.groups.of(name)[0], "cpu.shares") for name in names]
        self.assertEqual(([MASTER_MIB, TASK_MIB, TASK_MIB], [1024, 2048, 2048]), (mebibytes, shares))
        job.end()
        until("the groups are gone", lambda: not any(cgroups.there(f"{self.yarn.groups.path}/{name}") for name in names))
        self.assertTrue(self.yarn.groups.folder("cpu").exists(), "the parent group stays")

    def test_a_job_runs_to_its_end(self):
        report = self.yarn.submit("exit 0").wait_for("FINISHED")
        self.assertEqual("SUCCEEDED", report["finalStatus"], report["diagnostics"])

    def test_the_status_of_a_command_is_the_status_of_its_container(self):
        job = self.yarn.submit("exit 7")
        container = job.id.replace("application", "container") + "_01_000002"
        self.assertEqual(7, job.wait_told(container).status)

    def two_lie_in_both(self, name: str) -> bool:
        """The final state: at first the shell runs other processes, and each list is read separately."""
        processes = self.node.processes(name)
        return len(processes) == 2 and self.yarn.groups.processes(name) == [processes] * 2

    def three_that_run(self) -> list[str] | None:
        names = sorted(each["id"] for each in self.node.containers() if each["state"] == "RUNNING")
        return names if len(names) == 3 else None

    def places(self) -> list[Path]:
        return [next(place for place in cgroups.hierarchies() if name in place.name.split(",")) for name in groups.CONTROLLERS]


@unittest.skipIf(groups.why_not(), groups.why_not())
class Ending(unittest.TestCase):
    def test_a_foreign_parent_group_stays(self):
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


if __name__ == "__main__":
    unittest.main()
