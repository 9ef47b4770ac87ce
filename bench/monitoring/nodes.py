"""The nodes that bench/monitoring scrapes: what the kubelet's cAdvisor and Tidemark's agents serve, from one process.

  /N/cadvisor   node N: 20 series for each online pod and for each offline task
  /N/offline    node N: /metrics/offline of its agent, sums by class

Every pod and task has the labels that cAdvisor gives. Offline tasks have three lives, a third of the tasks alive each. When one
ends, the next begins, with another name. Time runs FACTOR times as fast as the clock.
"""

import sys
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ONLINE_PODS = 20
LIVES_S = (40, 600, 7200)
TASKS_OF_A_LIFE = 10
CLASSES = ("spark", "training", "transcode")
COUNTERS = (
    "cpu_usage_seconds_total", "cpu_user_seconds_total", "cpu_system_seconds_total", "cpu_cfs_periods_total", "cpu_cfs_throttled_periods_total",
    "cpu_cfs_throttled_seconds_total", "fs_reads_bytes_total", "fs_writes_bytes_total", "memory_failcnt", "memory_failures_total",
)
GAUGES = (
    "memory_usage_bytes", "memory_working_set_bytes", "memory_rss", "memory_cache", "memory_swap", "memory_mapped_file", "processes", "threads",
    "start_time_seconds", "last_seen",
)
SERIES = len(COUNTERS) + len(GAUGES)


def labels(node: int, namespace: str, pod: str, qos: str) -> str:
    uid = f"{zlib.crc32(pod.encode()):08x}-{node:04x}-4000-8000-{zlib.crc32(pod[::-1].encode()):012x}"
    path = f"/kubepods.slice/kubepods-{qos}.slice/kubepods-{qos}-pod{uid.replace('-', '_')}.slice"
    return f'container="main",id="{path}",image="registry/{namespace}/main:v1",name="{uid}",namespace="{namespace}",pod="{pod}"'


def lines(labelled: str, age_s: float, seed: int) -> str:
    """Counters grow, gauges move, as those of a working container do."""
    moves = (seed * 7919 + int(age_s)) % 997
    counters = [f"container_{name}{{{labelled}}} {age_s * (1 + (seed + at) % 7) / 3:.3f}" for at, name in enumerate(COUNTERS)]
    gauges = [f"container_{name}{{{labelled}}} {1_000_000 * (1 + (seed + at) % 50) + 4096 * moves}" for at, name in enumerate(GAUGES)]
    return "\n".join(counters + gauges)


class Nodes:
    def __init__(self, factor: float):
        self._begin, self._factor = time.monotonic(), factor
        self._online = {}

    def seconds(self) -> float:
        """Of the nodes' time."""
        return (time.monotonic() - self._begin) * self._factor

    def cadvisor(self, node: int) -> str:
        now = self.seconds()
        if node not in self._online:
            self._online[node] = [labels(node, "shop", f"web-{pod}-{node:04d}", "burstable") for pod in range(ONLINE_PODS)]
        parts = [lines(labelled, now + 86400, node + at) for at, labelled in enumerate(self._online[node])]
        for life in LIVES_S:
            for slot in range(TASKS_OF_A_LIFE):
                turn, age = divmod(now + life * (slot + node % 7 / 7) / TASKS_OF_A_LIFE, life)
                parts.append(lines(labels(node, "jobs", f"task-{life}-{slot}-{int(turn)}-{node:04d}", "besteffort"), age, slot))
        return "\n".join(parts) + "\n"

    def offline(self, node: int) -> str:
        tasks = len(LIVES_S) * TASKS_OF_A_LIFE // len(CLASSES)
        moves = (node + int(self.seconds())) % 10
        return "".join(
            f'tidemark_offline_{what}{{class="{name}",side="kubernetes"}} {value}\n'
            for name in CLASSES for what, value in (("tasks", tasks), ("used_cpu_cores", tasks / 4 + moves), ("used_memory_bytes", tasks << 28))
        )


def main() -> None:
    port, factor = int(sys.argv[1]), float(sys.argv[2])
    nodes = Nodes(factor)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            _, node, page = self.path.split("?")[0].split("/")
            body = (nodes.cadvisor if page == "cadvisor" else nodes.offline)(int(node)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
