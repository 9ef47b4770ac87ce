"""`tidemark up` on a disk that the logs of one pod fill: the other pods run on, a task that ends has its exit code, what cannot be stored is refused with the reason,
a killed `tidemark up` starts again on it, and all continues when space is free."""

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
LEFT_BYTES = 1 << 20  # 5 % of a disk of 24 MiB
RUN = ["--class=free"]
CODES = {"early": 0, "late": 5}  # of two jobs that end on a full disk


class LocalDiskFull(unittest.TestCase):
    def setUp(self):
        self.disk = Path(tempfile.mkdtemp(prefix="tidemark-disk-"))
        try:
            mount_small_disk(self.disk)
        except OSError as error:
            self.skipTest(f"a disk of its own cannot be mounted here: {error}; run as root")
        self.filler = self.disk / "filler"  # plays another program's file
        self.data = self.disk / "data"
        self.group = f"tidemark-test-{secrets.token_hex(4)}"
        self.addCleanup(lambda: cgroups.there(self.group) and plain_groups.clear(self.group))  # tasks outlive a failed test
        more = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-run-")))
        self.go = more / "go"
        listen = f"127.0.0.1:{ports.free(1)[0]}"  # the same after a kill, so its kubeconfig stays valid
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
        """An online service that the first failed probe would end; each probe needs space on the disk."""
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
        """From the file of its shim; otherwise as already reported, after the directory is gone."""
        try:
            return json.loads((self.folder_of(name) / "ended.json").read_text())["exitCode"]
        except FileNotFoundError:
            return self.task(name).get("exitCode")

    def state(self, name: str) -> str:
        return next((line.split()[2] for line in self.done("ps", "-a").splitlines() if line.startswith(f"{name} ")), "")

    def begin_chatty(self, name: str) -> None:
        self.done("run", f"--name={name}", *RUN, "--", "sh", "-c", "yes $(head -c 4000 /dev/zero | tr '\\0' x)")
        wait_for(lambda: self.state(name) == "Running", f"{name} at work", self.component)

    def test_logs_leave_space_to_stop_their_writer(self):
        """The disk is smaller than the limit of one log. Another file fills most of it, since offline work on a busy machine writes slowly."""
        self.filler.write_bytes(b"\0" * (self.free() - LEFT_BYTES - (4 << 20)))
        before = self.free()
        self.begin_chatty("chatty")
        wait_for(lambda: self.free() < LEFT_BYTES + (1 << 20), "a disk filled by its log except the reserve", self.component)
        end = time.monotonic() + 3
        while time.monotonic() < end:
            self.assertGreater(self.free(), LEFT_BYTES // 2)
            time.sleep(0.1)
        self.done("stop", "chatty", "--now")
        wait_for(lambda: self.state("chatty") == "", "it is gone", self.component)
        wait_for(lambda: self.free() > before - (1 << 20), "its logs to go", self.component)
        self.assertEqual(0, self.component.stop(), self.component.log)

    def fill(self) -> None:
        with self.filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"\0" * 4096):
                pass

    def test_other_pods_run_on_and_all_continues_when_space_is_free(self):
        before = self.free()
        self.apply_steady()
        for name, code in CODES.items():
            self.done("run", f"--name={name}", *RUN, "--", "sh", "-c", f"until [ -e {self.go} ]; do sleep 0.1; done; exit {code}")
            wait_for(lambda: self.state(name) == "Running", f"{name} runs", self.component)
        self.begin_chatty("chatty")
        wait_for(lambda: self.state("steady") == "Running", "the quiet pod to run", self.component)
        self.fill()
        refused, taken = None, []
        for number in range(50):  # open files may have some space left
            refused = self.local("run", f"--name=big-{number}", *RUN, f"--env=BIG={'x' * 100_000}", "--", "true")
            if refused.returncode != 0:
                break
            taken.append(f"big-{number}")
            self.fill()
        self.assertIn("507", refused.stderr)
        self.assertIn("full", refused.stderr)
        wait_for(lambda: "a probe cannot be asked" in self.component.log, "a probe without space", self.component)
        self.assertEqual(["Running", "Running"], [self.state("steady"), self.state("chatty")], "reads still work, and the pods run on")

        # Two end meanwhile: one in the reserve for its exit code; the reserve of the other is gone, and it waits for space.
        self.room_of("late").unlink()
        self.fill()
        self.go.touch()
        wait_for(lambda: self.exit_code("early") is not None, "an exit code on a full disk", self.component)
        self.assertEqual(CODES["early"], self.exit_code("early"))

        self.component.kill()
        self.start()
        wait_for(lambda: self.state("steady") == "Running" and self.state("chatty") in ("Running", "Limited"), "both to be adopted on a full disk", self.component)

        self.filler.unlink()
        wait_for(lambda: self.local("stop", "chatty", "--now").returncode == 0, "room", self.component)
        wait_for(lambda: self.state("chatty") == "", "it is gone", self.component)
        wait_for(lambda: self.free() > before - (4 << 20), "its logs to go", self.component)
        after = self.local("run", "--name=after", *RUN, "--wait", "--", "sh", "-c", "echo room; exit 4")
        self.assertEqual((4, "room\n"), (after.returncode, after.stdout), after.stderr)
        self.assertEqual(("Running", 0), (self.state("steady"), self.restarts("steady")))
        for name, code in CODES.items():
            wait_for(lambda: self.task(name).get("exitCode") == code, f"how {name} ended", self.component)
        self.assertEqual(("Succeeded", "Failed"), (self.state("early"), self.state("late")))
        for name in taken:
            wait_for(lambda: self.state(name) == "Succeeded", f"{name} to succeed without loss", self.component)
        for line in self.done("ps", "-a").splitlines()[1:]:
            if line and line.split()[1] in ("online", "free"):
                self.done("stop", line.split()[0], "--now")
        wait_for(lambda: not list(CGROUPS.glob(f"*/{self.group}/kubepods/**/pod*")), "their groups gone", self.component)
        self.assertEqual(0, self.component.stop(), self.component.log)
        self.assertEqual([], [top for top in (CGROUPS / self.group, *CGROUPS.glob(f"*/{self.group}")) if top.exists()])


if __name__ == "__main__":
    unittest.main()
