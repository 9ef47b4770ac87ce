"""A kubelet of driver pods for ./dev bench gateway: reports each pod as running, and as succeeded at the end of its life. No container runs.

  kubelet.py SERVER CA-FILE TOKEN-FILE START_S LIFE_S

A life lasts between half of LIFE_S and one and a half of it; with 0 it has no end. It leaves alone pods that run before it starts. Obeys lines on standard
input:

  count        answers how many pods it has seen, and how many of them were reported as running and as ended
  drivers      answers the drivers of each run, by the run's label
  end POD      reports success now, and answers when the API server had stored it
  evict POD    the same with an eviction
"""

import hashlib
import heapq
import http.client
import json
import queue
import sys
import threading
import time
from pathlib import Path

from contract.client import MERGE, Broken, Client, Target, Watch

PODS = "/api/v1/namespaces/default/pods"
DRIVERS = f"{PODS}?labelSelector=spark-role%3Ddriver"
WRITERS = 4
EVICTED = [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "", "lastTransitionTime": None}]


def status(container: str, phase: str) -> dict:
    state = {"running": {"startedAt": None}} if phase == "Running" else {"terminated": {"exitCode": 0 if phase == "Succeeded" else 143, "startedAt": None, "finishedAt": None}}
    shown = {"name": container, "image": "spark", "imageID": "", "ready": phase == "Running", "restartCount": 0, "state": state}
    more = {"reason": "Evicted", "conditions": EVICTED} if phase == "Failed" else {}
    return {"status": {"phase": phase, "containerStatuses": [shown], **more}}


class Kubelet:
    def __init__(self, target: Target, start_s: float, life_s: float):
        self._target, self._start_s, self._life_s = target, start_s, life_s
        self._containers: dict[str, str] = {}  # by pod
        self._runs: dict[str, int] = {}  # drivers by run
        self._due: list[tuple[float, str, str]] = []
        self._changed = threading.Condition()
        self._work: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self._counts = {"Running": 0, "Succeeded": 0, "Failed": 0}
        self._own = Client(target)
        for target_of in (self._watch, self._wait, *[self._write] * WRITERS):
            threading.Thread(target=target_of, daemon=True).start()

    def _watch(self) -> None:
        while True:
            try:
                with Watch(Client(self._target), f"{DRIVERS}&watch=true&timeoutSeconds=3600", "application/json") as watch:
                    while line := watch.response.readline():
                        if line.startswith(b'{"type":"ADDED"'):
                            self._see(json.loads(line)["object"])
            except (Broken, OSError, http.client.HTTPException):  # nothing happened for a while, or the server is away
                time.sleep(0.1)

    def _see(self, pod: dict) -> None:
        name = pod["metadata"]["name"]
        with self._changed:
            if name in self._containers or pod["status"].get("phase") != "Pending":
                return
            self._containers[name] = pod["spec"]["containers"][0]["name"]
            run = pod["metadata"]["labels"].get("tidemark.io/run", name)
            self._runs[run] = self._runs.get(run, 0) + 1
            begin = time.monotonic() + self._start_s
            heapq.heappush(self._due, (begin, name, "Running"))
            if self._life_s:
                part = 0.5 + hashlib.md5(name.encode()).digest()[0] / 255
                heapq.heappush(self._due, (begin + part * self._life_s, name, "Succeeded"))
            self._changed.notify()

    def _wait(self) -> None:
        while True:
            with self._changed:
                now = time.monotonic()
                while self._due and self._due[0][0] <= now:
                    _, name, phase = heapq.heappop(self._due)
                    self._work.put((name, phase))
                self._changed.wait(min(1.0, self._due[0][0] - now) if self._due else 1.0)

    def _write(self) -> None:
        api = Client(self._target)
        while True:
            name, phase = self._work.get()
            try:
                self._patch(api, name, phase)
            except Broken:
                time.sleep(0.1)
                self._work.put((name, phase))

    def _patch(self, api: Client, name: str, phase: str) -> None:
        answer = api.request("PATCH", f"{PODS}/{name}/status", status(self._containers[name], phase), content=MERGE)
        api.transcript.clear()
        if answer.status >= 429:  # the server has too much to do
            raise Broken(f"{answer.status}: {answer.body[:500]!r}")
        with self._changed:
            self._counts[phase] += answer.status == 200

    def obey(self, words: list[str]) -> dict:
        if words[0] == "count":
            with self._changed:
                return {"seen": len(self._containers), "running": self._counts["Running"], "ended": self._counts["Succeeded"]}
        if words[0] == "drivers":
            with self._changed:
                return dict(self._runs)
        self._patch(self._own, words[1], {"end": "Succeeded", "evict": "Failed"}[words[0]])
        return {"at": time.time()}


def main() -> None:
    server, ca, token, start_s, life_s = sys.argv[1:]
    sys.setswitchinterval(0.0005)
    kubelet = Kubelet(Target(server, ca, Path(token).read_text().strip()), float(start_s), float(life_s))
    for line in sys.stdin:
        print(json.dumps(kubelet.obey(line.split())), flush=True)


if __name__ == "__main__":
    main()
