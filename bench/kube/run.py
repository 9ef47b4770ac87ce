"""./dev bench kube: our client and client-go on the same 10,000 pods, in the same run, round by round in turn.

Three parts, each with what both sides kept compared line by line (kept.h), so that a figure never stands for less work done wrong:

  decode   a PodList from bytes in memory to structs. Ours keeps what kept.h names, client-go's codec fills every field.
  cache    an informer against a real kube-apiserver: list + decode over HTTPS, memory, and changes as they come from the server.
           Here client-go is also measured with its protobuf codec.
  tape     an informer against a server that plays prepared bytes (bench/peer/kube/tape.go): what the client alone can take in.

Memory is read from outside the process: Pss of /proc/PID/smaps_rollup when the list is in, minus the same when the connection
stands and nothing is listed; each side frees what it can before both (malloc_trim, debug.FreeOSMemory). The peak is VmHWM over
that first reading.
"""

import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pods
from bench.harness import ANSWER_S, Talker, figure, pss_bytes, resident_bytes
from driver import cluster, kubernetes, processes
from driver.console import Failed, step

PODS = 10_000
ROUNDS = 7          # of the decoder; each is the best of DECODES in one process
DECODES = 3
CACHE_ROUNDS = 5
CHANGES = 3_000     # a round, against the API server
TAPE_CHANGES = 30_000
PEER = Path(__file__).parents[1] / "peer" / "kube"


def ratio(name: str, theirs: list[float], ours: list[float]) -> None:
    """Of the rounds that ran side by side."""
    figure(f"kube.{name}", "×", [t / o for t, o in zip(theirs, ours)])


def build_peer(folder: Path) -> Path:
    go = os.environ.get("TIDEMARK_GO") or kubernetes.find_go()[0]
    if not go:
        raise Failed(f"bench kube compares with client-go: {kubernetes.find_go()[1]}")
    with step("building the client-go peer"):
        log = folder / "peer.log"
        # The flags of tests/support/kubernetes: what kube-apiserver was built from is in Go's cache then.
        done = processes.run_logged([go, "build", "-mod=readonly", "-trimpath", "-o", folder / "peer", "."], log, cwd=PEER,
                                    env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""})
        if done.code != 0:
            raise Failed(f"go build of bench/peer/kube failed:\n{log.read_text(errors='replace')[-4000:]}")
    return folder / "peer"


def compare(what: str, ours: Path, theirs: Path) -> None:
    a, b = ours.read_text().splitlines(), theirs.read_text().splitlines()
    for number, (x, y) in enumerate(zip(a, b), 1):
        if x != y:
            raise Failed(f"{what}: line {number} of what is kept differs\n  ours:      {x}\n  client-go: {y}")
    if len(a) != PODS or len(b) != PODS:
        raise Failed(f"{what}: {PODS} pods wanted, ours keeps {len(a)}, client-go {len(b)}")
    print(f"{what}: {len(a)} pods × {len(a[0].split(chr(9)))} fields kept equal to client-go's", flush=True)


def bench_decode(ours: Path, peer: Path, file: Path, folder: Path) -> None:
    sides = {"tidemark": ours, "client_go": peer}
    best: dict[str, list[float]] = {name: [] for name in sides}
    median: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, program in sides.items():
            answer = json.loads(processes.capture([program, "decode", file, DECODES]))
            if answer["pods"] != PODS:
                raise Failed(f"{name} decoded {answer['pods']} pods of {PODS}")
            best[name].append(min(answer["ms"]))
            median[name].append(statistics.median(answer["ms"]))
    for name in sides:
        figure(f"kube.decode_best_{name}", "ms", best[name])
        figure(f"kube.decode_median_{name}", "ms", median[name])
    ratio("decode_ratio", best["client_go"], best["tidemark"])
    for name, program in sides.items():
        processes.capture([program, "kept", file, folder / f"decoded-{name}"])
    compare("decode", folder / "decoded-tidemark", folder / "decoded-client_go")


def listed(talker: Talker) -> dict:
    """Lists, and answers the time and the memory that it took."""
    talker.answer()  # ready
    before = pss_bytes(talker.pid)
    answer = talker.ask("list")
    if not answer["synced"] or answer["pods"] != PODS:
        raise Failed(f"the list ended with {answer}")
    return {"list": answer["ms"], "bytes": (pss_bytes(talker.pid) - before) / PODS, "peak": (resident_bytes(talker.pid, "VmHWM") - before) / 2**20}


def change(peer: Path, etcd: str, file: Path, serial: int) -> float:
    """Gives CHANGES pods another label; answers how many a second were stored."""
    answer = json.loads(processes.capture([peer, "change", etcd, file, CHANGES, serial], timeout_s=ANSWER_S))
    return 1000 * CHANGES / answer["ms"]


def bench_cache(ours: Path, peer: Path, file: Path, folder: Path) -> None:
    fixture = cluster.Fixture()
    try:
        environment = fixture.start()
        kubeconfig, etcd = environment["TIDEMARK_TEST_KUBECONFIG"], environment["TIDEMARK_TEST_ETCD"]
        with step(f"storing {PODS} pods"):
            processes.capture([peer, "load", etcd, file], timeout_s=ANSWER_S)
        sides = {
            "tidemark": [ours, "cache", kubeconfig],
            "client_go_json": [peer, "cache", kubeconfig, "json"],
            "client_go_protobuf": [peer, "cache", kubeconfig, "protobuf"],
        }
        found: dict[str, dict[str, list[float]]] = {name: {} for name in sides}
        stored = []
        serial = 0
        for _ in range(CACHE_ROUNDS):
            for name, command in sides.items():
                talker = Talker(command)
                try:
                    figures = listed(talker)
                    talker.tell(f"expect {CHANGES}")
                    serial += 1
                    stored.append(change(peer, etcd, file, serial))
                    figures["events"] = 1000 * CHANGES / max(talker.answer()["ms"], 0.001)
                finally:
                    talker.end()
                for key, value in figures.items():
                    found[name].setdefault(key, []).append(value)
        units = {"list": ("list", "ms"), "bytes": ("memory_a_pod", "bytes"), "peak": ("list_peak", "MiB"), "events": ("live_events", "events/s")}
        for key, (word, unit) in units.items():
            for name in sides:
                figure(f"kube.{word}_{name}", unit, found[name][key])
        figure("kube.live_writes", "writes/s", stored)
        for other in ("client_go_json", "client_go_protobuf"):
            for key, word in {"list": "list", "bytes": "memory"}.items():
                ratio(f"{word}_ratio_{other}", found[other][key], found["tidemark"][key])
        compare_caches(sides, peer, etcd, file, folder, serial + 1)
    finally:
        fixture.stop()


def compare_caches(sides: dict[str, list], peer: Path, etcd: str, file: Path, folder: Path, serial: int) -> None:
    """All at once on the same server: listed, changed under their eyes, and compared."""
    with contextlib.ExitStack() as stack:
        talkers = {}
        for name, command in sides.items():
            talkers[name] = Talker(command)
            stack.callback(talkers[name].end)
        for talker in talkers.values():
            listed(talker)
            talker.tell(f"expect {CHANGES}")
        change(peer, etcd, file, serial)
        for name, talker in talkers.items():
            talker.answer()
            talker.ask(f"kept {folder / f'cached-{name}'}")
    for other in ("client_go_json", "client_go_protobuf"):
        compare(f"cache after {CHANGES} changes, {other}", folder / "cached-tidemark", folder / f"cached-{other}")


def bench_tape(ours: Path, peer: Path, file: Path, folder: Path) -> None:
    kubeconfig = folder / "tape.kubeconfig"
    server = Talker([peer, "tape", file, kubeconfig])
    try:
        server.answer()
        sides = {"tidemark": [ours, "cache", kubeconfig], "client_go_json": [peer, "cache", kubeconfig, "json"]}
        lists: dict[str, list[float]] = {name: [] for name in sides}
        events: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(CACHE_ROUNDS):
            for name, command in sides.items():
                talker = Talker(command)
                try:
                    lists[name].append(listed(talker)["list"])
                    talker.tell(f"expect {TAPE_CHANGES}")
                    while server.ask(f"play {TAPE_CHANGES}")["watches"] == 0:
                        time.sleep(0.05)  # the list is in; its watch is on the way
                    events[name].append(1000 * TAPE_CHANGES / talker.answer()["ms"])
                finally:
                    talker.end()
        for name in sides:
            figure(f"kube.tape_list_{name}", "ms", lists[name])
            figure(f"kube.tape_events_{name}", "events/s", events[name])
        ratio("tape_list_ratio", lists["client_go_json"], lists["tidemark"])
        ratio("tape_events_ratio", events["tidemark"], events["client_go_json"])
    finally:
        server.end()


def main() -> int:
    processes.install_signal_handlers()
    parts = sys.argv[1:] or ["decode", "cache", "tape"]
    ours = Path(os.environ["TIDEMARK_BENCH_PROGRAMS"].split(os.pathsep)[0])
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as scratch:
        folder = Path(scratch)
        peer = Path(os.environ["TIDEMARK_BENCH_PEER"]) if "TIDEMARK_BENCH_PEER" in os.environ else build_peer(folder)
        file = folder / "pods.json"
        pods.write(PODS, str(file))
        print(f"{PODS} pods, {file.stat().st_size / PODS:.0f} bytes of JSON each; ours: clang -O2, static; client-go: go build", flush=True)
        try:
            if "decode" in parts:
                bench_decode(ours, peer, file, folder)
            if "cache" in parts:
                bench_cache(ours, peer, file, folder)
            if "tape" in parts:
                bench_tape(ours, peer, file, folder)
        except Failed as why:
            print(f"bench kube: {why}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
