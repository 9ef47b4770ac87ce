"""`tidemark yarn-copilot` beside a real NodeManager with the default executor, which gives a container a session and no cgroup."""

import json
import os
import re
import secrets
import shlex
import tempfile
import threading
import time
import unittest
from pathlib import Path

from cluster.tidemark_process import Component, wait_for
from support.node import cgroups
from support.yarn import Job, NotReady, Totals, Yarn, groups, until
from yarn.over_socket import Copilot, OverSocket

SITE = Totals(memory_mib=2048, vcores=6)
MASTER_MIB, TASK_MIB = 256, 128
FILL_MIB = 128  # a job's own files are some MiB
WRITE_MIB_S = 8
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "reference" / "copilot-api.md"
CURL = "curl --unix-socket $SOCKET "
ENDING = ("/tidemark/v1/stop", "/v1/killContainer", "/v1/killContainersByResource")  # each ends a container


def calls_of_the_guide() -> list[tuple[str, dict | None]]:
    """Path and body of each call; those that end something are last."""
    calls = []
    for line in GUIDE.read_text().splitlines():
        if line.startswith(CURL):
            url, *more = [word for word in shlex.split(line.removeprefix(CURL)) if word != "--no-buffer"]
            calls.append((url.removeprefix("http://copilot"), json.loads(more[1]) if more[:1] == ["-d"] else None))
    return sorted(calls, key=lambda call: ENDING.index(call[0]) if call[0] in ENDING else -1)


class WithoutGroups(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.yarn = cls.enterClassContext(Yarn([SITE]))
        cls.node = cls.yarn.nodes[0]

    def setUp(self):
        self.copilot = self.begin()

    def begin(self, *more: str) -> Copilot:
        copilot = Copilot(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-copilot-")), self.node.ports.web, *more)
        self.addCleanup(copilot.stop)
        return copilot

    def submit(self, command: str, containers: int) -> Job:
        job = self.yarn.submit(command, containers=containers, memory_mib=TASK_MIB, master_memory_mib=MASTER_MIB)
        self.addCleanup(self.end, job)
        return job

    def end(self, job: Job) -> None:
        try:
            job.end()
        except NotReady:
            return  # never accepted
        until("nothing of it is on the node", lambda: self.node.seen()["usedMemoryMB"] == 0)

    def start_job(self, command: str = "sleep 1000", containers: int = 2) -> tuple[str, list[str]]:
        """The master's container and the others, all with their processes."""
        self.submit(command, containers)

        seen = wait_for(lambda: len(found := self.copilot.running()) == containers + 1 and found, f"a master and {containers} containers", self.copilot)
        masters = [name for name, each in seen.items() if each["master"]]
        self.assertEqual(1, len(masters), seen)
        return masters[0], sorted(set(seen) - set(masters))

    def seen_with(self, container: str, processes: int) -> dict | None:
        seen = self.copilot.seen()
        use = seen[container]["use"]
        return seen if use and use["processes"] == processes else None

    def processes_of(self, container: str) -> set[int]:
        """Without the script that waits for it in the NodeManager's session."""
        found = set()
        for file in Path("/proc").glob("[0-9]*/environ"):
            try:
                marked = f"CONTAINER_ID={container}\0".encode() in file.read_bytes()
                if marked and b"default_container_executor.sh" not in (file.parent / "cmdline").read_bytes():
                    found.add(int(file.parent.name))
            except OSError:
                continue
        return found

    def test_it_lists_the_containers_of_the_node_manager(self):
        self.assertEqual("ok", self.copilot.get("/health"))
        self.assertEqual({"name": "yarn", "version": "v1"}, self.copilot.get("/information"))
        self.assertEqual([], self.copilot.get("/v1/containers"))
        master, tasks = self.start_job()
        self.assertEqual(sorted([master, *tasks]), self.copilot.names())
        self.assertEqual(sorted(each["id"] for each in self.node.containers()), self.copilot.names())
        info = self.copilot.get(f"/v1/container?containerID={tasks[0]}")
        self.assertEqual(
            {"name": tasks[0], "uid": tasks[0], "namespace": "yarn", "hostNetwork": True, "priority": 1, "annotations": None},
            {key: info[key] for key in ("name", "uid", "namespace", "hostNetwork", "priority", "annotations")},
        )
        self.assertEqual({"cpu": "1", "memory": str(TASK_MIB * 2**20)}, info["resources"]["requests"])
        self.assertFalse(info["createTimestamp"].startswith("0001"))
        # They start one after the other, and a container starts its second process in between.
        seen = until("as many processes as there are", lambda: self.seen_with(tasks[0], len(self.processes_of(tasks[0]))))
        self.assertGreater(seen[master]["use"]["memoryBytes"], 32 * 2**20, "a master is a JVM")
        self.assertGreater(seen[master]["use"]["cpuNanoseconds"], 0)
        self.assertIsNone(seen[tasks[0]]["group"])

    def test_writers_that_fill_the_local_directories_are_asked_to_end(self):
        first = f"{self.enterContext(tempfile.TemporaryDirectory())}/first"
        self.copilot = self.begin(f"--nm-local-dirs={self.node.local}", f"--local-dirs-limit-mib={FILL_MIB // 2}", "--local-dirs-grace=1h")
        master, tasks = self.start_job(f"mkdir {first} && head -c {FILL_MIB}M /dev/zero > fill; exec sleep 1000")
        wait_for(lambda: "TM-YARN-017" in self.copilot.log, "the log line of the limit", self.copilot)
        wait_for(lambda: len(self.copilot.running()) == 2, "its end", self.copilot)
        gone = next(name for name in tasks if name not in self.copilot.running())
        self.assertIn(f"container={gone}", self.copilot.log)
        self.assertEqual(143, self.yarn.jobs[-1].wait_told(gone).status)
        seen = self.copilot.seen()
        self.assertLess(seen[master]["localBytes"], 2**20 * FILL_MIB // 2)
        self.assertIn("tidemark_yarn_copilot_local_dirs_stopped_total 1\n", self.copilot.get("/metrics"))

    def test_when_a_vcore_is_not_one_core_the_sold_amount_is_reported_too(self):
        self.copilot = self.begin("--millicores-per-vcore=500")
        _, tasks = self.start_job(containers=1)
        info = self.copilot.get(f"/v1/container?containerID={tasks[0]}")
        memory = str(TASK_MIB * 2**20)
        self.assertEqual({"cpu": "1", "memory": memory, "kubernetes.io/batch-cpu": "500", "kubernetes.io/batch-memory": memory}, info["resources"]["requests"])

    def test_user_tags_of_an_application_are_reported(self):
        self.copilot = self.begin(f"--hadoop-conf-dir={self.yarn.configuration}", "--queue-class=default=transcode")
        master, tasks = self.start_job(containers=1)
        seen = wait_for(lambda: (each := self.copilot.seen()[tasks[0]])["queue"] and each, "its queue", self.copilot)
        report = self.yarn.jobs[-1].report()
        self.assertEqual((report["queue"], report["applicationType"], report["name"], report["user"], []), tuple(seen[key] for key in ("queue", "type", "name", "user", "tags")))
        labels = {each["name"]: each["labels"] for each in self.copilot.get("/v1/containers")}
        self.assertEqual({"tidemark.io/user": report["user"], "tidemark.io/class": "transcode"}, labels[tasks[0]])
        self.assertEqual({**labels[tasks[0]], "tidemark.io/infrastructure": "true"}, labels[master])
        asked = self.copilot.get("/metrics")
        self.assertIn("tidemark_yarn_copilot_resource_manager_calls_total 1\n", asked, "one application")

    def test_a_kill_ends_all_of_one_container_and_its_master_gets_137(self):
        # A shell, its child in the background, and one with an empty environment: Koordinator's kill ends one process group.
        master, tasks = self.start_job("sh -c 'sleep 1001; :' & env -i sleep 1002 & wait")
        for task in tasks:
            wait_for(lambda task=task: len(self.processes_of(task)) >= 3, f"the processes of {task}", self.copilot)
        others = self.processes_of(master) | self.processes_of(tasks[1])
        status, body = self.copilot.ask("POST", "/v1/killContainer", {"containerID": tasks[0]})
        self.assertEqual((200, [tasks[0]]), (status, [each["name"] for each in body["items"]]))
        self.assertEqual(set(), self.processes_of(tasks[0]))
        self.assertEqual(1, self.commands().count("sleep 1002"), "the one of the other container")
        self.assertEqual(others, self.processes_of(master) | self.processes_of(tasks[1]))
        wait_for(lambda: tasks[0] not in self.copilot.names(), "its end at the NodeManager", self.copilot)
        wait_for(lambda: f"containerID={tasks[0]}, state=COMPLETE, exitStatus=137" in self.yarn.jobs[-1].masters(), "its master's word", self.copilot)
        status, body = self.copilot.ask("POST", "/v1/killContainer", {"containerID": tasks[0]})
        self.assertEqual(400, status)
        self.assertIn(tasks[0], body["error"])

    def commands(self) -> list[str]:
        """Processes of this run: those without an environment are in a session of a process with one."""
        return [line.strip() for line in (self._command(pid) for pid in Path("/proc").glob("[0-9]*")) if line.startswith("sleep 100")]

    def _command(self, folder: Path) -> str:
        try:
            return (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""

    @unittest.skipIf(groups.why_not(), groups.why_not())
    def test_adopted_containers_have_a_group_until_they_end(self):
        name = f"tidemark-test-{secrets.token_hex(4)}"
        self.addCleanup(lambda: self.assertEqual([], cgroups.remove(name)))
        cgroups.make(name)
        copilot = self.begin("--adopt", f"--yarn-container-cgroup-path={name}/hadoop-yarn")
        _, tasks = self.start_job("sh -c 'sleep 1001; :' & wait", 1)
        container = wait_for(lambda: copilot.seen()[tasks[0]]["group"], "a group", copilot)
        self.assertEqual(f"{name}/hadoop-yarn/{tasks[0]}", container)

        def inside() -> list[set[int]]:
            return [groups.pids(folder) for folder in cgroups.there(container)]

        wait_for(lambda: len(cgroups.there(container)) > 2 and all(each == self.processes_of(tasks[0]) for each in inside()), "all its processes in its group", copilot)
        memory, cpu = (next(place / container for place in cgroups.hierarchies() if place.name == controller) for controller in ("memory", "cpu"))
        self.assertEqual((str(TASK_MIB << 20), "1024"), ((memory / "memory.limit_in_bytes").read_text().strip(), (cpu / "cpu.shares").read_text().strip()))
        self.assertEqual(200, copilot.ask("POST", "/tidemark/v1/limits", {"containerID": tasks[0], "cpu": "500m"})[0])
        self.assertEqual("50000", (cpu / "cpu.cfs_quota_us").read_text().strip())
        self.assertEqual(200, copilot.ask("POST", "/v1/killContainer", {"containerID": tasks[0]})[0])
        wait_for(lambda: "by=group" in copilot.log, "the kill in the log", copilot)
        self.assertEqual(set(), self.processes_of(tasks[0]))
        wait_for(lambda: not cpu.exists() and not memory.exists(), "its group gone", copilot)

    @unittest.skipIf(groups.why_not(), groups.why_not())
    def test_all_containers_together_write_no_faster_than_the_limit(self):
        name = f"tidemark-test-{secrets.token_hex(4)}"
        self.addCleanup(lambda: self.assertEqual([], cgroups.remove(name)))
        cgroups.make(name)
        copilot = self.begin("--adopt", f"--yarn-container-cgroup-path={name}/hadoop-yarn", f"--nm-local-dirs={self.node.local}", f"--disk-write-limit-mib={WRITE_MIB_S}")
        self.agent_says(copilot, "keep", lambda: True)  # otherwise it uses its flags after half a minute
        _, tasks = self.start_job("while :; do dd if=/dev/zero of=fill bs=1M count=16 oflag=direct conv=notrunc status=none; done", 2)
        group = next(place for place in cgroups.hierarchies() if place.name == "blkio") / name / "hadoop-yarn"
        wait_for(lambda: set().union(*map(self.processes_of, tasks)) & (there := groups.pids(group)) and all(self.processes_of(task) & there for task in tasks), "both in the limited group", copilot)
        stands = lambda: (group / "blkio.throttle.write_bps_device").read_text().strip()
        self.assertEqual("", stands(), "it waits for the permit of the node's agent")
        self.agent_says(copilot, "enforce", stands)

        def mib_s(seconds: float) -> float:
            before, begin = self.written(group), time.monotonic()
            time.sleep(seconds)
            return (self.written(group) - before) / 2**20 / (time.monotonic() - begin)

        mib_s(1)  # writes in flight
        limited = mib_s(4)
        self.assertLess(limited, 1.3 * WRITE_MIB_S)
        self.assertGreater(limited, 1, "they write")
        in_force = stands()
        self.agent_says(copilot, "restore", lambda: stands() == "")
        wait_for(lambda: [each["inForce"] for each in copilot.get("/tidemark/v1/disks")["disks"]] == [False], "the limit to be lifted", copilot)
        self.assertEqual(WRITE_MIB_S << 20, copilot.get("/tidemark/v1/disks")["writeBytesPerSecond"], "what would be")
        self.agent_says(copilot, "enforce", lambda: stands() == in_force)
        self.agent_says(copilot, "off", lambda: "tidemark_yarn_copilot_disk_limit_enforced 0\n" in copilot.get("/metrics"))
        self.assertEqual(in_force, stands(), "on a node that is off the limit stays for running work")
        self.assertEqual(0, copilot.stop())
        self.assertEqual("", stands(), "the limit goes with the copilot")
        self.assertGreater(free := mib_s(3), 2 * WRITE_MIB_S, "the limit was the cause")
        print(f"two containers wrote {limited:.1f} MiB/s where {WRITE_MIB_S} were allowed, and {free:.0f} MiB/s after that")

    def agent_says(self, copilot, permit: str, done) -> None:
        self.assertEqual(200, copilot.ask("POST", "/tidemark/v1/permit", {"permit": permit})[0])
        wait_for(done, f"limits for the permit {permit}", copilot)

    @staticmethod
    def written(group: Path) -> int:
        return sum(int(line.split()[2]) for line in (group / "blkio.throttle.io_service_bytes").read_text().splitlines() if " Write " in line)

    def test_a_stop_sends_sigterm_first_and_kills_later(self):
        deaf = Path(self.enterContext(tempfile.TemporaryDirectory())) / "deaf"
        _, tasks = self.start_job(f"trap '' TERM; touch {deaf}; while :; do sleep 0.2; done", 1)
        wait_for(deaf.exists, "a container that ignores SIGTERM", self.copilot)
        before = self.processes_of(tasks[0])
        status, body = self.copilot.ask("POST", "/tidemark/v1/stop", {"containerID": tasks[0], "graceSeconds": 5, "reason": "TM-EVICT-001"})
        self.assertEqual((202, tasks[0]), (status, body["containerID"]))
        self.assertEqual(body["killedAt"], self.copilot.seen()[tasks[0]]["stoppedAt"])
        self.assertTrue(before & self.processes_of(tasks[0]), "it ignores SIGTERM, and its grace period is not over")
        wait_for(lambda: not self.processes_of(tasks[0]), "the kill", self.copilot)
        wait_for(lambda: "a container was killed" in self.copilot.log, "the log line of the kill", self.copilot)
        self.assertIn("TM-EVICT-001", self.copilot.log)

    def test_each_call_of_the_guide_is_answered_as_documented(self):
        """Except for the name of a container, which is one of this test, and for events, which have no end."""
        _, tasks = self.start_job(containers=3)
        calls = [(path, body) for path, body in calls_of_the_guide() if path != "/tidemark/v1/events"]
        self.assertEqual(9, len(calls), calls)
        for path, body in calls:
            whose = tasks[ENDING.index(path)] if path in ENDING else tasks[0]
            with self.subTest(path, body=body):
                named = json.loads(re.sub(r"container_[\w…]+", whose, json.dumps(body, ensure_ascii=False)))
                status, said = self.copilot.ask("GET" if body is None else "POST", re.sub(r"container_[\w…]+", whose, path), named)
                # A container without a cgroup cannot be limited: here none has one.
                self.assertEqual({"/tidemark/v1/stop": 202, "/tidemark/v1/limits": 404}.get(path.partition("?")[0], 200), status, said)

    def test_the_newest_go_first_and_the_master_last(self):
        master, tasks = self.start_job(containers=3)
        status, body = self.copilot.ask("POST", "/v1/killContainersByResource", {"resources": {"memory": f"{2 * TASK_MIB}Mi"}})
        self.assertEqual(200, status, body)
        self.assertEqual(2, len(body["items"]))
        self.assertNotIn(master, [each["name"] for each in body["items"]])
        self.assertTrue(self.processes_of(master))

    def test_events_follow_a_container(self):
        lines, ready = [], threading.Event()

        def listen():
            connection = OverSocket(self.copilot.socket)
            connection.request("GET", "/tidemark/v1/events")
            answer = connection.getresponse()
            ready.set()
            for line in answer:
                lines.append(json.loads(line))
            connection.close()

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        self.assertTrue(ready.wait(30))
        _, tasks = self.start_job(containers=1)

        def shown() -> list[str]:
            return [each["type"] for each in lines if each["container"]["id"] == tasks[0]]

        wait_for(lambda: shown()[:1] == ["added"], "its start among the events", self.copilot)
        self.copilot.ask("POST", "/v1/killContainer", {"containerID": tasks[0]})
        wait_for(lambda: shown()[-1:] == ["removed"], "its end among the events", self.copilot)
        self.assertEqual(0, self.copilot.stop(), "a listener blocks no stop")
        listener.join(30)
        self.assertFalse(listener.is_alive())

    def test_a_node_manager_that_is_away_or_hangs(self):
        _, tasks = self.start_job(containers=1)
        copilot = self.begin("--node-manager-timeout=500ms")
        self.node.freeze()
        self.addCleanup(self.node.resume)
        status, body = copilot.ask("GET", "/v1/containers")
        self.assertEqual(400, status)
        self.assertIn("NodeManager", body["error"])
        self.assertEqual((200, "ok"), copilot.ask("GET", "/health"))
        self.assertEqual(200, copilot.ask("POST", "/v1/killContainer", {"containerID": tasks[0]})[0], "running containers can still be ended")
        self.assertEqual(set(), self.processes_of(tasks[0]))
        self.node.resume()
        wait_for(lambda: copilot.ask("GET", "/v1/containers")[0] == 200, "the NodeManager's answer", copilot)

    def test_next_copilot_takes_over_the_socket_of_a_killed_one(self):
        self.copilot.kill()
        self.assertTrue(os.path.exists(self.copilot.socket))
        again = Copilot(os.path.dirname(self.copilot.socket), self.node.ports.web)
        self.addCleanup(again.stop)
        self.assertEqual([], again.get("/v1/containers"))
        second = Component("yarn-copilot", f"--server-endpoint={again.socket}", f"--node-manager-endpoint=127.0.0.1:{self.node.ports.web}")
        self.addCleanup(second.stop)
        self.assertEqual(1, second.process.wait(30), "a live one keeps it")
        self.assertIn(again.socket, second.log)
        self.assertEqual([], again.get("/v1/containers"))

    def test_another_user_is_not_answered(self):
        # Not in TMPDIR: only the owner may be able to enter that directory.
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-copilot-", dir="/tmp"))
        os.chmod(folder, 0o755)
        copilot = Copilot(folder, self.node.ports.web, "--allow-users=4711")
        self.addCleanup(copilot.stop)

        def ask_as(uid: int) -> int:
            """In its own process: a change of the user cannot be undone."""
            child = os.fork()
            if child == 0:
                try:
                    os.setresuid(uid, uid, uid)
                    os._exit({200: 0, 403: 3}.get(copilot.ask("GET", "/v1/containers")[0], 1))
                except BaseException:
                    os._exit(2)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        self.assertEqual(0, ask_as(4711))
        self.assertEqual(3, ask_as(4712))
