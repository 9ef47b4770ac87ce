"""./dev bench console: `tidemark console` of the release build on a made-up fleet of 10,000 nodes and 300,000 pods, and its page in Chromium.

The API server is bench/manager/fleet_server.cc, the settings have three pools and a calendar. 167 nodes report each second, all the time:
10,000 a minute. The console runs on loopback as `tidemark console` does on a laptop, the browser of the group `browser` (page.mjs) beside it.
CPU is what the scheduler gave all threads, memory is VmRSS and VmHWM of /proc/PID/status.

  first_page       KB of the page without data as the browser receives it: brotli. with_chart also has what is loaded with the first chart
  load_p95         milliseconds from navigation until 10,000 nodes are on the map, with the sums; 95 % of LOADS fresh contexts a round
  pixel_p99        milliseconds from the request that switches a node off at the API server until the map shows its mark; of PIXELS a round
  filter, sort     milliseconds from a key or a click in the table of 10,000 rows until the next frame is painted; the slowest of a round
  heap             MB of the page's heap after the deltas of 8 hours, real ones of HEAP_S seconds handed to it again and again; garbage is
                   collected first. heap_before is what it had when the map was there
  memory           MiB of the console's process, LOADS and PIXELS of a round done; memory_peak with the 200 readers, at the end
  cpu              % of a core of the console without a reader; cpu_200_readers is the same with 200 readers of the stream
  cut              seconds until the console ends the stream of a reader that does not read; of the others none is ended
  binary           MiB of the program that are the console's: by the linker's map, sections of its objects, its page and zlib
"""

import contextlib
import json
import os
import re
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from bench.harness import Talker, cpu_seconds, figure, resident_bytes
from driver import browser, build, processes
from driver.console import Failed
from support import ports

HERE = Path(__file__).parent
NODES, PODS_A_NODE = 10_000, 30
ROUNDS = 3
LOADS = 20
PIXELS = 34
REPORTS_A_SECOND = 167
USUAL, NEAR = 1000, 1010
WHOLE_S = 900  # more than the bench takes
READERS = 200
CPU_S = 20
HEAP_S = 20
HEAP_OF_S = 8 * 3600
READY_S = 120
CUT_S = 60
FAR_BUFFER, FAR_SEGMENT = 65536, 1448  # bytes
MIB = 2**20
SETTINGS = """schema: 1
mode: enforce
calendars:
- name: nights
  zone: Asia/Shanghai
  entries:
  - {name: night, cron: "0 22 * * *", until: "0 7 * * *", cpu: 80, memory: 75, rampUp: 30m, rampDown: 30m}
pools:
- {name: serving, calendar: nights, nodeSelector: {matchLabels: {pool: serving}}}
- {name: search, calendar: nights, nodeSelector: {matchLabels: {pool: search}}}
- {name: mixed, calendar: nights, nodeSelector: {matchLabels: {pool: mixed}}}
"""


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read().decode()


class Console:
    def __init__(self, program: Path, kubeconfig: str, log: Path):
        self._log = log
        with open(log, "wb") as file:
            self._metrics = f"127.0.0.1:{ports.free(1)[0]}"
            self._child = processes.start([program, "console", "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--metrics-addr", self._metrics], stdout=file, stderr=subprocess.STDOUT)
        self.pid = self._child.pid
        self.url = self._wait(lambda: re.search(r"^console +(http://\S+)$", log.read_text(), re.M), "an address")[1]
        self._wait(self._knows_all, "all nodes")

    def _knows_all(self) -> bool:
        summary = json.loads(read(f"{self.url.rstrip('/')}/api/v1/summary"))
        if any(source["incomplete"] for source in summary["sources"]):
            raise Failed(f"the console keeps only a part: {summary['sources']}")
        return all(source["read"] for source in summary["sources"]) and summary["sums"]["nodes"] == NODES and summary["sums"]["unknown"] == 0

    def _wait(self, condition, what: str):
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            if found := condition():
                return found
            if self._child.poll() is not None:
                break
            time.sleep(0.2)
        raise Failed(f"the console does not have {what}:\n{self._log.read_text(errors='replace')[-4000:]}")

    def metric(self, name: str) -> int:
        return int(float(re.search(rf"^{name} (\S+)$", read(f"http://{self._metrics}/metrics"), re.M)[1]))

    def memory(self, field: str = "VmRSS") -> float:
        return resident_bytes(self.pid, field) / MIB

    def cpu_percent(self, wait=time.sleep) -> float:
        before, begin = cpu_seconds(self.pid), time.monotonic()
        wait(CPU_S)
        return 100 * (cpu_seconds(self.pid) - before) / (time.monotonic() - begin)

    def end(self) -> None:
        processes.kill_group(self._child)


class Readers:
    """Streams that are open, compressed; `read` reads what they send. `far`: with the segments and the buffer of a client on another machine, and not compressed."""

    def __init__(self, console: Console, count: int, far: bool = False):
        host, port = re.search(r"//([^:/]+):(\d+)", console.url).groups()
        self._selector = selectors.DefaultSelector()
        self.sockets = [socket.socket() for _ in range(count)]
        for each in self.sockets:
            if far:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, FAR_BUFFER)
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, FAR_SEGMENT)
            each.connect((host, int(port)))
            accepts = "identity" if far else "gzip"
            each.sendall(f"GET /api/v1/stream HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/event-stream\r\nAccept-Encoding: {accepts}\r\n\r\n".encode())
            each.setblocking(False)
            self._selector.register(each, selectors.EVENT_READ)
        self.received = 0

    def read(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                piece = key.fileobj.recv(1 << 18)
                if not piece:
                    raise Failed("the console ended the stream of a client that reads")
                self.received += len(piece)

    def close(self) -> None:
        self._selector.close()
        for each in self.sockets:
            each.close()


def seconds_until_cut(console: Console) -> float:
    """A reader that reads nothing, beside one that reads. On loopback kernels keep megabytes for it, which are minutes of deltas."""
    before = console.metric("tidemark_console_stream_cut_total")
    begin = time.monotonic()
    with contextlib.closing(Readers(console, 1, far=True)), contextlib.closing(Readers(console, 1)) as other:
        while console.metric("tidemark_console_stream_cut_total") == before:
            if time.monotonic() - begin > CUT_S:
                raise Failed(f"a reader that does not read is not cut within {CUT_S} s")
            other.read(0.25)
        took = time.monotonic() - begin
        other.read(2)
        if console.metric("tidemark_console_stream_cut_total") != before + 1:
            raise Failed("more than the reader that does not read was cut")
        return took


def percentile(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def binary_mib(folder: Path) -> float:
    """Links the program again with a map, and sums the sections that come from the console's objects or from zlib."""
    release = build.build_folder("release")
    link = processes.capture(["ninja", "-C", release, "-t", "commands", "-s", "tidemark"]).strip().splitlines()[-1]
    out, chart = folder / "linked", folder / "map"
    command = re.sub(r" -o tidemark(?= )", f" -o {out} -Wl,-Map={chart}", link, count=1)
    if command == link:
        raise Failed(f"the command that links the program is not as expected: {link[:300]}")
    if processes.run_logged(["sh", "-c", command], folder / "link.log", cwd=release).code != 0:
        raise Failed(f"linking with a map failed:\n{(folder / 'link.log').read_text()[-2000:]}")
    return console_bytes(chart.read_text(errors="replace")) / MIB


def console_bytes(chart: str) -> int:
    total = 0
    for size, file in re.findall(r"^ \.?\S*(?:\n)? +0x[0-9a-f]+ +0x([0-9a-f]+) (\S+)$", chart, re.M):
        if "tidemark_console" in file or "libz.a" in file:
            total += int(size, 16)
    return total


def rounds(console: Console, page: Talker) -> None:
    found: dict[str, list[float]] = {}

    def take(name: str, value: float) -> None:
        found.setdefault(name, []).append(value)
        print(f"{name} {value:.1f}, load {os.getloadavg()[0]:.1f}", flush=True)

    for _ in range(ROUNDS):
        take("cpu", console.cpu_percent())
        loads = page.ask(f"load {LOADS}")
        take("first_page", loads["bytes"] / 1000)
        take("first_page_with_chart", loads["all"] / 1000)
        take("load_p50", percentile(loads["took"], 50))
        take("load_p95", percentile(loads["took"], 95))
        pixels = page.ask(f"pixel {PIXELS}")["took"]
        take("pixel_p50", percentile(pixels, 50))
        take("pixel_p99", percentile(pixels, 99))
        table = page.ask("rows")
        take("filter", max(table["filter"]))
        take("sort", max(table["sort"]))
        take("memory", console.memory())
        with contextlib.closing(Readers(console, READERS)) as readers:
            readers.read(5)  # the snapshots
            before = readers.received
            take("cpu_200_readers", console.cpu_percent(readers.read))
            take("reader_rate", (readers.received - before) / CPU_S / READERS / 1000)
        take("cut", seconds_until_cut(console))
        take("memory_peak", console.memory("VmHWM"))
    heap = page.ask(f"heap {HEAP_S} {HEAP_OF_S}")
    print(f"heap: {heap['deltas']} deltas out of {heap['recorded']}, {heap['rows']:.0f} rows each", flush=True)
    found["heap_before"], found["heap"] = [heap["before"] / 1e6], [heap["after"] / 1e6]
    units = {"first_page": "KB", "first_page_with_chart": "KB", "filter": "ms", "sort": "ms", "memory": "MiB", "memory_peak": "MiB", "cpu": "%", "cpu_200_readers": "%",
             "reader_rate": "KB/s", "cut": "s", "heap": "MB", "heap_before": "MB"}
    for name, values in found.items():
        figure(f"console.{name}", units.get(name, "ms"), values)


def main() -> int:
    processes.install_signal_handlers()
    programs = {path.name: path for _, path in build.listed("release", "benches")}
    try:
        environment, why_not = browser.provide()
        if why_not:
            raise Failed(why_not)
        with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as scratch, contextlib.ExitStack() as stack:
            folder = Path(scratch)
            figure("console.binary", "MiB", [binary_mib(folder)])
            server = Talker([programs["fleet_server"], folder / "api", NODES, PODS_A_NODE])
            stack.callback(server.end)
            kubeconfig = server.answer()["kubeconfig"]
            (folder / "settings.yaml").write_text(SETTINGS)
            server.ask(f"own {folder / 'settings.yaml'}")
            console = Console(programs["tidemark"], kubeconfig, folder / "console.log")
            stack.callback(console.end)
            server.tell(f"update {WHOLE_S * REPORTS_A_SECOND} {REPORTS_A_SECOND} {USUAL} {NEAR}")
            os.environ.update({**environment, "TIDEMARK_CONSOLE_URL": console.url, "TIDEMARK_KUBECONFIG": kubeconfig, "TIDEMARK_CHROMIUM": shutil.which("chromium") or "chromium"})
            page = Talker(["node", HERE / "page.mjs"])
            stack.callback(page.end)
            rounds(console, page)
    except Failed as why:
        print(f"bench console: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
