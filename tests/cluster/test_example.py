"""./dev up in a fresh clone: the table, what runs after it, a second start, and the end by --stop, by Ctrl-C, and after kill -9."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from driver.paths import ROOT
from support.node import cgroups
from support.patience import PATIENCE_S



@unittest.skipUnless(os.geteuid() == 0 and cgroups.writable(), "cannot create cgroups here")
class Example(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-test-")))
        self.data = self.folder / "up"
        self.arguments = [str(ROOT / "dev"), "up", "--data-dir", str(self.data), "--seconds=2"]
        self.addCleanup(lambda: self.dev("--stop"))

    def dev(self, *more: str) -> subprocess.CompletedProcess:
        return subprocess.run([*self.arguments, *more], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)

    def local(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [os.environ["TIDEMARK_BINARY"], "local", words[0], f"--data-dir={self.data}", *words[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S
        )

    def begin(self) -> subprocess.Popen:
        self.log = self.folder / "log"
        with open(self.log, "w") as log:
            child = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def wait_while_it_runs(self, child: subprocess.Popen, condition, what: str):
        self.wait(lambda: condition() or child.poll() is not None, PATIENCE_S, what)
        self.assertIsNone(child.poll(), self.log.read_text())
        self.groups = (self.data / "groups").read_text().split()

    def names(self) -> list[str]:
        """The names of the demo's cgroups, with and without `tidemark up`."""
        shown = self.data / "groups"
        return shown.read_text().split() if shown.exists() else []

    def any_is_there(self) -> bool:
        return any(cgroups.there(name) for name in self.names())

    def are_all_there(self) -> bool:
        return bool(self.names()) and all(cgroups.there(name) for name in self.names())

    def wait(self, condition, limit_s: float, what: str):
        deadline = time.monotonic() + limit_s
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"{what}:\n{self.log.read_text()}")
            time.sleep(0.1)

    def assert_nothing_left(self, but: tuple[str, ...] = ()):
        self.assertEqual([], [str(folder) for name in self.groups for folder in cgroups.there(name)])
        self.assertEqual(but, tuple(file.name for file in self.data.iterdir()) if self.data.exists() else ())

    def test_prints_the_table_stays_up_and_stops(self):
        child = self.begin()
        self.wait_while_it_runs(child, lambda: "up until Ctrl-C" in self.log.read_text(), "not up")
        text = self.log.read_text()
        for name in ("alone", "unprotected", "with Tidemark"):
            self.assertRegex(text, rf"(?m)^{name} +[\d.]+ m?s +[\d.]+ m?s +[\d.]+ m?s +[\d,]+ +\d+ %")
        self.assertIn("The price of ", text)
        self.assertIn("<svg", (self.data / "colocation.svg").read_text())
        listed = self.local("ps", "-o", "json")
        self.assertEqual(0, listed.returncode, listed.stderr)
        self.assertLessEqual({"web", "load", "crunch-0", "filler-0"}, {each["name"] for each in json.loads(listed.stdout)["tasks"]})
        self.wait(lambda: re.search(r'"second":1,', self.local("logs", "load").stdout), 60, "output of the load that continues")
        # Verbatim the command that it prints: it runs to its end, whatever of the machine is sold.
        typed = re.search(r"local (run .*)", text)[1].split()
        ran = self.local(*typed)
        self.assertEqual((0, "/etc/os-release"), (ran.returncode, "".join(ran.stdout.split()[1:])), ran.stderr)
        refused = self.dev()
        self.assertEqual(1, refused.returncode)
        self.assertIn("runs already", refused.stderr)
        stopped = self.dev("--stop")
        self.assertEqual(0, stopped.returncode, stopped.stderr)
        self.assertIn("nothing of it is left but the drawing", stopped.stderr)
        self.assertEqual(0, child.wait(PATIENCE_S), self.log.read_text())
        self.assert_nothing_left(but=("colocation.svg",))

    def test_ctrl_c_before_it_is_up_leaves_nothing(self):
        child = self.begin()
        self.wait_while_it_runs(child, self.any_is_there, "no groups")
        child.send_signal(signal.SIGINT)
        self.assertEqual(0, child.wait(PATIENCE_S), self.log.read_text())
        self.assert_nothing_left()

    def test_a_killed_tidemark_up_is_reported_and_leaves_nothing(self):
        child = self.begin()
        self.wait_while_it_runs(child, lambda: "up until Ctrl-C" in self.log.read_text(), "not up")
        found = subprocess.run(["pgrep", "-f", f"up --data-dir {self.data} --listen"], capture_output=True, text=True, check=True)
        os.kill(int(found.stdout.split()[0]), signal.SIGKILL)
        self.assertEqual(1, child.wait(PATIENCE_S), self.log.read_text())
        self.assertIn("`tidemark up` ended by itself with -9", self.log.read_text())
        self.assert_nothing_left(but=("colocation.svg",))

    def test_stop_removes_a_killed_run(self):
        """During the measurement, when most processes and cgroups exist."""
        child = self.begin()
        self.wait_while_it_runs(child, self.are_all_there, "not all groups exist")
        child.kill()
        child.wait()
        self.assertTrue(self.are_all_there())
        stopped = self.dev("--stop")
        self.assertEqual(0, stopped.returncode, stopped.stderr)
        self.assertIn("nothing of it is left", stopped.stderr)
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
