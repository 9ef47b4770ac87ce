"""What the fixture of a real YARN does before there is one, and after it was killed: its Java, its settings, whose processes are its own."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree
from pathlib import Path
from unittest import mock

from driver import maven_jars, packages, yarn
from driver.console import Failed
from support import owners
from support.yarn import groups as container_groups
from support.yarn import leftovers, settings
from support.yarn.job import Job
from support.yarn.server import NotReady, Server, until
from support.yarn.yarn import EXECUTOR

PATIENCE_S = 60


class Java(unittest.TestCase):
    def java(self, version: str, compiler: bool = True) -> str:
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "java"
        file.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
        file.chmod(0o755)
        if compiler:
            file.with_name("javac").symlink_to(file)
        return str(file)

    def test_the_right_one_is_taken_wherever_it_stands(self):
        old, right, new = self.java("1.8.0_302"), self.java("17.0.15"), self.java("25")
        self.assertEqual(os.path.realpath(right), yarn.find_java([None, new, old, "/nonexistent/java", right]))
        self.assertIsNone(yarn.find_java([old, new, self.java("17.0.15", compiler=False)]))


SERVERS = {"krb5-kdc": "krb5kdc", "krb5-admin-server": "kadmin.local", "krb5-user": "kinit", "postgresql-15": "pg_ctlcluster", "libpq5": "pg_ctlcluster"}


class Providing(unittest.TestCase):
    def setUp(self):
        self.setup = self.enterContext(mock.patch.object(packages, "setup"))
        self.enterContext(mock.patch.object(yarn, "find_java", lambda: self.java))
        self.enterContext(mock.patch.object(yarn.shutil, "which", lambda program, path=None: program if program in self.there else None))
        self.there = set(SERVERS.values())
        self.enterContext(mock.patch.object(maven_jars.Jars, "there", lambda _: self.jars))
        self.enterContext(mock.patch.object(maven_jars.Jars, "provide", lambda _: Path("/jars")))
        self.enterContext(mock.patch.object(yarn.node, "provide", lambda: self.node))
        self.enterContext(mock.patch.object(yarn, "_classes", lambda _: {}))
        self.node = ({"TIDEMARK_KUBELET": "/kubelet"}, "")

    def test_what_is_missing_is_installed_and_nothing_else(self):
        for self.java, self.jars, wanted in (("/java", True, []), ("/java", False, ["maven"]), (None, True, ["openjdk-17-jdk-headless"])):
            self.setup.reset_mock()
            yarn.provide()
            self.setup.assert_called_once_with(wanted)
        self.java, self.jars, self.there = "/java", True, set()
        self.setup.reset_mock()
        yarn.provide()
        self.setup.assert_called_once_with(list(SERVERS))

    def test_reports_the_reason(self):
        self.java, self.jars = None, True
        self.assertIn("wanted Java 17", yarn.provide()[1])
        self.java = "/java"
        with mock.patch.object(maven_jars.Jars, "provide", side_effect=Failed("Maven did not copy Hadoop's jars")):
            self.assertEqual(({}, "Maven did not copy Hadoop's jars"), yarn.provide())

    def test_without_a_node_only_what_shares_one_is_left_out(self):
        self.java, self.jars = "/java", True
        self.assertEqual("/kubelet", yarn.provide()[0]["TIDEMARK_KUBELET"])
        self.node = ({}, "run as root")
        environment, remedy = yarn.provide()
        self.assertEqual(("/jars", ""), (environment["TIDEMARK_HADOOP_JARS"], remedy))
        self.assertNotIn("TIDEMARK_KUBELET", environment)

    def test_a_resource_manager_alone_needs_neither_spark_nor_a_node_nor_a_kdc(self):
        self.java, self.jars = "/java", True
        with mock.patch.object(maven_jars.SPARK, "provide", side_effect=AssertionError), mock.patch.object(yarn.node, "provide", side_effect=AssertionError):
            self.there = set()
            self.assertEqual(({"TIDEMARK_JAVA": "/java", "TIDEMARK_HADOOP_JARS": "/jars"}, ""), yarn.java_and_hadoop())
        self.setup.assert_called_once_with([])

class Settings(unittest.TestCase):
    def setUp(self):
        self.layout = settings.Layout(Path(self.enterContext(tempfile.TemporaryDirectory())))

    def test_site_files_are_read_as_they_were_meant(self):
        values = {"a.b": "1 < 2 & 3", "yarn.x": "/some where/*"}
        settings.write(self.layout.folder, yarn_site=values, core_site={})
        read = xml.etree.ElementTree.parse(self.layout.folder / "yarn-site.xml")
        self.assertEqual(values, {each.findtext("name"): each.findtext("value") for each in read.iter("property")})
        self.assertEqual({"core-site.xml", "yarn-site.xml", "log4j.properties"}, {file.name for file in self.layout.folder.iterdir()})

    def test_sets_every_port_and_only_loopback_addresses(self):
        ports, node_ports = settings.Ports(1, 2, 3, 4, 5), settings.NodePorts(6, 7, 8)
        told = {**settings.common(self.layout, Path("/jars"), ports), **settings.node(self.layout, "nm-0", node_ports, settings.Totals(1000, 3))}
        addresses = [value for key, value in told.items() if key.endswith("address")]
        self.assertEqual([f"127.0.0.1:{port}" for port in range(1, 9)], sorted(addresses))
        self.assertEqual(("1000", "3"), (told["yarn.nodemanager.resource.memory-mb"], told["yarn.nodemanager.resource.cpu-vcores"]))

    def test_sets_every_address_of_a_pair_by_its_id(self):
        told = settings.common_of_pair(self.layout, Path("/jars"), {"a": settings.Ports(1, 2, 3, 4, 5), "b": settings.Ports(6, 7, 8, 9, 10)}, 11, 4000)
        addresses = {key: value for key, value in told.items() if key.startswith("yarn.resourcemanager.") and ".address." in key}
        self.assertEqual(sorted(f"127.0.0.1:{port}" for port in range(1, 11)), sorted(addresses.values()))
        self.assertEqual({"a": 5, "b": 5}, {name: sum(key.endswith(f".{name}") for key in addresses) for name in ("a", "b")})
        self.assertEqual("127.0.0.1:11", told["hadoop.zk.address"])

    def test_ignores_the_configuration_of_the_machine(self):
        with mock.patch.dict(os.environ, HADOOP_CONF_DIR="/etc/hadoop", YARN_LOG_DIR="/var/log", PATH="/bin"):
            told = settings.environment(self.layout, Path("/jvm/bin/java"), "nm-0")
        self.assertEqual((f"{self.layout.folder}/nm-0/conf", "/jvm", "/bin", False), (told["HADOOP_CONF_DIR"], told["JAVA_HOME"], told["PATH"], "YARN_LOG_DIR" in told))


class Servers(unittest.TestCase):
    def server(self, script: str) -> Server:
        log = Path(self.enterContext(tempfile.TemporaryDirectory())) / "server.log"
        server = Server("it", ["sh", "-c", script], {"PATH": os.environ["PATH"]}, log)
        self.addCleanup(server.end)
        server.launch()
        server.until("it says something", server.said, PATIENCE_S)
        return server

    def test_a_server_that_ends_at_sigterm_is_not_killed(self):
        self.assertTrue(self.server("echo up; exec sleep 1000").stop())

    def test_a_server_that_ignores_sigterm_is_killed_after_the_grace(self):
        deaf = self.server("trap '' TERM; echo up; while :; do sleep 0.1; done")
        self.assertFalse(deaf.stop(grace_s=0.3))
        self.assertFalse(deaf.alive)

    def test_one_that_is_frozen_can_be_stopped_killed_and_started_again(self):
        for way in ("stop", "kill"):
            server = self.server("echo up; exec sleep 1000")
            server.freeze()
            self.assertTrue(server.alive)
            getattr(server, way)()
            self.assertFalse(server.alive)
            server.launch()
            self.assertTrue(server.alive)

    def test_an_ended_server_fails_the_wait_with_its_last_output(self):
        server = self.server("echo up; echo port in use; exit 1")
        with self.assertRaisesRegex(NotReady, "(?s)it ended before: the door is open.*port in use"):
            server.until("the door is open", lambda: False, PATIENCE_S)

    def test_a_timeout_names_the_unanswered_request(self):
        with self.assertRaisesRegex(NotReady, r"not within 0 s: an answer \(connection refused\)"):
            until("an answer", mock.Mock(side_effect=OSError("connection refused")), limit_s=0)

    def test_the_application_is_read_from_what_its_client_says(self):
        client = self.server("echo 'INFO YarnClientImpl: Submitted application application_1700000000000_0001'; exec sleep 1000")
        self.assertEqual("application_1700000000000_0001", Job(None, client, []).id)
        refused = self.server("echo Invalid memory specified; exit 1")
        self.assertRaisesRegex(NotReady, "Invalid memory specified", lambda: Job(None, refused, []).id)


class Leftovers(unittest.TestCase):
    def setUp(self):
        self.place = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.object(leftovers, "PLACE", self.place))

    def run_of(self, mark: str = "") -> tuple[Path, subprocess.Popen]:
        """Its folder, and a container of it: a session of its own, which knows the folder by its environment."""
        folder = Path(tempfile.mkdtemp(prefix=leftovers.PREFIX, dir=self.place))
        (folder / owners.MARK).write_text(mark)
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True, stdin=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], "LOCAL_DIRS": f"{folder}/nm-0/local"})
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        deadline = time.monotonic() + PATIENCE_S
        while child.pid not in leftovers.processes_of(folder) and time.monotonic() < deadline:
            time.sleep(0.01)
        return folder, child

    def test_containers_of_a_run_are_found_and_ended_and_no_others(self):
        (mine, own), (_, other) = self.run_of(), self.run_of()
        self.assertEqual({own.pid: "sleep 1000 "}, leftovers.processes_of(mine))
        self.assertEqual([], leftovers.take_away(mine))
        self.assertEqual((-9, None, False), (own.wait(PATIENCE_S), other.poll(), mine.exists()))

    def test_only_what_has_lost_its_owner_is_taken_away(self):
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        left, orphan = self.run_of(f"{gone.pid} 1 {os.readlink('/proc/self/ns/pid')}")
        used, busy = self.run_of()
        owners.mark(used)
        self.assertEqual(([str(left)], []), leftovers.clear_away())
        self.assertEqual((-9, None), (orphan.wait(PATIENCE_S), busy.poll()))
        self.assertEqual((False, True), (left.exists(), used.exists()))


class Groups(unittest.TestCase):
    """Without making one."""

    def test_only_below_a_group_of_a_test(self):
        for path, below in (("", None), ("../cpu", None), ("/yarn", None), ("yarn/", None), ("yarn", "kubepods"), ("yarn", "tidemark-test-1")):
            with self.subTest(path=path, below=below), self.assertRaises(ValueError):
                container_groups.Groups(path, below)

    def test_what_a_run_says_of_any_other_group_is_not_believed(self):
        run = Path(self.enterContext(tempfile.TemporaryDirectory()))
        with mock.patch.object(container_groups.cgroups, "remove") as remove:
            for said in ("kubepods", "..", "tidemark-test-00000000/..", ""):
                (run / container_groups.RECORD).write_text(said)
                self.assertEqual([], container_groups.remove(run))
            remove.assert_not_called()


class Executor(unittest.TestCase):
    """In the place of Hadoop's own, as a NodeManager calls it: its statuses are those that a NodeManager knows."""

    def setUp(self):
        self.run_folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.executor = self.run_folder / "container-executor"
        shutil.copy(EXECUTOR, self.executor)
        self.executor.chmod(0o755)

    def call(self, *words: str) -> int:
        return subprocess.run([self.executor, *map(str, words)], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE_S).returncode

    def launch(self, script: str) -> tuple[int, str]:
        """Its status, and what it writes beside the number of the first process."""
        (self.run_folder / "script").write_text(f"#!/bin/sh\n{script}\n")
        (self.run_folder / "tokens").touch()
        pid_file = self.run_folder / "it.pid"
        status = self.call(
            "u", "u", "1", "app", "it", self.run_folder / "work", self.run_folder / "script", self.run_folder / "tokens", "--http", pid_file, self.run_folder / "local",
            self.run_folder / "log", f"cgroups={self.run_folder}/cpu%{self.run_folder}/memory",
        )
        numbers = {(self.run_folder / file).read_text() for file in ("it.pid", "cpu", "memory", "work/said")}
        self.assertEqual(1, len(numbers), "pid file, groups and the script itself agree")
        return status, Path(f"{pid_file}.exitcode").read_text().strip()

    def test_the_status_is_that_of_the_first_process(self):
        for end, status in (("exit 7", 7), ("kill -s KILL $$", 137), ("kill -s TERM $$", 143)):
            self.assertEqual((status, str(status)), self.launch(f"echo $$ > said; {end}"))

    def test_it_signals_the_whole_session_or_says_that_there_is_none(self):
        child = subprocess.Popen(["sh", "-c", "sleep 1000; exit"], stdin=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        until("both are there", lambda: len(leftovers.session(child.pid)) == 2, PATIENCE_S)
        self.assertEqual(0, self.call("u", "u", "2", child.pid, 0))
        self.assertEqual(0, self.call("u", "u", "2", child.pid, 15))
        self.assertEqual(-15, child.wait(PATIENCE_S))
        until("no process is left of it", lambda: not leftovers.session(child.pid), PATIENCE_S)
        self.assertEqual(9, self.call("u", "u", "2", child.pid, 15))

    def test_it_deletes_below_its_own_folder_only(self):
        (self.run_folder / "a/b").mkdir(parents=True)
        other = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for words in ((other,), (f"{self.run_folder}/../{other.name}",), (self.run_folder,), ("..", other)):
            self.assertEqual(3, self.call("u", "u", "3", *words), words)
        self.assertTrue(other.exists())
        self.assertEqual((0, 0), (self.call("u", "u", "3", "b", self.run_folder / "a"), self.call("u", "u", "3", self.run_folder / "none")))
        self.assertFalse((self.run_folder / "a/b").exists())


if __name__ == "__main__":
    unittest.main()
