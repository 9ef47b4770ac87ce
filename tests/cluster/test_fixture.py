"""The cluster fixture itself: which users it accepts, that it survives kill -9, and that nothing survives the process that started it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from support.patience import PATIENCE_S as LIMIT_S

SMOKE = True



def kubectl(*arguments: str, context: str = "admin", kubeconfig: str | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [os.environ["TIDEMARK_KUBECTL"], "--kubeconfig", kubeconfig or os.environ["TIDEMARK_TEST_KUBECONFIG"], "--context", context, *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S,
    )


def control(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [os.environ["TIDEMARK_TEST_CLUSTER_CONTROL"], *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S
    )


def status() -> dict:
    return json.loads(control("status").stdout)


class Doors(unittest.TestCase):
    def test_each_context_is_the_user_it_names(self):
        for context, user in {"admin": "admin", "token-file": "admin", "certificate": "certificate-admin", "nobody": "nobody"}.items():
            with self.subTest(context):
                done = kubectl("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}", context=context)
                self.assertEqual(user, done.stdout, done.stderr)

    def test_a_user_without_permissions_is_refused(self):
        done = kubectl("get", "nodes", context="nobody")
        self.assertNotEqual(0, done.returncode)
        self.assertIn("Forbidden", done.stderr)

    def test_version_is_the_pinned_one(self):
        from driver.paths import KUBERNETES_VERSION

        module = (Path(__file__).parents[1] / "support" / "kubernetes" / "go.mod").read_text()
        self.assertIn(f"k8s.io/kubernetes v{KUBERNETES_VERSION}", module)
        found = json.loads(kubectl("version", "-o", "json").stdout)["serverVersion"]["gitVersion"]
        self.assertEqual(f"v{KUBERNETES_VERSION}", found)


class Faults(unittest.TestCase):
    def test_data_and_port_survive_kill_of_either(self):
        name = f"fixture-{os.getpid()}"
        self.assertEqual(0, kubectl("create", "configmap", name, "--from-literal=a=b").returncode)
        self.addCleanup(kubectl, "delete", "configmap", name)
        for program in ("apiserver", "etcd"):
            with self.subTest(program):
                before = status()[program]
                self.assertEqual(0, control("kill", program).returncode)
                self.assertEqual("stopped", status()[program]["state"])
                if program == "apiserver":
                    self.assertNotEqual(0, kubectl("get", "configmap", name).returncode)
                self.assertEqual(0, control("start", program).returncode)
                after = status()[program]
                self.assertEqual(("running", before["starts"] + 1), (after["state"], after["starts"]))
                done = kubectl("get", "configmap", name, "-o", "jsonpath={.data.a}")
                self.assertEqual("b", done.stdout, done.stderr)

    def test_pause_and_resume(self):
        self.assertEqual(0, control("pause", "apiserver").returncode)
        try:
            self.assertNotEqual(0, kubectl("get", "namespaces", "--request-timeout=1s").returncode)
        finally:
            self.assertEqual(0, control("resume", "apiserver").returncode)
        self.assertEqual(0, kubectl("get", "namespaces").returncode)

    def test_wrong_commands_are_refused(self):
        for arguments in (["kill"], ["kill", "kubelet"], ["explode"]):
            with self.subTest(arguments):
                self.assertNotEqual(0, control(*arguments).returncode)


class Ending(unittest.TestCase):
    """A cluster of its own, ended in each possible way."""

    def start(self, *, bound: bool):
        state = Path(tempfile.mkdtemp(prefix="tidemark-fixture-"))
        self.addCleanup(shutil.rmtree, state, ignore_errors=True)
        apiserver = Path(os.environ["TIDEMARK_KUBECTL"]).parent / "kube-apiserver"
        server = [sys.executable, "-m", "support.cluster.server", "--state", str(state), "--etcd", str(state / "etcd"), "--kube-apiserver", str(apiserver)]
        if bound:  # as the driver starts it: a waiting parent, with the supervisor bound to it by PDEATHSIG
            program = "import subprocess, sys; subprocess.run(['setpriv', '--pdeathsig', 'KILL', '--', *sys.argv[1:]])"
            server = [sys.executable, "-c", program, *server]
        child = subprocess.Popen(server, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(child.kill)
        deadline = time.monotonic() + LIMIT_S
        while not (state / "cluster.json").exists():
            self.assertIsNone(child.poll(), "the supervisor died")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        answer = subprocess.run([state / "control", "status"], capture_output=True, text=True, timeout=LIMIT_S).stdout
        pids = [program["pid"] for program in json.loads(answer).values()]
        self.assertEqual(2, len(pids))
        return child, state, pids

    def assert_gone(self, pids: list[int]) -> None:
        deadline = time.monotonic() + 20
        while any(_runs(pid) for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual([], [pid for pid in pids if _runs(pid)])

    def test_stop(self):
        child, state, pids = self.start(bound=False)
        self.assertEqual(0, subprocess.run([state / "control", "stop"], timeout=LIMIT_S).returncode)
        self.assertEqual(0, child.wait(LIMIT_S))
        self.assert_gone(pids)

    def test_supervisor_terminated_or_killed(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number=number):
                child, _, pids = self.start(bound=False)
                child.send_signal(number)
                child.wait(LIMIT_S)
                self.assert_gone(pids)

    def test_starter_killed(self):
        child, _, pids = self.start(bound=True)
        child.kill()
        child.wait(LIMIT_S)
        self.assert_gone(pids)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


if __name__ == "__main__":
    unittest.main()
