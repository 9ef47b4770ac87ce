"""What the suites' run.py share: a child that is spoken to in lines, its memory seen from outside, and figures."""

import json
import os
import re
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from contract.client import Client, Target
from driver import build, cluster, node as node_programs, processes
from driver.console import Failed
from support.node.node import Node

ANSWER_S = 600


class Talker:
    """A child that answers lines on its standard input with lines of JSON on its standard output."""

    def __init__(self, command: list):
        self._child = processes.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._name = Path(command[0]).name
        self._buffer = b""

    def tell(self, line: str) -> None:
        self._child.stdin.write(line.encode() + b"\n")
        self._child.stdin.flush()

    def answer(self) -> dict:
        deadline = time.monotonic() + ANSWER_S
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._child.stdout], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(self._child.stdout.fileno(), 65536) if ready else b""
            if not piece:
                raise Failed(f"{self._name}: no answer within {ANSWER_S} s" if not ready else f"{self._name} ended with {self._child.wait()}")
            self._buffer += piece
        line, self._buffer = self._buffer.split(b"\n", 1)
        return json.loads(line)

    def ask(self, line: str) -> dict:
        self.tell(line)
        return self.answer()

    @property
    def pid(self) -> int:
        return self._child.pid

    def end(self) -> None:
        processes.kill_group(self._child)


def pss_bytes(pid: int) -> int:
    return 1024 * int(re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])


def resident_bytes(pid: int, field: str = "VmRSS") -> int:
    """`field` may be VmHWM: the most there ever was."""
    return 1024 * int(re.search(rf"^{field}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M)[1])


def private_dirty_bytes(pid: int) -> int:
    """Of memory that is its own and was written."""
    return 1024 * int(re.search(r"^Private_Dirty:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])


def cpu_seconds(pid: int) -> float:
    """What all threads of the process that live now have had of a core, in the kernel and outside of it."""
    return sum(int(task.read_text().split()[0]) for task in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def figure(name: str, unit: str, values: list[float]) -> None:
    """Prints the median with its spread, as ./dev bench reads it."""
    value = statistics.median(values)
    digits = 3 if abs(value) < 1 else 1 if abs(value) < 100 else None
    shown = [round(v, digits) for v in sorted(values)]
    entry = {"figure": name, "value": round(value, digits), "unit": unit, "n": len(values), "spread": [shown[0], shown[-1]]}
    print(json.dumps(entry, ensure_ascii=False), flush=True)


def client(environment: dict[str, str]) -> Client:
    """Of the kube-apiserver of these surroundings."""
    token = Path(environment["TIDEMARK_TEST_TOKEN_FILE"]).read_text().strip()
    return Client(Target(environment["TIDEMARK_TEST_SERVER"], environment["TIDEMARK_TEST_CA_FILE"], token))


def real_node(environment: dict[str, str], stack: ExitStack) -> tuple[Client, Node]:
    """A client, and a node with a real kubelet, until the stack ends. What the tests share reads the surroundings from this process's own."""
    more, why_not = node_programs.provide()
    if why_not:
        raise Failed(f"no node can be made here: {why_not}")
    os.environ.update({**environment, **more})
    api = client(environment)
    stack.callback(api.close)
    places = [Path(os.environ[name]) for name in ("TIDEMARK_TEST_KUBECONFIG", "TIDEMARK_TEST_CA_FILE", "TIDEMARK_KUBELET")]
    return api, stack.enter_context(Node(api, *places))


def start_agent(program: Path, node: Node, folder: str, *more: str, log=subprocess.DEVNULL) -> subprocess.Popen:
    """`tidemark agent` of that node, with all that it keeps in the folder."""
    return processes.start([
        program, "agent", "--node-name", node.name, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--kubelet-endpoint", node.kubelet,
        "--kubelet-ca-file", os.environ["TIDEMARK_TEST_CA_FILE"], "--kubelet-cgroup-root", f"/{node.cgroup}", "--metrics-addr", "127.0.0.1:0",
        "--run-dir", f"{folder}/run", "--latch-file", f"{folder}/latch", *more,
    ], stderr=log)


def main_with_cluster(suite: str, run: Callable[[Path, dict[str, str], ExitStack], None]) -> int:
    """`run` with the program and the surroundings of a real kube-apiserver of its own; answers the exit code."""
    processes.install_signal_handlers()
    programs = {Path(path).name: Path(path) for _, path in build.listed("release", "benches")}
    program = Path(os.environ["TIDEMARK_BINARY"]) if "TIDEMARK_BINARY" in os.environ else programs["tidemark"]
    fixture = cluster.Fixture()
    try:
        environment = fixture.start()
        with ExitStack() as stack:
            run(program, environment, stack)
    except Failed as why:
        print(f"bench {suite}: {why}", file=sys.stderr)
        return 1
    finally:
        fixture.stop()
    return 0
