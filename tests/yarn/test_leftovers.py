"""Residue of a killed run: the next run removes it. Each start of a YARN does that, so these cases need the machine alone."""

import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from support.node import cgroups
from support.yarn import groups, leftovers

ALONE = "removes the runs of other tests"

PATIENCE_S = 60

# Starts a YARN with a container, prints its place, and stays until it is killed.
KILLED = """
import time
from support.yarn import Yarn, until
with Yarn() as yarn:
    job = yarn.submit("sleep 1000")
    until("its container runs", lambda: any(line.strip() == "sleep 1000" for line in yarn.processes().values()))  # RUNNING is said before there is a process
    print(yarn.layout.folder, flush=True)
    time.sleep(1000)
"""

# Starts a YARN with a frozen container, prints its place, and stays until it is killed.
KILLED_IN_GROUPS = """
import time
from support.yarn import Yarn, until
with Yarn(groups="yarn") as yarn:
    yarn.submit("sleep 1000")
    sleeps = lambda name: len(pids := yarn.nodes[0].processes(name)) == 2 and any(yarn.processes().get(pid, "").strip() == "sleep 1000" for pid in pids)  # before that its shell has others
    container = until("its container runs", lambda: next((name for name in yarn.groups.containers() if not name.endswith("_000001") and sleeps(name)), ""))
    frozen = yarn.groups.folder("freezer") / "frozen"
    frozen.mkdir()
    for pid in yarn.nodes[0].processes(container):
        (frozen / "cgroup.procs").write_text(str(pid))
    (frozen / "freezer.state").write_text("FROZEN")
    print(yarn.layout.folder, yarn.groups.path, container, flush=True)
    time.sleep(1000)
"""


class Killed(unittest.TestCase):
    def start(self, script: str) -> subprocess.Popen:
        child = subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])},
        )
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def test_the_next_run_removes_it(self):
        child = self.start(KILLED)
        folder = Path(child.stdout.readline().strip() or "/nonexistent")
        self.assertTrue(folder.exists(), "it did not start")
        leftovers.clear_away()
        self.assertTrue(folder.exists(), "a running one stays")
        child.send_signal(signal.SIGKILL)
        child.wait(PATIENCE_S)
        asleep = [line for line in leftovers.processes_of(folder).values() if line.strip() == "sleep 1000"]
        self.assertEqual(1, len(asleep), "a container survives it")
        self.assertIn(str(folder), leftovers.clear_away()[0])
        self.assertEqual(({}, False), (leftovers.processes_of(folder), folder.exists()))


@unittest.skipIf(groups.why_not(), groups.why_not())
class InGroups(Killed):
    def test_the_next_run_removes_it(self):
        """Also frozen processes."""
        child = self.start(KILLED_IN_GROUPS)
        folder, path, container = (child.stdout.readline().split() or self.fail("it did not start"))
        group = next(each for each in cgroups.there(f"{path}/{container}"))
        child.send_signal(signal.SIGKILL)
        child.wait(PATIENCE_S)
        self.assertEqual(2, len(groups.pids(group)), "a container survives it")
        self.assertIn(folder, leftovers.clear_away()[0])
        self.assertEqual(([], {}, False), (cgroups.there(path.split("/")[0]), leftovers.processes_of(Path(folder)), Path(folder).exists()))


if __name__ == "__main__":
    unittest.main()
