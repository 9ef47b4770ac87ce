"""`tidemark up` and an unmodified kubectl: the recorded sessions, and kill -9 while kubectl creates, labels, applies and watches."""

import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from contract import kubectl
from contract.memory import Memory
from support.patience import PATIENCE_S as COMMAND_S

KUBECTL = Path(os.environ.get("TIDEMARK_KUBECTL", ""))
NAMESPACE = "killed"
ENOUGH = 4  # acknowledged commands of each writer before the kill

# The manager of `tidemark up` also writes to nodes; these records do not contain that.
WITH_A_MANAGER = "nodes"


@unittest.skipUnless("TIDEMARK_KUBECTL" in os.environ, "no kubectl")
class WithUp(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.start("127.0.0.1:0")

    def start(self, listen: str) -> None:
        data = self.folder / "data"
        self.memory = Memory([os.environ["TIDEMARK_BINARY"], "up", "--pods=false", "--data-dir", str(data), "--listen", listen], data)
        self.addCleanup(self.memory.kill)
        self.memory.start()
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(self.memory.kubeconfig), "LC_ALL": "C.UTF-8"}

    def kubectl(self, *words: str, text: str = "") -> subprocess.CompletedProcess:
        return subprocess.run(
            [KUBECTL, "--namespace", NAMESPACE, *words], input=text, env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=COMMAND_S
        )

    def must(self, *words: str, text: str = "") -> str:
        done = self.kubectl(*words, text=text)
        self.assertEqual(0, done.returncode, f"kubectl {' '.join(words)}: {done.stderr}")
        return done.stdout


class Sessions(WithUp):
    def test_the_recorded_sessions(self):
        names = [file.stem for file in kubectl.FOLDER.glob("*.session") if file.stem != WITH_A_MANAGER]
        results = kubectl.run_sessions(KUBECTL, self.memory.kubeconfig, self.folder / "sessions", names=names, in_memory=True)
        self.assertGreater(len(results), 50)
        self.assertEqual([], [result.detail for result in results if result.outcome == "failed"])


class Writer(threading.Thread):
    """Runs commands one after the other until one fails. `said` has the acknowledged ones; the failed one may have been executed."""

    def __init__(self, test: WithUp, commands):
        super().__init__(daemon=True)
        self._test, self._commands = test, commands
        self.said: dict[str, dict] = {}  # name → its last acknowledged state
        self.count = 0
        self.unanswered: tuple[str, dict] = ("", {})
        self.failure = ""

    def run(self) -> None:
        for name, state, words, text in self._commands:
            self.unanswered = (name, state)
            try:
                done = self._test.kubectl(*words, text=text)
            except subprocess.TimeoutExpired:
                self.failure = "it hung"
                return
            if done.returncode != 0:
                self.failure = done.stderr.strip()
                return
            self.said[name] = state
            self.count += 1


def creating_and_labelling():
    for number in range(10_000):
        name = f"made-{number}"
        yield name, {"v": str(number)}, ["create", "configmap", name, f"--from-literal=v={number}"], ""
        yield name, {"v": str(number), "step": "2"}, ["label", "configmap", name, "step=2"], ""


def applying():
    for number in range(10_000):
        name = f"applied-{number % 3}"
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"v": str(number)}}
        yield name, {"v": str(number)}, ["apply", "-f", "-"], json.dumps(body)


class Killed(WithUp):
    def watcher(self, *words: str) -> tuple[subprocess.Popen, Path]:
        seen = self.folder / f"seen-{time.monotonic_ns()}"
        with open(seen, "wb") as out:
            child = subprocess.Popen(
                [KUBECTL, "--namespace", NAMESPACE, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=self.environment, cwd=self.folder
            )
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child, seen

    def until(self, condition, what: str) -> None:
        deadline = time.monotonic() + COMMAND_S
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"not within {COMMAND_S} s: {what}")
            time.sleep(0.02)

    def held(self) -> dict[str, dict]:
        items = json.loads(self.must("get", "configmaps", "-o", "json"))["items"]
        return {
            item["metadata"]["name"]: {"v": item["data"]["v"], **({"step": labels["step"]} if (labels := item["metadata"].get("labels", {})) else {})}
            for item in items
        }

    def test_nothing_that_kubectl_acknowledged_is_lost(self):
        self.must("create", "namespace", NAMESPACE)
        watching, seen = self.watcher("get", "configmaps", "-w", "--output-watch-events")
        writers = [Writer(self, creating_and_labelling()), Writer(self, applying())]
        for writer in writers:
            writer.start()
        self.until(lambda: all(writer.count >= ENOUGH or writer.failure for writer in writers), f"{ENOUGH} commands of each writer")
        waiting, _ = self.watcher("wait", "--for=jsonpath={.data.done}=yes", "configmap/applied-0", f"--timeout={COMMAND_S}s")
        self.until(lambda: "ADDED" in seen.read_text(), "the watch to show something")
        self.memory.kill()
        for writer in writers:
            writer.join(2 * COMMAND_S)
            self.assertGreaterEqual(writer.count, ENOUGH, writer.failure)
            self.assertRegex(writer.failure, r"refused|EOF|reset|closed|lost|unexpected", "kubectl reports that the server is gone")

        self.start(":".join(map(str, self.memory.target.address)))
        held = self.held()
        for writer in writers:
            name, state = writer.unanswered
            for known, said in writer.said.items():
                allowed = [said] + ([state] if known == name else [])
                self.assertIn(held.get(known), allowed, f"{known} after the kill")
        unknown = held.keys() - {name for writer in writers for name in (*writer.said, writer.unanswered[0])}
        self.assertEqual(set(), unknown, "objects without a writer")

        # The interrupted watch has shown only real changes, and ends.
        self.ended(watching)
        shown = set(re.findall(r"^(?:ADDED|MODIFIED) +(\S+)", seen.read_text(), re.M))
        self.assertEqual(set(), shown - held.keys(), "the watch showed missing objects")

        again, seen_again = self.watcher("get", "configmaps", "-w", "--output-watch-events")
        self.until(lambda: held.keys() <= set(re.findall(r"^ADDED +(\S+)", seen_again.read_text(), re.M)), "a new watch to show the objects")
        self.must("label", "configmap", "applied-0", "after=kill")
        self.until(lambda: re.search(r"^MODIFIED +applied-0 ", seen_again.read_text(), re.M), "a new watch to show a change")
        again.send_signal(signal.SIGINT)
        self.ended(again)

        self.must("patch", "configmap", "applied-0", "--type=merge", "-p", '{"data":{"done":"yes"}}')
        self.must("wait", "--for=jsonpath={.data.done}=yes", "configmap/applied-0", "--timeout=60s")
        self.ended(waiting)  # the interrupted wait: kubectl waits on at the new server, or has reported the end of the first one
        self.must("delete", "configmaps", "--all")
        self.must("wait", "--for=delete", "configmap/applied-0", "--timeout=60s")
        self.assertEqual({}, self.held())

        self.memory.kill()
        self.start("127.0.0.1:0")
        self.assertEqual({}, self.held(), "deleted objects stay deleted after a kill")

    def ended(self, child: subprocess.Popen) -> int:
        try:
            return child.wait(COMMAND_S)
        except subprocess.TimeoutExpired:
            self.fail(f"{child.args}: still running {COMMAND_S} s after its server was killed")


if __name__ == "__main__":
    unittest.main()
