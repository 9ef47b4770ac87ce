"""The guest itself: answers of commands, late commands, lost guests, and no residue."""

import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from support.patience import PATIENCE_S
from support.vm import Late, Lost, NotReady, Vm

SMOKE = True

LATE_S = 10  # enough for a guest to begin a command
BYTES = bytes(range(256)) + random.Random(1).randbytes((1 << 20) - 256)


def folders() -> set[Path]:
    return set(Path(tempfile.gettempdir()).iterdir())


def ended(pid: int) -> bool:
    """Whether a process is gone; waits for the kernel to end it."""
    deadline = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{pid}").exists() and "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        files = {"/data/bytes": BYTES, "/bin/words": b'#!/bin/sh\nfor word; do printf "<%s>" "$word"; done\n'}
        cls.vm = cls.enterClassContext(Vm(files=files, cpus=1, memory_mib=384))

    def shell(self, script: str, deadline_s: float = PATIENCE_S):
        return self.vm.shell(script, deadline_s=deadline_s)

    def test_the_guest_has_cgroup_v2_and_pressure(self):
        mounted = [line.split()[:3] for line in self.shell("cat /proc/mounts").text.splitlines()]
        self.assertEqual([["cgroup2", "/sys/fs/cgroup", "cgroup2"]], [line for line in mounted if line[2].startswith("cgroup")])
        self.assertLessEqual({"cpu", "cpuset", "io", "memory", "pids"}, set(self.shell("cat /sys/fs/cgroup/cgroup.subtree_control").text.split()))
        for file in ("/proc/pressure/cpu", "/sys/fs/cgroup/cpu.pressure"):
            self.assertIn("avg10=", self.shell(f"cat {file}").text)

    def test_cpus_and_memory_are_as_requested(self):
        cpus, _, total_kib, _ = self.shell("nproc; grep MemTotal /proc/meminfo").text.split()
        self.assertEqual("1", cpus)
        self.assertTrue(256 * 1024 < int(total_kib) < 384 * 1024, total_kib)

    def test_the_exit_code_is_returned(self):
        for script, code in (("true", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 128 + 9), ("kill -SEGV $$", 128 + 11), ("exec nobody-has-this", 127)):
            self.assertEqual(code, self.shell(script).code, script)

    def test_output_and_errors_are_separate(self):
        done = self.shell("printf out; printf err >&2; exit 3")
        self.assertEqual((3, b"out", b"err"), (done.code, done.stdout, done.stderr))
        done = self.shell("true")
        self.assertEqual((b"", b""), (done.stdout, done.stderr))

    def test_a_mebibyte_of_any_bytes_comes_back(self):
        self.assertEqual(BYTES, self.vm.run(["cat", "/data/bytes"], deadline_s=PATIENCE_S).stdout)
        self.assertEqual(BYTES[:1000], self.shell("head -c 1000 /data/bytes >&2").stderr)

    def test_arguments_arrive_unchanged(self):
        words = ["", "a b", "'", '"', "$HOME", "`x`", "\\", "*", "two\nlines", "ü"]
        self.assertEqual("".join(f"<{word}>" for word in words), self.vm.run(["words", *words], deadline_s=PATIENCE_S).text)
        self.assertEqual("a $b", self.vm.run(["sh", "-c", 'printf %s "$X"'], deadline_s=PATIENCE_S, environment={"X": "a $b"}).text)
        with self.assertRaises(ValueError):
            self.vm.run(["words", "x" * 5000], deadline_s=PATIENCE_S)

    def test_a_late_command_is_killed_and_the_guest_continues(self):
        with self.assertRaises(Late) as late:
            self.shell("echo before; sleep 1001 & exec sleep 1002", deadline_s=LATE_S)
        self.assertEqual(b"before\n", late.exception.stdout)
        self.assertNotIn("sleep 100", self.shell("ps -o args").text)

    def test_processes_left_by_a_command_are_killed(self):
        self.assertEqual(0, self.shell("sleep 1001 & setsid sleep 1002 & true").code)
        self.assertNotIn("sleep 100", self.shell("ps -o args").text)


class Losses(unittest.TestCase):
    def setUp(self):
        before = folders()
        self.addCleanup(lambda: self.assertEqual(before, folders()))

    def test_a_guest_that_panics_is_lost_with_the_kernels_reason(self):
        with Vm() as vm:
            with self.assertRaises(Lost) as lost:
                vm.shell("echo c >/proc/sysrq-trigger", deadline_s=PATIENCE_S)
            self.assertIn("it ended", str(lost.exception))
            self.assertIn("Kernel panic", str(lost.exception))
            with self.assertRaises(Lost):
                vm.run(["true"], deadline_s=PATIENCE_S)
        with self.assertRaises(Lost):
            vm.run(["true"], deadline_s=PATIENCE_S)

    def test_a_silent_guest_is_lost(self):
        """Its process 1 is frozen: nothing in it keeps the deadline."""
        with Vm(grace_s=2) as vm:
            with self.assertRaises(Lost) as lost:
                vm.shell("cd /sys/fs/cgroup && mkdir cold && echo 1 >cold/cgroup.procs && echo 1 >cold/cgroup.freeze", deadline_s=LATE_S)
            self.assertIn("it answers no more", str(lost.exception))
            self.assertTrue(ended(vm.pid))

    def test_a_kernel_that_does_not_boot_is_no_guest(self):
        with tempfile.NamedTemporaryFile() as kernel:
            kernel.write(b"no kernel" * 1000)
            kernel.flush()
            with self.assertRaises(NotReady) as refused:
                Vm(kernel=Path(kernel.name)).__enter__()
        self.assertIn("it ended", str(refused.exception))
        self.assertIn("kernel", str(refused.exception).split("\n", 1)[1])  # the message of the emulator


class Ends(unittest.TestCase):
    def test_nothing_of_a_guest_is_left(self):
        before = folders()
        with Vm() as vm:
            pid = vm.pid
            self.assertEqual((1, True), (len(folders() - before), Path(f"/proc/{pid}").exists()))
        self.assertEqual((before, False), (folders(), Path(f"/proc/{pid}").exists()))

    def test_the_guest_of_a_killed_test_ends_with_it(self):
        program = "import sys\nfrom support.vm import Vm\nwith Vm() as vm: print(vm.pid, flush=True); sys.stdin.read()"
        with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as test:
            pid = int(test.stdout.readline())
            self.assertTrue(Path(f"/proc/{pid}").exists())
            test.send_signal(signal.SIGKILL)
        self.assertTrue(ended(pid))


if __name__ == "__main__":
    unittest.main()
