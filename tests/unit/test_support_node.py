"""The fixture of a real node before it starts: its image, its names, the processes to remove, and the reason if no node is possible."""

import contextlib
import errno
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from driver import cluster, packages
from driver import node as driver_node
from driver.console import Failed
from support import owners
from support.node import cgroups, image, inside, node, pods, settings


class Image(unittest.TestCase):
    def test_the_archive_is_what_its_digests_say(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "busybox").write_bytes(b"any program")
        with mock.patch.object(image, "BUSYBOX", folder / "busybox"):
            image.make(folder / "image.tar", folder)
        with tarfile.open(folder / "image.tar") as archive:
            manifest = json.load(archive.extractfile("manifest.json"))[0]
            config = json.load(archive.extractfile(manifest["Config"]))
            layer = archive.extractfile(manifest["Layers"][0]).read()
        self.assertEqual([image.NAME], manifest["RepoTags"])
        self.assertEqual([f"sha256:{hashlib.sha256(layer).hexdigest()}"], config["rootfs"]["diff_ids"])
        with tarfile.open(fileobj=io.BytesIO(layer)) as files:
            self.assertLessEqual({"bin/work", "bin/busybox", "bin/sh"}, set(files.getnames()))


class Pods(unittest.TestCase):
    def test_the_classes_come_from_requests_and_limits(self):
        for work in pods.spread(6, 10, 20):
            asked = pods.resources(work)
            guaranteed = bool(asked) and asked["requests"] == asked["limits"]
            self.assertEqual(work.qos, pods.GUARANTEED if guaranteed else pods.BURSTABLE if asked else pods.BEST_EFFORT)


class Cgroups(unittest.TestCase):
    def test_a_name_that_is_not_of_a_test_is_refused(self):
        for name in ("", "kubepods", "..", "tidemark-test-", "tidemark-test-0123456g", "tidemark-test-01234567/..", "tidemark-test-01234567/", "tidemark-test-01234567/a/../../b", "system.slice"):
            with self.subTest(name):
                for what in (cgroups.make, cgroups.remove):
                    with self.assertRaises(ValueError):
                        what(name)


    def test_a_hierarchy_that_cannot_be_written_is_one_too_many(self):
        there = [Path("/cgroups/cpu"), Path("/cgroups/memory")]
        for read_only, expected in (([], True), (there[1:], False), (there, False)):
            with self.subTest(read_only=read_only), mock.patch.object(cgroups, "hierarchies", lambda: there):
                with mock.patch.object(os, "access", lambda path, _, read_only=read_only: path not in read_only):
                    self.assertEqual(expected, cgroups.writable())


class Life(unittest.TestCase):
    """A node without its programs."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.node = node.Node.__new__(node.Node)
        self.node.name, self.node.cgroup, self.node.layout, self.node._api = "node-0", "tidemark-test-00000000", settings.Layout(self.folder / "state"), None
        self.node._child = mock.Mock()
        self.node._child.poll.return_value = None

    def test_a_kubelet_that_is_just_started_again_is_waited_for(self):
        """It has the number 0 then, and kill(0) would signal the whole process group of the test."""
        with (
            mock.patch.object(node.Node, "_kubelet_pid", side_effect=[0, 0, 4242, 0, 4242, 4343]), mock.patch.object(node.Node, "_healthy", return_value=True),
            mock.patch.object(node.os, "kill") as kill,
        ):
            self.node.kill_kubelet()
        kill.assert_called_once_with(4242, signal.SIGKILL)

    def test_no_kubelet_at_all_is_a_failure(self):
        self.node._child.poll.return_value = 1
        with mock.patch.object(node.Node, "_kubelet_pid", return_value=0), mock.patch.object(node.os, "kill") as kill, self.assertRaises(node.NotReady):
            self.node.kill_kubelet()
        kill.assert_not_called()

    def test_the_end_does_not_depend_on_the_logs(self):
        self.node.layout.logs.mkdir(parents=True)
        kept = self.folder / "kept"
        kept.write_text("no folder")
        did = mock.Mock()
        did.attach_mock(self.node._child, "child")
        said = self.enterContext(contextlib.redirect_stderr(io.StringIO()))
        with mock.patch.dict("os.environ", {"TIDEMARK_TEST_KEPT_LOGS": str(kept)}), mock.patch.object(node, "_take_away", did.take_away):
            did.take_away.return_value = ["mount x"]
            self.assertEqual(["mount x"], self.node.stop())
        self.assertEqual(["child.kill", "child.wait", "take_away"], [name for name, _, _ in did.mock_calls])
        self.assertIn("node-0", said.getvalue())

    def test_the_started_program_can_be_waited_for(self):
        """subprocess buries what it finds dropped, with the next that it starts."""
        layout = settings.Layout(self.folder / "state")
        layout.logs.mkdir(parents=True)
        pid = inside.start(layout, "containerd", ["false"])
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        subprocess.run(["true"])
        self.assertEqual(1, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


class Leftovers(unittest.TestCase):
    def setUp(self):
        self.place = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.object(node, "PLACE", self.place))

    def record(self, mark: str, cgroup: str = "tidemark-test-00000000") -> Path:
        folder = Path(tempfile.mkdtemp(prefix=node.PREFIX, dir=self.place))
        (folder / "node.json").write_text(json.dumps({"node": "node-0", "cgroup": cgroup}))
        (folder / owners.MARK).write_text(mark)
        return folder

    def test_only_what_has_lost_its_owner_is_taken_away(self):
        child = subprocess.Popen([sys.executable, "-c", ""])
        child.wait()
        here = os.readlink("/proc/self/ns/pid")
        mine = self.record("")
        owners.mark(mine)
        reused = self.record(f"{os.getpid()} 1 {here}")  # the number of one that is gone, by now of another process
        dead = self.record(f"{child.pid} 1 {here}")
        elsewhere = self.record(f"{child.pid} 1 pid:[1]")  # of another container, which shares this folder
        foreign = self.record(f"{child.pid} 1 {here}", cgroup="kubepods")
        unread = Path(tempfile.mkdtemp(prefix=node.PREFIX, dir=self.place))
        self.assertEqual((["node-0", "node-0"], []), node.clear_away(None))
        folders = (mine, reused, dead, elsewhere, foreign, unread)
        self.assertEqual([True, False, False, True, True, True], [folder.exists() for folder in folders])

    def test_clusters_of_killed_drivers_are_taken_away_and_others_stay(self):
        left, used, unknown = (self.place / f"tidemark-cluster-{name}" for name in ("left", "used", "unknown"))
        for folder in (left, used, unknown):
            folder.mkdir()
        (left / owners.MARK).write_text(f"{os.getpid()} 1 {os.readlink('/proc/self/ns/pid')}")
        owners.mark(used)
        owners.clear_away(self.place, cluster.PREFIX)
        self.assertEqual([False, True, True], [folder.exists() for folder in (left, used, unknown)])

class WhereThereCanBeNone(unittest.TestCase):
    def test_packages_that_cannot_be_installed_are_a_reason(self):
        with mock.patch.object(packages, "setup", side_effect=Failed("run as root: apt-get install containerd")):
            self.assertEqual(({}, "run as root: apt-get install containerd"), driver_node.provide())

    def test_a_containerd_from_elsewhere_is_not_pushed_out(self):
        with mock.patch.object(driver_node.shutil, "which", lambda name: None if name == "busybox" else "/x"), mock.patch.object(packages, "setup") as setup:
            with mock.patch.object(node, "why_not", lambda: "enough for this test"):
                driver_node.provide()
        setup.assert_called_once_with(["busybox-static"])

    def test_what_is_missing_is_named(self):
        with mock.patch.object(node.shutil, "which", lambda name: None if name == "runc" else "/x"), mock.patch.object(node.os, "geteuid", lambda: 0):
            self.assertIn("missing: runc", node.why_not())
        with mock.patch.object(node.os, "geteuid", lambda: 1000):
            self.assertIn("root", node.why_not())

    def test_what_the_kernel_refuses_is_named(self):
        place = Path(self.enterContext(tempfile.TemporaryDirectory()))

        def why_not(refused: str = "") -> str:
            def run(command, **_):
                return subprocess.CompletedProcess(command, int(refused in command), "", "wrong fs type\n" if refused in command else "")

            with mock.patch.object(node.subprocess, "run", run):
                return node.why_not()

        with (
            mock.patch.object(node, "PLACE", place), mock.patch.object(node.shutil, "which", lambda _: "/x"), mock.patch.object(node.os, "geteuid", lambda: 0),
            mock.patch.object(image, "BUSYBOX", place), mock.patch.object(cgroups, "writable", lambda: True), mock.patch.object(node, "_address", lambda: "192.0.2.2"),
        ):
            self.assertEqual("", why_not())
            self.assertIn("namespaces", why_not("--pid"))
            self.assertIn(f"{place} cannot be written under an overlay: wrong fs type: mount", why_not("overlay"))
            with mock.patch.object(node, "_address", side_effect=OSError(errno.ENETUNREACH, "Network is unreachable")):
                self.assertIn("Network is unreachable: give the machine a default route", why_not())
            with mock.patch.object(cgroups, "writable", lambda: False):
                self.assertIn("cgroup", why_not())
        self.assertEqual([], list(place.iterdir()))


class Settings(unittest.TestCase):
    def test_the_kubelet_asks_the_api_server_who_may_what(self):
        layout = settings.Layout(Path("/tmp/n"))
        kubelet = json.loads(settings.kubelet(layout, "tidemark-test-00000000", (1, 2), Path("/ca.crt")))
        self.assertEqual(("Webhook", False, 0), (kubelet["authorization"]["mode"], kubelet["authentication"]["anonymous"]["enabled"], kubelet["readOnlyPort"]))
        self.assertEqual("/tidemark-test-00000000", kubelet["cgroupRoot"])
        self.assertIn("restrict_oom_score_adj = true", settings.containerd(layout))


if __name__ == "__main__":
    unittest.main()
