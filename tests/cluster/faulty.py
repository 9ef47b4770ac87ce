"""Injected faults: a mirror and a writer as processes, an API server that is killed repeatedly, and a proxy that cuts connections."""

import contextlib
import json
import os
import random
import select
import socket
import struct
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from cluster.tidemark_process import wait_for
from support.cluster.control import ANSWER_S as ANSWERED_S
from support.patience import PATIENCE_S

ANSWER_S = 30
PIECE_BYTES = 16384


class Tool:
    """A program of tests/faults. It reads commands and writes answers as lines; its log is kept."""

    def __init__(self, name: str, kubeconfig: str | Path, namespace: str, **flags):
        program = Path(os.environ["TIDEMARK_BINARY"]).parent / "tests" / "faults" / name
        arguments = [f"--{flag.replace('_', '-')}={value}" for flag, value in flags.items()]
        self._log = tempfile.NamedTemporaryFile(prefix=f"{name}-", suffix=".log")
        self.process = subprocess.Popen(
            [program, f"--kubeconfig={kubeconfig}", f"--namespace={namespace}", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
        )
        self._lines: list[str | None] = []  # None: the process ended
        self._arrived = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def log(self) -> str:
        return Path(self._log.name).read_text(errors="replace")

    def send(self, line: str) -> None:
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def line(self, limit_s: float = ANSWER_S) -> str:
        with self._arrived:
            if not self._arrived.wait_for(lambda: self._lines, limit_s):
                raise AssertionError(f"no answer within {limit_s} s:\n{self.log[-3000:]}")
            line = self._lines.pop(0)
        if line is None:
            raise AssertionError(f"it ended with {self.process.wait()}:\n{self.log[-3000:]}")
        return line

    def _read(self) -> None:
        for line in self.process.stdout:
            with self._arrived:
                self._lines.append(line.rstrip("\n"))
                self._arrived.notify()
        with self._arrived:
            self._lines.append(None)
            self._arrived.notify()

    def end(self) -> int:
        if self.process.poll() is None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            try:
                self.process.wait(ANSWER_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self._reader.join()
            self.process.stdout.close()
        return self.process.returncode


class Mirror(Tool):
    def __init__(self, kubeconfig, namespace: str, **flags):
        super().__init__("kube_mirror", kubeconfig, namespace, **{"backoff_max": "1s", **flags})

    def stats(self) -> dict:
        self.send("stats")
        return json.loads(self.line())

    def dump(self) -> dict[str, tuple[str, str]]:
        """The content of the cache: name → resourceVersion and value."""
        self.send("dump")
        held = {}
        while not (line := self.line()).startswith("{"):
            name, revision, value = line.split(" ")
            held[name] = (revision, value)
        return held

    def wait_synced(self) -> None:
        wait_for(lambda: self.stats()["synced"], f"the first list; log:\n{self.log[-2000:]}")


class Writer(Tool):
    def __init__(self, namespace: str, **flags):
        super().__init__("kube_writer", os.environ["TIDEMARK_TEST_KUBECONFIG"], namespace, **flags)

    def wait_filled(self, limit_s: float = 120) -> None:
        assert self.line(limit_s) == "filled"

    def stop(self) -> dict:
        self.send("stop")
        return json.loads(self.line())


def on_server(api, namespace: str) -> dict[str, tuple[str, str]]:
    answer = api.request("GET", f"/api/v1/namespaces/{namespace}/configmaps")
    assert answer.status == 200, answer.body
    return {item["metadata"]["name"]: (item["metadata"]["resourceVersion"], item["data"]["v"]) for item in answer.json["items"]}


def wait_equal(case, api, mirror: Mirror, namespace: str, limit_s: float = PATIENCE_S) -> int:
    """Waits until the cache equals the server to the last revision, after all writers stopped. Returns the number of objects."""
    deadline = time.monotonic() + limit_s
    # Read each time: the server may still complete a write that its writer gave up.
    while (held := mirror.dump()) != (wanted := on_server(api, namespace)) and time.monotonic() < deadline:
        time.sleep(0.1)
    missing, extra = sorted(wanted.keys() - held.keys()), sorted(held.keys() - wanted.keys())
    stale = sorted(name for name in wanted.keys() & held.keys() if wanted[name] != held[name])
    case.assertEqual(([], [], []), (missing[:5], extra[:5], stale[:5]), f"missing, extra and stale objects\n{mirror.log[-3000:]}")
    return len(wanted)


def control(*arguments: str) -> None:
    done = subprocess.run(
        [os.environ["TIDEMARK_TEST_CLUSTER_CONTROL"], *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ANSWERED_S
    )
    assert done.returncode == 0, done.stderr


@dataclass
class Outages:
    kills: int = 0
    away_s: float = 0  # total outage of the API server


def kill_again_and_again(rng: random.Random, seconds: float, until_used) -> Outages:
    """Kills the API server with SIGKILL every few seconds, and starts it again. `until_used` waits until its clients use the new one."""
    outages = Outages()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(rng.uniform(1.0, 4.0))
        control("kill", "apiserver")
        killed = time.monotonic()
        time.sleep(rng.uniform(0, 1.5))
        control("start", "apiserver")
        outages.kills += 1
        outages.away_s += time.monotonic() - killed
        until_used()
    return outages


# ---- a proxy that sees only bytes: TLS passes through unchanged and breaks at any cut


@dataclass
class Proxy:
    """Forwards to the API server. After a given number of bytes, a fault happens to each connection."""

    WAYS = ("cut", "reset", "delay", "stall")  # how a connection ends or pauses

    upstream: tuple[str, int]
    seed: int
    bytes_max: int = 150_000
    happened: dict[str, int] = field(default_factory=lambda: dict.fromkeys(Proxy.WAYS, 0))
    connections: int = 0
    calm: bool = False

    def __post_init__(self):
        self._rng = random.Random(self.seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._frozen: set[int] = set()
        self._open: dict[int, list[socket.socket]] = {}
        self._closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return self._listener.getsockname()[1]

    def kubeconfig(self, folder: Path) -> Path:
        """The cluster's kubeconfig with the proxy as server; the certificate is for 127.0.0.1 on any port."""
        text = Path(os.environ["TIDEMARK_TEST_KUBECONFIG"]).read_text()
        path = folder / f"kubeconfig-{self.port}"
        path.write_text(text.replace(f"server: https://{self.upstream[0]}:{self.upstream[1]}", f"server: https://127.0.0.1:{self.port}"))
        path.chmod(0o600)
        return path

    def freeze(self) -> int:
        """Open connections stay open but carry no more bytes. Returns their number."""
        self._frozen |= self._open.keys()
        return len(self._open)

    def close(self) -> None:
        self._closed = True
        self._listener.close()
        for pair in list(self._open.values()):
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            plan = random.Random(self._rng.random())
            threading.Thread(target=self._carry, args=(self.connections, client, plan), daemon=True).start()

    def _carry(self, number: int, client: socket.socket, plan: random.Random) -> None:
        try:
            server = socket.create_connection(self.upstream, timeout=5)
        except OSError:
            client.close()
            return
        self._open[number] = [client, server]
        left = None if self.calm else plan.randint(1, self.bytes_max)
        what = plan.choice(self.WAYS)
        try:
            while True:
                readable, _, _ = select.select([] if number in self._frozen else [client, server], [], [], 0.05)
                if number in self._frozen:
                    if self._gone(client):
                        return
                    continue
                for source in readable:
                    data = source.recv(PIECE_BYTES)
                    if not data:
                        return
                    if source is client:
                        server.sendall(data)
                        continue
                    if self.calm or left is None or len(data) < left:
                        client.sendall(data)
                        left = None if left is None else max(left - len(data), 1)
                        continue
                    client.sendall(data[:left])
                    self.happened[what] += 1
                    if what == "delay":
                        time.sleep(plan.uniform(0.1, 1.0))
                        client.sendall(data[left:])
                        left, what = plan.randint(1, self.bytes_max), plan.choice(self.WAYS)
                    elif what == "stall":
                        self._frozen.add(number)
                        break
                    else:
                        if what == "reset":  # close() then sends RST instead of FIN
                            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        return
        except OSError:
            pass
        finally:
            del self._open[number]
            client.close()
            server.close()

    @staticmethod
    def _gone(client: socket.socket) -> bool:
        """Whether the other end closed the connection; takes no byte out of it."""
        time.sleep(0.05)
        try:
            return client.recv(1 << 20, socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False


# ---- the soak


def soak(case, api, seed: int, *, seconds: float, objects: int = 5000) -> None:
    """`objects` ConfigMaps change while the API server is killed every few seconds; at the end the cache equals the server."""
    namespace = f"soak-{seed}"
    answer = api.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    case.assertIn(answer.status, (201, 409))
    rng = random.Random(seed)
    budget_bytes = 16 << 20
    writer = Writer(namespace, seed=seed, objects=objects)
    mirror = Mirror(os.environ["TIDEMARK_TEST_KUBECONFIG"], namespace, seed=seed, budget_bytes=budget_bytes)
    try:
        writer.wait_filled()
        mirror.wait_synced()
        before = mirror.stats()

        def until_it_watches() -> None:
            """Otherwise the next kill would break no watch. Events arrive only by a watch, and the writer never rests."""
            seen = mirror.stats()["events"]
            wait_for(lambda: mirror.stats()["events"] > seen, "events by a new watch")

        outages = kill_again_and_again(rng, seconds, until_it_watches)
        done = writer.stop()
        case.assertEqual(0, writer.end(), writer.log)
        case.assertGreater(done["writes"], objects, "the writer made too few writes")
        count = wait_equal(case, api, mirror, namespace)
        after = mirror.stats()
        case.assertGreaterEqual(count, objects // 2)
        case.assertEqual((count, 0, False), (after["objects"], after["refused"], after["over_budget"]))
        case.assertLessEqual(after["bytes"], budget_bytes)
        # Room for the pages of a list and for what malloc keeps; a second copy of all objects would not fit.
        case.assertLess(after["resident_bytes"], before["resident_bytes"] + (32 << 20))
        again = after["watches"] + after["lists"] - before["watches"] - before["lists"]
        case.assertGreaterEqual(after["watches"] - before["watches"], outages.kills, "each kill breaks the watch")
        # The shortest wait is 0.25 s, and it doubles.
        case.assertLessEqual(again, 6 * outages.kills + 2 * outages.away_s, f"{outages} {after}")
    finally:
        writer.end()
        code = mirror.end()
        remove_all(api, namespace)
    case.assertEqual(0, code, mirror.log[-3000:])


def remove_all(api, namespace: str) -> None:
    api.request("DELETE", f"/api/v1/namespaces/{namespace}/configmaps")
