"""No child outlives the driver: not on Ctrl-C, not on SIGKILL, not when a test leaves a process behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from driver import processes

LIMIT_S = 10


def gone(pid: int) -> bool:
    """Dead or a zombie: it runs no more."""
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False


# A driver with one child, which prints its own id and then has a child of its own print one too.
DRIVER = """
import subprocess, sys
from driver import processes
processes.install_signal_handlers()
child = processes.start(["sh", "-c", "sleep 1000 & echo $$ $!; wait"], stdout=subprocess.PIPE, text=True)
print(child.stdout.readline(), end="", flush=True)
child.wait()
"""


# One that has something to put away, and is stopped while it waits; the first action fails.
TIDY_DRIVER = """
import sys, time
from pathlib import Path
from driver import processes
processes.install_signal_handlers()
def fail(): raise OSError("no space left")
with processes.cleaned_up(lambda: Path(sys.argv[1]).unlink()), processes.cleaned_up(fail):
    print("ready", flush=True)
    if sys.argv[2] == "wait":
        time.sleep(1000)
"""


class PuttingAway(unittest.TestCase):
    def driver(self, how: str) -> tuple[subprocess.Popen, Path]:
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "mark"
        file.touch()
        child = subprocess.Popen([sys.executable, "-c", TIDY_DRIVER, file, how], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(child.stdout.close)
        self.assertEqual("ready\n", child.stdout.readline())
        return child, file

    def test_a_signal_leaves_nothing_behind(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number):
                child, file = self.driver("wait")
                child.send_signal(number)
                self.assertEqual(128 + number, child.wait(LIMIT_S))
                self.assertFalse(file.exists())

    def test_nor_does_an_end_with_an_error(self):
        child, file = self.driver("fail")
        self.assertEqual(1, child.wait(LIMIT_S))
        self.assertFalse(file.exists())


class Killing(unittest.TestCase):
    def driver(self):
        child = subprocess.Popen([sys.executable, "-c", DRIVER], stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        leader, descendant = map(int, child.stdout.readline().split())
        return child, leader, descendant

    def test_interrupt_kills_the_whole_group(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number=number):
                child, leader, descendant = self.driver()
                child.send_signal(number)
                self.assertEqual(128 + number, child.wait(LIMIT_S))
                self.assertTrue(gone(leader))
                self.assertTrue(gone(descendant))

    def test_the_kernel_kills_the_child_of_a_killed_driver(self):
        child, leader, descendant = self.driver()
        child.kill()
        child.wait(LIMIT_S)
        self.assertTrue(gone(leader))
        os.kill(descendant, signal.SIGKILL)  # only the group's leader is bound to us by the kernel

    def test_what_a_command_leaves_behind_is_killed(self):
        out = Path(self.enterContext(tempfile.TemporaryDirectory())) / "log"
        done = processes.run_logged(["sh", "-c", "sleep 1000 & echo $!"], out)
        self.assertEqual(0, done.code)
        self.assertTrue(gone(int(out.read_text())))

    def test_time_limit(self):
        done = processes.run(["sleep", "1000"], timeout_s=0.2)
        self.assertTrue(done.timed_out)
        self.assertNotEqual(0, done.code)
        self.assertLess(done.seconds, LIMIT_S)


if __name__ == "__main__":
    unittest.main()
