"""200 short jobs a minute for ten minutes on one machine, with several kills of `tidemark up`: each job has one pod, runs once, ends once with its exit code
and has written its line; nothing is left of removed jobs, and the kept state is bounded."""

import http.client
import os
import random
import re
import secrets
import statistics
import sys
import tempfile
import threading
import time
import unittest
from collections import Counter, defaultdict
from datetime import datetime, timezone
from pathlib import Path

from driver.console import Failed
from demo.on_tidemark import OnTidemark
from demo.samples import Api
from support import ports
from support.node import cgroups

JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
A_MINUTE, MINUTES, KEPT_S = 200, int(os.environ.get("TIDEMARK_JOB_MINUTES", "10")), 30
CODES = 3  # exit codes from 0 on
LONG_EVERY, LONG_S = 3, 2  # so that some run at a kill
KILLS, KILLED_BY = 5, 0.4  # share of the time with kills; the last process runs for the rest, and its memory is measured
MEMORY_FROM = 0.6  # share of the time after which all bounded state has its full size
A_JOB_MAX = 4 << 10  # bytes that one more ended job may leave in memory or in the database; a kept job takes 60 KiB
SOON_S = 10
AWAY_S = 60  # until it is up again
LEARNED = "agent/models"  # of each pod, for half an hour after its end
SWEPT_S = 10  # after the last pod: logs are removed a second later, in batches


def code_of(number: int) -> int:
    return number % CODES


def job(number: int, record: Path) -> dict:
    """It requests no CPU: if other work uses all of it, none is sold, and jobs rightly wait. It records its run twice: in its log, and in a file that is never cleaned up."""
    length = f"sleep {LONG_S}; " if number % LONG_EVERY == 0 else ""
    work = f"echo {number} >>{record}; {length}echo line of {number}; exit {code_of(number)}"
    amounts = {"kubernetes.io/batch-memory": "16Mi"}
    container = {"name": "main", "image": "local", "command": ["sh", "-c", work], "resources": {"requests": amounts, "limits": amounts}}
    template = {"metadata": {"labels": {"koordinator.sh/qosClass": "BE"}}, "spec": {"restartPolicy": "Never", "priorityClassName": "koord-batch", "containers": [container]}}
    spec = {"ttlSecondsAfterFinished": KEPT_S, "backoffLimit": 0, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": f"short-{number}"}, "spec": spec}


# An idle online task. Without one all tasks here are idle as a whole, and get no CPU on a busy machine.
WEB = {
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
    "spec": {"terminationGracePeriodSeconds": 0, "containers": [{"name": "main", "image": "local", "command": ["sleep", "1000000"], "resources": {"requests": {"cpu": "100m"}}}]},
}


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


class PodHistory(threading.Thread):
    """Every pod that ever existed: by a watch that resumes after a list. A pod stays for half a minute, longer than any outage."""

    def __init__(self, api: Api):
        super().__init__(daemon=True)
        self._api, self._over = api, threading.Event()
        self.pods: dict[str, set[str]] = defaultdict(set)  # uids by the name of their job
        self.ends: dict[str, set[tuple]] = defaultdict(set)  # by uid: each end that was ever reported

    def run(self) -> None:
        while not self._over.is_set():
            try:
                listed = self._api.must("GET", PODS)
                for pod in listed["items"]:
                    self._see(pod)
                for event in self._api.watch(f"{PODS}?watch=true&resourceVersion={listed['metadata']['resourceVersion']}"):
                    if event["type"] not in ("ADDED", "MODIFIED", "DELETED"):
                        break
                    self._see(event["object"])
            except (OSError, ValueError, http.client.HTTPException, Failed):  # also a partial line of a killed process
                self._over.wait(0.1)

    def end(self) -> None:
        self._over.set()

    def _see(self, pod: dict) -> None:
        uid, name = pod["metadata"]["uid"], pod["metadata"].get("labels", {}).get("job-name")
        if name is None:
            return
        self.pods[name].add(uid)
        status = pod.get("status", {})
        if status.get("phase") in ("Succeeded", "Failed"):
            containers = status.get("containerStatuses", [{}])
            self.ends[uid].add((status["phase"], *((each.get("restartCount"), str(each.get("state", {}).get("terminated"))) for each in containers)))


@unittest.skipUnless(os.geteuid() == 0 and cgroups.writable(), "cannot create cgroups here")
class LocalJobs(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-test-")))
        self.data, self.told = self.folder / "up", self.folder / "ran"
        listen = f"127.0.0.1:{ports.free(1)[0]}"  # also after a kill
        self.up = OnTidemark(Path(os.environ["TIDEMARK_BINARY"]), self.data, f"tidemark-test-{secrets.token_hex(4)}", listen)
        self.addCleanup(self.up.stop)
        self.up.start()
        self.api = Api(self.up.kubeconfig)
        self.api.must("POST", PODS, WEB)
        self.history = PodHistory(self.api)
        self.addCleanup(self.history.end)
        self.history.start()
        self.made, self.kept, self.kills = 0, 0, 0
        self.ended: dict[str, dict] = {}  # ended jobs in their final state
        self.logs: dict[str, list[str]] = {}  # lines by job

    def ask(self, method: str, path: str, body=None) -> tuple[int, dict]:
        """Repeats the request until any process answers it."""
        deadline = time.monotonic() + AWAY_S
        while True:
            try:
                return self.api.call(method, path, body)
            except (OSError, http.client.HTTPException):
                self.assertLess(time.monotonic(), deadline, self.up.log()[-3000:])
                if self.up.server.poll() is not None:
                    self.up.start()
                time.sleep(0.05)

    def items(self, path: str) -> list[dict]:
        status, answer = self.ask("GET", path)
        self.assertEqual(200, status, answer)
        return answer["items"]

    def make_due(self, passed_s: float) -> None:
        for number in range(self.made, int(passed_s / 60 * A_MINUTE)):
            status, answer = self.ask("POST", JOBS, job(number, self.told))
            self.assertIn(status, (201, 409), answer)  # it exists: the answer was lost with the killed process
            self.made = number + 1

    def look(self) -> None:
        """Collects ended jobs and their logs: both are removed half a minute later."""
        jobs = self.items(JOBS)
        self.kept = max(self.kept, len(jobs))
        for each in jobs:
            name = each["metadata"]["name"]
            if name not in self.ended and any(one["type"] in ("Complete", "Failed") and one["status"] == "True" for one in each.get("status", {}).get("conditions", [])):
                self.ended[name] = each
                files = [file for folder in (self.data / "logs").glob(f"default_{name}-*") for file in folder.rglob("*.log*")]
                self.logs[name] = [line for file in files for line in file.read_text().splitlines()]

    def kill(self) -> None:
        self.up.server.kill()
        self.kills += 1

    def resident(self) -> int:
        return int(Path(f"/proc/{self.up.server.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

    def database(self) -> int:
        return sum(file.stat().st_size for file in self.data.glob("objects.sqlite*"))

    def test_two_hundred_jobs_a_minute(self):
        begun, all_s = time.monotonic(), 60 * MINUTES
        deaths = [(at + random.uniform(0.2, 0.8)) / KILLS * KILLED_BY * all_s for at in range(KILLS)]
        timers = [threading.Timer(at, self.kill) for at in deaths]
        for timer in timers:
            timer.daemon = True
            timer.start()
            self.addCleanup(timer.cancel)
        sizes: list[tuple[int, int, int]] = []  # ended jobs, memory, database
        while (passed := time.monotonic() - begun) < all_s:
            self.make_due(passed)
            self.look()
            if passed > MEMORY_FROM * all_s:
                sizes.append((len(self.ended), self.resident(), self.database()))
            time.sleep(1)
        deadline = time.monotonic() + 60
        while len(self.ended) < self.made:
            self.assertLess(time.monotonic(), deadline, f"{self.made - len(self.ended)} jobs have not ended")
            self.look()
            time.sleep(0.5)
        self.assertEqual(KILLS, self.kills)
        self.tell(sizes)
        self.each_once()
        self.assertLess(self.kept, A_MINUTE * (KEPT_S + 60) / 60)
        self.is_bounded(sizes)
        self.nothing_is_left()

    def tell(self, sizes: list[tuple[int, int, int]]) -> None:
        took = self.took_s()
        memory, database = ([size[at] >> 20 for size in sizes[:: max(1, len(sizes) // 8)]] for at in (1, 2))
        print(
            f"{self.made} jobs in {MINUTES} min, with {self.kills} kills; from made to ended, by whole seconds: median {statistics.median(took):.0f} s, slowest {max(took):.0f} s; "
            f"kept at once {self.kept}; while the last process ran, MiB resident: {memory}, of the database: {database}", file=sys.stderr,
        )

    def took_s(self) -> list[float]:
        def one(each: dict) -> float:
            ends = [moment(one["lastTransitionTime"]) for one in each["status"]["conditions"] if one["type"] in ("Complete", "Failed")]
            return (min(ends) - moment(each["metadata"]["creationTimestamp"])).total_seconds()

        return [one(each) for each in self.ended.values()]

    def each_once(self) -> None:
        numbers = range(self.made)
        ran = Counter(map(int, self.told.read_text().split()))
        self.assertEqual({number: 1 for number in numbers}, dict(ran), "how often each ran")
        wrong = {}
        for number in numbers:
            name, code = f"short-{number}", code_of(number)
            pods = self.history.pods[name]
            ends = [end for uid in pods for end in self.history.ends[uid]]
            status = self.ended[name]["status"]
            counted = (status.get("succeeded", 0), status.get("failed", 0))
            ended_well = len(ends) == 1 and ends[0][0] == ("Failed" if code else "Succeeded") and ends[0][1][0] == 0 and re.search(rf"'exitCode': {code}\b", ends[0][1][1])
            lines = [line.partition(" ")[2] for line in self.logs[name]]
            if len(pods) != 1 or not ended_well or counted != ((0, 1) if code else (1, 0)) or lines != [f"stdout F line of {number}"]:
                wrong[name] = (code, sorted(pods), ends, counted, lines)
        self.assertEqual({}, wrong)
        self.assertLess(statistics.median(self.took_s()), SOON_S)

    def is_bounded(self, sizes: list[tuple[int, int, int]]) -> None:
        """Growth per job, between the minimum of the first and of the last third, since both vary."""
        third = len(sizes) // 3
        if third < 20:
            return  # a shorter run does not show it
        more = max(size[0] for size in sizes[-third:]) - min(size[0] for size in sizes[:third])
        for at, what in ((1, "memory"), (2, "the database")):
            first, last = (min(size[at] for size in part) for part in (sizes[:third], sizes[-third:]))
            self.assertLess((last - first) / more, A_JOB_MAX, f"{what}: bytes for each of {more} jobs")

    def nothing_is_left(self) -> None:
        self.api.must("DELETE", f"{PODS}/web")
        deadline = time.monotonic() + KEPT_S + 60
        while self.items(JOBS) or self.items(PODS):
            self.assertLess(time.monotonic(), deadline, "some jobs or pods are not removed")
            time.sleep(1)
        self.assertEqual([], self.up.tasks())
        self.assertIn('"queue":[]', self.up.local("top", "--once", "-o", "json").replace(" ", ""))
        deadline = time.monotonic() + SWEPT_S
        while left := self.left():
            self.assertLess(time.monotonic(), deadline, left)
            time.sleep(0.2)

    def left(self) -> list[str]:
        """Residue of pods and jobs: files, groups, and processes in groups or with a file of this run in their command."""
        uids = {uid for pods in self.history.pods.values() for uid in pods}
        files = [
            path for path in self.data.rglob("*")
            if any(part in uids or part.startswith("default_short-") for part in path.parts) and path.parent != self.data / LEARNED
        ]
        tops = cgroups.there(self.up.group)
        groups = [path for top in tops for path in top.rglob("pod*")]
        members = {pid for top in tops for procs in top.rglob("cgroup.procs") for pid in procs.read_text().split()}
        processes = []
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                command = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            pid = int(file.parent.name)
            if pid not in (os.getpid(), self.up.server.pid) and (file.parent.name in members or str(self.folder) in command):
                processes.append(command)
        return [str(path) for path in (*files, *groups)] + processes


if __name__ == "__main__":
    unittest.main()
