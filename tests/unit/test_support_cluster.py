"""The supervisor of the test cluster without a cluster: requests, programs that run and do not answer, and their repair."""

import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

from driver import cluster
from support.cluster import control, server
from support.cluster.programs import Layout


class Asking(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_in_a_folder_whose_name_is_longer_than_an_address_and_without_going_there(self):
        state = self.folder / ("x" * 120)
        state.mkdir()
        door = os.open(state, os.O_PATH | os.O_DIRECTORY)
        self.addCleanup(os.close, door)
        listener = self.enterContext(socket.socket(socket.AF_UNIX))
        listener.bind(f"/proc/self/fd/{door}/control.sock")
        listener.listen()

        def answer():
            connection, _ = listener.accept()
            with connection:
                request = json.loads(connection.makefile("rb").readline())
                connection.sendall(json.dumps({"asked": request}).encode() + b"\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with mock.patch.object(os, "chdir", side_effect=AssertionError("the working folder belongs to all threads")):
            said = control.ask(state, "kill", "etcd")
        thread.join()
        self.assertEqual({"asked": {"command": "kill", "program": "etcd"}}, said)

    def test_where_no_cluster_is(self):
        before = len(os.listdir("/proc/self/fd"))
        for state in (self.folder, self.folder / "absent"):
            with self.assertRaises(control.Refused):
                control.ask(state, "status")
        self.assertEqual(before, len(os.listdir("/proc/self/fd")))


class InMemory(unittest.TestCase):
    def test_etcd_is_in_memory_only_if_there_is_room(self):
        for place, free, expected in ((Path("/"), 3 << 30, Path("/")), (Path("/"), 1 << 30, None), (Path("/nonexistent"), 3 << 30, None)):
            usage = mock.Mock(free=free)
            with mock.patch.object(cluster, "MEMORY", place), mock.patch.object(cluster.os, "access", lambda *_: True), mock.patch.object(cluster.shutil, "disk_usage", lambda _: usage):
                self.assertEqual(expected, cluster.memory())


class Paused(unittest.TestCase):
    def test_a_program_that_a_signal_stopped_does_not_count_as_running(self):
        supervisor = server.Cluster(Layout(Path("/nonexistent"), Path("/nonexistent")), Path("/nonexistent"))
        child = supervisor._running["etcd"] = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL)
        self.addCleanup(supervisor.kill, "etcd")

        def state() -> str:
            return server.obey(supervisor, {"command": "status"})["etcd"]["state"]

        self.assertEqual("running", state())
        server.obey(supervisor, {"command": "pause", "program": "etcd"})
        self.assertEqual("paused", state())
        server.obey(supervisor, {"command": "resume", "program": "etcd"})
        self.assertEqual("running", state())
        child.send_signal(signal.SIGSTOP)  # not through the supervisor
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        self.assertEqual("paused", state())
        server.obey(supervisor, {"command": "kill", "program": "etcd"})
        self.assertEqual("stopped", state())


class PuttingRight(unittest.TestCase):
    def put_right(self, etcd: str, apiserver: str) -> tuple[str, list[tuple[str, str]]]:
        asked = []

        def ask(_, command, program=""):
            asked.append((command, program))
            return {"etcd": {"state": etcd}, "apiserver": {"state": apiserver}} if command == "status" else {"ok": True}

        with mock.patch.object(control, "ask", ask):
            return control.put_right(Path("state")), asked[1:]

    def test_what_runs_is_left_alone(self):
        self.assertEqual(("", []), self.put_right("running", "running"))

    def test_a_paused_program_is_resumed_and_reported(self):
        self.assertEqual(
            ("etcd paused", [("resume", "etcd"), ("start", "etcd"), ("start", "apiserver")]), self.put_right("paused", "running")
        )
        self.assertEqual(
            ("etcd stopped; apiserver paused", [("start", "etcd"), ("resume", "apiserver"), ("start", "apiserver")]),
            self.put_right("stopped", "paused"),
        )


if __name__ == "__main__":
    unittest.main()
