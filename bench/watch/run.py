"""./dev bench watch: 2,000 watches on the API server of `tidemark up` while a thousand objects a second change.

1,980 ConfigMaps of about 1 KB; 1,980 watches of one of them each and 20 of all, over one HTTP/2 connection with TLS; writes are
merge patches over another. The server keeps its objects (SQLite), so an answered write is on disk. Its memory is VmRSS from
outside: with the objects and no watch, with the watches open, the most while writes run, and after the last round. Starved is a
watcher that did not get every change it should have, each counted; a watch that ends or goes back fails the run. What happens
in `tidemark up` beside the server, the manager, is in its process and in its memory.

The server's memory has a ceiling, made of the numbers that bound it (StoreConfig, HttpExchange); the run fails where it is missed:

    ceiling = memory with the objects and no watch + history + what waits for watchers
            + watches × (bytes queued for one reader + WATCH_BYTES)
"""

import os
import re
import sys
import tempfile
import threading
from pathlib import Path

from bench.harness import Talker, figure, resident_bytes
from driver import processes
from driver.console import Failed

OBJECTS = 1_980
ALL = 20
RATE = 1_000
ROUND_S = 20
ROUNDS = 5
START_S = 60
SAMPLE_S = 0.1
MIB = 2**20
WATCH_BYTES = 16 * 1024  # of an open watch: its stream, its task, its place among the watchers


class Most:
    """The most memory that a process holds while the block runs."""

    def __init__(self, pid: int):
        self._pid = pid
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.bytes = 0

    def _look(self) -> None:
        while not self._done.wait(SAMPLE_S):
            self.bytes = max(self.bytes, resident_bytes(self._pid))

    def __enter__(self) -> "Most":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._done.set()
        self._thread.join()


def start_server(program: Path, folder: Path):
    """`tidemark up`, listening; answers the child and its kubeconfig."""
    log = open(folder / "server.log", "wb")
    read, write = os.pipe()
    child = processes.start([program, "up", "--data-dir", folder / "data", "--listen", "127.0.0.1:0"], stdout=write, stderr=log)
    os.close(write)
    with os.fdopen(read) as out:
        watchdog = threading.Timer(START_S, lambda: processes.kill_group(child))
        watchdog.start()
        for line in out:
            found = re.match(r"kubeconfig\s+(\S+)", line)
            if found:
                watchdog.cancel()
                return child, found[1]
    raise Failed(f"tidemark up did not start:\n{(folder / 'server.log').read_text(errors='replace')[-4000:]}")


def run(server_pid: int, client: Talker) -> None:
    client.answer()  # ready
    bounds = client.ask("bounds")
    client.ask("create")
    before = resident_bytes(server_pid)
    ceiling = before + bounds["history"] + bounds["queues"] + (OBJECTS + ALL) * (bounds["stream"] + WATCH_BYTES)
    opened = client.ask("watch")
    watching = resident_bytes(server_pid)
    print(f"{opened['watching']} watches over {opened['connections']} connection", flush=True)
    rounds, most, after = [], [], []
    for _ in range(ROUNDS):
        with Most(server_pid) as sampled:
            answer = client.ask(f"write {RATE} {ROUND_S}")
        print(answer, f"server {resident_bytes(server_pid) / MIB:.0f} MiB", flush=True)
        if answer["refused"] or answer["starved"]:
            raise Failed(f"{answer['refused']} writes refused, {answer['starved']} watchers starved")
        rounds.append(answer)
        most.append(sampled.bytes / MIB)
        after.append(resident_bytes(server_pid) / MIB)
    figure("watch.server_memory_objects_only", "MiB", [before / MIB])
    figure("watch.server_memory_watching", "MiB", [watching / MIB])
    figure("watch.memory_a_watch", "KiB", [(watching - before) / 1024 / (OBJECTS + ALL)])
    figure("watch.server_memory_most", "MiB", most)
    figure("watch.server_memory_after", "MiB", after)
    figure("watch.server_memory_ceiling", "MiB", [ceiling / MIB])
    figure("watch.server_memory_of_ceiling", "%", [100 * m * MIB / ceiling for m in most])
    figure("watch.writes", "writes/s", [1000 * r["writes"] / r["ms"] for r in rounds])
    figure("watch.events", "events/s", [1000 * r["events"] / r["ms"] for r in rounds])
    figure("watch.starved", "watchers", [r["starved"] for r in rounds])
    for kind, word in {"all": "of_all", "one": "of_one"}.items():
        for since in ("answered", "sent"):
            for part in ("p50", "p99", "max"):
                figure(f"watch.latency_{word}_since_{since}_{part}", "ms", [r[kind][since][part] for r in rounds])
    met = max(most) * MIB <= ceiling
    print(f"memory ceiling {ceiling / MIB:.0f} MiB: {'met' if met else 'MISSED'}, the most was {max(most):.0f} MiB", flush=True)
    if not met:
        raise Failed("the server held more than its ceiling")


def main() -> int:
    processes.install_signal_handlers()
    client_program = Path(os.environ["TIDEMARK_BENCH_PROGRAMS"].split(os.pathsep)[0])
    server_program = client_program.parents[2] / "tidemark"  # of the same build
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as scratch:
        server = None
        try:
            server, kubeconfig = start_server(server_program, Path(scratch))
            client = Talker([client_program, kubeconfig, str(OBJECTS), str(ALL)])
            try:
                run(server.pid, client)
            finally:
                client.end()
        except Failed as why:
            print(f"bench watch: {why}", file=sys.stderr)
            return 1
        finally:
            if server is not None:
                processes.kill_group(server)
    return 0


if __name__ == "__main__":
    sys.exit(main())
