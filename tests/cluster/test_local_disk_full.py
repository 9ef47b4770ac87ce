"""`tidemark up` with pods on a disk that the logs of one of them fill: the others run on, an end there has its exit code, what cannot be kept is refused with its reason,
who was killed comes up again on it, and it goes on when there is room."""

import contextlib
import json
import os
import re
import secrets
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from cluster.tidemark_process import Component, wait_for
from contract.test_disk_full import mount_small_disk
from demo import plain_groups
from support import ports
from support.node import cgroups

CGROUPS = Path("/sys/fs/cgroup")
LEFT_BYTES = 1 << 20  # of a disk of 24 MiB, five hundredths
RUN = ["--class=free"]
CODES = {"early": 0, "late": 5}  # of two jobs that end on a full disk


class LocalDiskFull(unittest.TestCase):
    def setUp(self):
        self.disk = Path(tempfile.mkdtemp(prefix="tidemark-disk-"))
        try:
            mount_small_disk(self.disk)
        except OSError as error:
            self.skipTest(f"a disk of its own cannot be mounted here: {error}; run as root")
        self.filler = self.disk / "filler"  # somebody else's
        self.data = self.disk / "data"
        self.group = f"tidemark-test-{secrets.token_hex(4)}"
        self.addCleanup(lambda: cgroups.there(self.group) and plain_groups.clear(self.group))  # tasks outlive a test that fails
        more = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-run-")))
        self.go = more / "go"
        listen = f"127.0.0.1:{ports.free(1)[0]}"  # the same after a kill: its kubeconfig is right already
        self.arguments = [
            "up", "--data-dir", str(self.data), "--listen", listen, "--node-name", "here", "--pod-group", f"/{self.group}",
            "--run-dir", str(more / "run"), "--latch-file", str(more / "off"),
        ]
        self.start()

    def start(self) -> None:
        self.component = Component(*self.arguments)
        self.addCleanup(self.component.stop)
        wait_for(lambda: re.search(r"^kubeconfig +(\S+)$", self.component.log, re.M), "a kubeconfig", self.component)
        wait_for(lambda: self.local("ps").returncode == 0, "an answer", self.component)

    def local(self, verb: str, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [os.environ["TIDEMARK_BINARY"], "local", verb, f"--data-dir={self.data}", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )

    def done(self, verb: str, *words: str) -> str:
        done = self.local(verb, *words)
        self.assertEqual(0, done.returncode, done.stderr + self.component.log[-3000:])
        return done.stdout

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            [os.environ["TIDEMARK_KUBECTL"], "--kubeconfig", str(self.data / "kubeconfig"), *arguments], input=stdin, capture_output=True, text=True, timeout=60
        )
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def apply_steady(self) -> None:
        """An online service that the first bad answer of its probe would end; each asking needs room on the disk."""
        probe = {"exec": {"command": ["true"]}, "periodSeconds": 1, "timeoutSeconds": 30, "failureThreshold": 1}
        container = {"name": "main", "image": "local", "command": ["sleep", "1000"], "livenessProbe": probe}
        meta = {"name": "steady", "labels": {"koordinator.sh/qosClass": "LS"}}
        self.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}))

    def restarts(self, name: str) -> int:
        return json.loads(self.kubectl("get", "pod", name, "-o", "json"))["status"]["containerStatuses"][0]["restartCount"]

    def free(self) -> int:
        found = os.statvfs(self.disk)
        return found.f_bavail * found.f_frsize

    def task(self, name: str) -> dict:
        return next((each for each in json.loads(self.done("ps", "-a", "-o", "json"))["tasks"] if each["name"] == name), {})

    def folder_of(self, name: str) -> Path:
        pod = json.loads(self.kubectl("get", "pods", "-l", f"job-name={name}", "-o", "json"))["items"][0]
        return self.data / "containers" / pod["metadata"]["uid"] / "main" / "0"

    def room_of(self, name: str) -> Path:
        return self.folder_of(name) / ".ended.json.new"

    def exit_code(self, name: str) -> int | None:
        """As its shim wrote it down; else as it was told already, and the folder is gone."""
        try:
            return json.loads((self.folder_of(name) / "ended.json").read_text())["exitCode"]
        except FileNotFoundError:
            return self.task(name).get("exitCode")

    def state(self, name: str) -> str:
        return next((line.split()[2] for line in self.done("ps", "-a").splitlines() if line.startswith(f"{name} ")), "")

    def begin_chatty(self, name: str) -> None:
        self.done("run", f"--name={name}", *RUN, "--", "sh", "-c", "yes $(head -c 4000 /dev/zero | tr '\\0' x)")
        wait_for(lambda: self.state(name) == "Running", f"{name} at work", self.component)

    def test_logs_leave_room_to_stop_who_writes_them(self):
        """The disk is smaller than what one log may have; most of it is somebody else's, since offline work on a busy machine writes slowly."""
        self.filler.write_bytes(b"\0" * (self.free() - LEFT_BYTES - (4 << 20)))
        before = self.free()
        self.begin_chatty("chatty")
        wait_for(lambda: self.free() < LEFT_BYTES + (1 << 20), "a disk that its log has filled, but for what is left to others", self.component)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            self.assertGreater(self.free(), LEFT_BYTES // 2)
            time.sleep(0.1)
        self.done("stop", "chatty", "--now")
        wait_for(lambda: self.state("chatty") == "", "it is gone", self.component)
        wait_for(lambda: self.free() > before - (1 << 20), "its logs are gone", self.component)
        self.assertEqual(0, self.component.stop(), self.component.log)

    def fill(self) -> None:
        with self.filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"\0" * 4096):
                pass

    def test_the_others_run_on_and_all_goes_on_when_there_is_room(self):
        before = self.free()
        self.apply_steady()
        for name, code in CODES.items():
            self.done("run", f"--name={name}", *RUN, "--", "sh", "-c", f"until [ -e {self.go} ]; do sleep 0.1; done; exit {code}")
            wait_for(lambda: self.state(name) == "Running", f"{name} runs", self.component)
        self.begin_chatty("chatty")
        wait_for(lambda: self.state("steady") == "Running", "the quiet one runs", self.component)
        self.fill()
        refused, taken = None, []
        for number in range(50):  # some room may be left in what is open already
            refused = self.local("run", f"--name=big-{number}", *RUN, f"--env=BIG={'x' * 100_000}", "--", "true")
            if refused.returncode != 0:
                break
            taken.append(f"big-{number}")
            self.fill()
        self.assertIn("507", refused.stderr)
        self.assertIn("full", refused.stderr)
        wait_for(lambda: "a probe cannot be asked" in self.component.log, "a probe that finds no room", self.component)
        self.assertEqual(["Running", "Running"], [self.state("steady"), self.state("chatty")], "reading goes on, and so do they")

        # Two end meanwhile: one into the room that was kept for its word, the other one's is gone, and it waits for some.
        self.room_of("late").unlink()
        self.fill()
        self.go.touch()
        wait_for(lambda: self.exit_code("early") is not None, "the word of one that ends on a full disk", self.component)
        self.assertEqual(CODES["early"], self.exit_code("early"))

        self.component.kill()
        self.start()
        wait_for(lambda: self.state("steady") == "Running" and self.state("chatty") in ("Running", "Limited"), "both adopted on a full disk", self.component)

        self.filler.unlink()
        wait_for(lambda: self.local("stop", "chatty", "--now").returncode == 0, "room", self.component)
        wait_for(lambda: self.state("chatty") == "", "it is gone", self.component)
        wait_for(lambda: self.free() > before - (4 << 20), "its logs are gone", self.component)
        after = self.local("run", "--name=after", *RUN, "--wait", "--", "sh", "-c", "echo room; exit 4")
        self.assertEqual((4, "room\n"), (after.returncode, after.stdout), after.stderr)
        self.assertEqual(("Running", 0), (self.state("steady"), self.restarts("steady")))
        for name, code in CODES.items():
            wait_for(lambda: self.task(name).get("exitCode") == code, f"how {name} ended", self.component)
        self.assertEqual(("Succeeded", "Failed"), (self.state("early"), self.state("late")))
        for name in taken:
            wait_for(lambda: self.state(name) == "Succeeded", f"{name}, which was taken, has lost nothing", self.component)
        for line in self.done("ps", "-a").splitlines()[1:]:
            if line and line.split()[1] in ("online", "free"):
                self.done("stop", line.split()[0], "--now")
        wait_for(lambda: not list(CGROUPS.glob(f"*/{self.group}/kubepods/**/pod*")), "their groups gone", self.component)
        self.assertEqual(0, self.component.stop(), self.component.log)
        self.assertEqual([], [top for top in (CGROUPS / self.group, *CGROUPS.glob(f"*/{self.group}")) if top.exists()])


if __name__ == "__main__":
    unittest.main()
