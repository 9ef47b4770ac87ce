"""Features of pods of `tidemark up`: a directory as root, HTTP and TCP probes; a terminal that shows running and waiting tasks; and the same without root, without limits and in observe mode."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from cluster.local_case import batch_job
from cluster.tidemark_process import Component, wait_for
from support import owners, ports
from support.node import cgroups
from support.patience import PATIENCE_S
from support.terminal import OTHER_SCREEN, OWN_SCREEN, Terminal

NOBODY = 65534


def pod(name: str, command: list[str], annotations: dict | None = None, **container) -> dict:
    spec = {"terminationGracePeriodSeconds": 1, "containers": [{"name": "main", "image": "local", "command": command, **container}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations or {}}, "spec": spec}


def root_with(folder: Path, program: str) -> None:
    """A directory with only that program and its shared libraries."""
    program = os.path.realpath(shutil.which(program))
    linked = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout)
    for file in (program, *linked):
        (folder / file.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, folder / file.lstrip("/"))


class LocalPods(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-pods-")))
        self.group = f"tidemark-test-{os.getpid()}-pods"

    def arguments(self) -> list[str]:
        return [
            "up", "--data-dir", str(self.folder / "data"), "--listen", "127.0.0.1:0", "--node-name", "here", "--pod-group", f"/{self.group}",
            "--run-dir", str(self.folder / "run"), "--latch-file", str(self.folder / "off"),
        ]

    def start(self) -> None:
        self.component = Component(*self.arguments())
        self.begun()

    def begun(self) -> None:
        self.addCleanup(self.take_down)
        self.kubeconfig = wait_for(lambda: (re.search(r"^kubeconfig +(\S+)$", self.component.log, re.M) or [None, None])[1], "a kubeconfig", self.component)
        wait_for(lambda: self.kubectl("get", "node", "here").returncode == 0, "a node", self.component)

    def take_down(self):
        self.kubectl("delete", "pods", "--all", "--grace-period=0", "--force")
        wait_for(lambda: not self.containers(), "containers gone", self.component)
        self.component.stop()

    def containers(self) -> list[str]:
        """Their directories, pod/name/number, also during removal."""
        root = self.folder / "data/containers"
        return [folder for folder, _, _ in os.walk(root) if len(Path(folder).relative_to(root).parts) == 3]

    def kubectl(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess:
        return subprocess.run([os.environ["TIDEMARK_KUBECTL"], "--kubeconfig", self.kubeconfig, *arguments], input=stdin, capture_output=True, text=True, timeout=PATIENCE_S)

    def apply(self, *objects: dict):
        done = self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))
        self.assertEqual(0, done.returncode, done.stderr)

    def status(self, name: str) -> dict:
        return json.loads(self.kubectl("get", "pod", name, "-o", "json").stdout)["status"]

    def container(self, name: str) -> dict:
        return next(iter(self.status(name).get("containerStatuses", [])), {"ready": False, "restartCount": 0})

    def log_of(self, name: str) -> str:
        return "".join(file.read_text() for file in (self.folder / "data/logs").glob(f"default_{name}_*/main/*.log"))

    def test_probes_use_http_and_tcp(self):
        web, closed = ports.free(2)
        self.start()
        serve = ["python3", "-m", "http.server", "--bind=127.0.0.1", "--directory", str(self.folder), str(web)]
        often = {"periodSeconds": 1, "timeoutSeconds": 2, "failureThreshold": 1}
        self.apply(
            pod("web", serve, readinessProbe={"httpGet": {"port": web, "path": "/"}, **often}),
            pod("wrong-path", ["sleep", "1000"], readinessProbe={"httpGet": {"port": web, "path": "/none"}, **often}),
            pod("open-port", ["sleep", "1000"], readinessProbe={"tcpSocket": {"port": web}, **often}),
            pod("shut-port", ["sleep", "1000"], livenessProbe={"tcpSocket": {"port": closed}, **often}),
        )
        for name in ("web", "open-port"):
            wait_for(lambda: self.container(name)["ready"], f"{name} is ready", self.component)
        wait_for(lambda: "GET /none" in self.log_of("web"), "a request of the other probe", self.component)
        self.assertFalse(self.container("wrong-path")["ready"], "404 is a failure")
        wait_for(lambda: self.container("shut-port")["restartCount"] > 0, "the unhealthy container to restart", self.component)

    def test_top_shows_running_and_waiting_tasks_in_the_terminals_size(self):
        self.start()
        terminal = Terminal(30, 110)
        self.addCleanup(terminal.close)
        before = terminal.settings()
        words = [os.environ["TIDEMARK_BINARY"], "local", "top", f"--data-dir={self.folder / 'data'}"]
        row = lambda text: next((line for line in terminal.screen() if text in line), "")

        with terminal.start(*words, "--interval=200ms") as top:
            self.assertIn(OTHER_SCREEN, terminal.read_until(b"\x1b[J"))
            self.assertTrue(terminal.screen()[0].startswith("tidemark  here  "), terminal.screen())
            self.apply(batch_job("runs", ["sleep", "1000"], "32Mi"), batch_job("waits", ["sleep", "1000"], "1Pi"))
            terminal.wait_for(lambda: " 32Mi of " in row("SOLD"), "sold memory")
            terminal.wait_for(lambda: "batch-memory" in row("waits"), "a waiting task, with its reason")
            self.kubectl("delete", "job", "waits")
            terminal.wait_for(lambda: row("none waits"), "an empty queue")
            terminal.type(b"q")
            terminal.read_until(OWN_SCREEN)
            self.assertEqual(0, top.wait(PATIENCE_S))
        self.assertEqual(before, terminal.settings())

        with terminal.start(*words, "--interval=1h") as top:  # only a resize draws again
            terminal.wait_for(lambda: len(terminal.screen()) > 8, "a screen")
            for rows, columns, lines in ((8, 64, 1), (5, 40, 1), (30, 110, 9)):
                terminal.read = b""
                terminal.resize(rows, columns)  # one drawing of the old size may still come
                fits = lambda screen: lines <= len(screen) <= rows and max(map(len, screen)) <= columns
                terminal.wait_for(lambda: fits(terminal.screen()), f"{lines} to {rows} lines of {columns} columns at most")
            terminal.type(b"\x03")
            terminal.read_until(OWN_SCREEN)
            self.assertEqual(128 + signal.SIGINT, top.wait(PATIENCE_S))
        self.assertEqual(before, terminal.settings())

    @unittest.skipUnless(os.geteuid() == 0, "a different root directory needs root")
    def test_a_directory_of_the_machine_is_the_root(self):
        root = self.folder / "root"
        root.mkdir()
        root_with(root, "cat")
        (root / "marker").write_text("from inside\n")
        self.start()
        cat = os.path.realpath(shutil.which("cat"))
        self.apply(pod("inside", [cat, "/marker"], {"tidemark.io/rootfs": str(root)}), pod("outside", [cat, "/marker"]))
        wait_for(lambda: "from inside" in self.log_of("inside"), "the file of that directory", self.component)
        wait_for(lambda: "No such file" in self.log_of("outside"), "that is missing on this machine", self.component)

    @unittest.skipUnless(os.geteuid() == 0, "becomes another user")
    def test_without_root_pods_run_unlimited_in_observe_mode(self):
        self.folder.chmod(0o755)
        for above in self.folder.parents:
            if above.name.startswith(owners.SCRATCH):
                above.chmod(0o755)
        own = self.folder / "own"
        own.mkdir()
        os.chown(own, NOBODY, NOBODY)
        binary = self.folder / "tidemark"
        shutil.copy(os.environ["TIDEMARK_BINARY"], binary)
        binary.chmod(0o755)
        self.folder = own
        self.component = Component(f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", str(binary), *self.arguments(), binary="setpriv")
        self.begun()
        self.assertIn("not run by root: pods have no cgroups and no limits; decisions for them are only shown", self.component.log)
        wait_for(lambda: "pods run without groups of their own" in self.component.log, "a word about groups", self.component)
        self.apply(pod("mine", ["sh", "-c", "id -u; sleep 1000"]))
        wait_for(lambda: f" stdout F {NOBODY}\n" in self.log_of("mine"), "it to run as the user that started it", self.component)
        self.assertEqual([], cgroups.there(self.group))

        def stands() -> str:
            conditions = json.loads(self.kubectl("get", "node", "here", "-o", "json").stdout)["status"]["conditions"]
            return next((each["reason"] for each in conditions if each["type"] == "TidemarkIsolation"), "")

        wait_for(lambda: stands() == "Observing", "condition Observing", self.component)


if __name__ == "__main__":
    unittest.main()
