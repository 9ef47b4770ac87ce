"""The unit of docs/guide/one-server.md without systemd: `tidemark up` in its own cgroup, as a unit has one, and the effect of systemd's two ways to stop
a unit on tasks. tests/vm/test_up_unit.py has the real one, on cgroup v2."""

import contextlib
import json
import os
import re
import secrets
import signal
import time
import unittest
from pathlib import Path

from cluster.local_case import CGROUPS, LocalCase
from cluster.tidemark_process import Component, wait_for
from driver.paths import ROOT
from support.node import cgroups
from support.patience import PATIENCE_S

UNIT = re.search(r"^```ini\n(.*?)^```$", (ROOT / "docs/guide/one-server.md").read_text(), re.M | re.S)[1]
ENTER = 'echo $$ > "$0" && exec "$@"'


def followed_in() -> Path:
    """The cgroup where systemd finds the processes of a unit: on cgroup v1 in its own hierarchy without controllers."""
    own = CGROUPS / "systemd"
    return own if (own / "cgroup.procs").exists() else CGROUPS


def lives(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@unittest.skipUnless(os.geteuid() == 0 and cgroups.writable(), "cannot create cgroups here")
class LocalUnit(LocalCase):
    def setUp(self):
        self.unit = followed_in() / f"tidemark-test-{secrets.token_hex(4)}"
        self.unit.mkdir()
        self.addCleanup(self.remove_unit)
        super().setUp()

    def remove_unit(self):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self.unit.rmdir()
            except OSError:  # one of them ends
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def run_component(self, *arguments: str) -> Component:
        return Component("-c", ENTER, str(self.unit / "cgroup.procs"), os.environ["TIDEMARK_BINARY"], *arguments, binary="sh")

    def members(self) -> set[str]:
        return set((self.unit / "cgroup.procs").read_text().split())

    def tasks_processes(self) -> set[str]:
        return {str(json.loads(file.read_text())["pid"]) for file in (self.folder / "data").glob("containers/*/*/*/running.json")}

    def begin_tasks(self) -> set[str]:
        for name in ("one", "two"):
            done = self.local("run", "--class=free", "--retries=0", f"--name={name}", "--", "sleep", "1000")
            self.assertEqual(0, done.returncode, done.stderr)
        wait_for(lambda: len(self.tasks_processes()) == 2, "two tasks", self.component)
        return self.tasks_processes()

    def test_with_the_unit_of_the_guide_tasks_survive_a_stop(self):
        self.assertIn("\nKillMode=process\n", UNIT)
        tasks = self.begin_tasks()
        self.assertEqual(0, self.component.stop(), self.component.log)  # only the main process
        self.assertTrue(all(map(lives, tasks)))
        self.start()
        wait_for(lambda: [self.tasks()[name]["state"] in ("Running", "Limited") for name in ("one", "two")] == [True, True], "both again", self.component)
        self.assertEqual(tasks, self.tasks_processes())

    def test_killing_the_whole_cgroup_kills_the_tasks_in_it(self):
        """KillMode=control-group, the default of systemd."""
        tasks = self.begin_tasks()
        inside = tasks & self.members()
        self.assertEqual(tasks if followed_in() != CGROUPS else set(), inside, "in cgroup v2 they are elsewhere")
        for pid in self.members():
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(int(pid), signal.SIGTERM)
        self.component.process.wait(PATIENCE_S)
        wait_for(lambda: not any(map(lives, inside)), "the end of the processes in it")
        self.assertTrue(all(map(lives, tasks - inside)))
        self.start()
        ended = wait_for(lambda: [name for name, each in self.tasks().items() if each["state"] == "Failed"] if inside else ["none"], "the results", self.component)
        if inside:
            wait_for(lambda: {each.get("exitCode") for each in self.tasks().values()} == {143}, f"both to have their exit code, failed are {ended}", self.component)


if __name__ == "__main__":
    unittest.main()
