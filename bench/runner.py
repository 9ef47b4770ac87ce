"""./dev bench: runs the suites under bench/ from the release build and puts their figures into the ledger.

A suite is a folder bench/SUITE. Its programs are registered in CMake (tidemark_bench); a suite that has to prepare something or
runs a peer beside them has a run.py, which is then run instead and finds the programs in TIDEMARK_BENCH_PROGRAMS. Either
prints figures on standard output, a line of JSON each: {"figure": "SUITE.name", "value": 1.5, "unit": "ms", "n": 10, "spread":
[1.4, 1.9]}. Every other line is for people and passed on.
"""

import datetime
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

from bench import figures
from driver import build, kubernetes, packages, processes
from driver.console import Failed, WrongUse, say, step
from driver.paths import PYTHON_PATH, ROOT

SUITE_LIMIT_S = 3600
PRESET = "release"


def run(arguments: list[str]) -> int:
    dry = "--dry-run" in arguments
    names = [a for a in arguments if a != "--dry-run"]
    if names == ["tables"]:
        return write_tables()
    suites = sorted(p.parent.name for p in (ROOT / "bench").glob("*/CMakeLists.txt"))
    for name in names:
        if name not in suites:
            raise WrongUse(f"no suite `{name}`: {', '.join(suites) or 'none yet'}")
    if not suites:
        say("no suites under bench/ yet")
        return 0
    packages.setup()
    if any("TIDEMARK_BENCHES" in text or "tidemark_bench(" in text for text in ((ROOT / "bench" / suite / "CMakeLists.txt").read_text() for suite in names or suites)):
        build.build(PRESET, ["benches"])
    found = []
    for suite in names or suites:
        with step(f"bench {suite}"):
            found += _suite(suite)
    if not dry:
        again = {entry["figure"] for entry in found}
        kept = [entry for entry in figures.read(ROOT)[0] if entry["figure"] not in again]
        (ROOT / figures.LEDGER).write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in kept + found))
        write_tables()
    say(f"{len(found)} figures" + (" (dry run: none kept)" if dry else f" in {figures.LEDGER}"))
    return 0


def write_tables() -> int:
    entries, wrong = figures.read(ROOT)
    wrong = wrong or figures.unshowable(ROOT)
    if wrong:
        raise Failed("\n".join(wrong))
    for page, text in figures.pages(ROOT, entries).items():
        (ROOT / page).write_text(text)
    return 0


def _suite(suite: str) -> list[dict]:
    programs = [str(path) for name, path in build.listed(PRESET, "benches") if name == suite]
    script = ROOT / "bench" / suite / "run.py"
    commands = [[sys.executable, str(script)]] if script.exists() else [[program] for program in programs]
    go, _ = kubernetes.find_go()
    environment = {
        **os.environ, "TIDEMARK_BENCH_PROGRAMS": os.pathsep.join(programs), "TIDEMARK_GO": go or "",
        "PYTHONPATH": PYTHON_PATH, "PYTHONDONTWRITEBYTECODE": "1",
    }
    found = []
    for command in commands:
        child = processes.start(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            for line in child.stdout:
                entry = _figure(line, suite)
                if entry:
                    found.append(entry)
                print(line, end="", flush=True)
            code = child.wait(timeout=SUITE_LIMIT_S)
        finally:
            processes.kill_group(child)
        if code != 0:
            raise Failed(f"bench {suite}: {' '.join(command)} ended with {code}; none of its figures is kept")
    if not found:
        raise Failed(f"bench {suite} printed no figure")
    return found


def _figure(line: str, suite: str) -> dict | None:
    if not line.startswith("{"):
        return None
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if "figure" not in entry:
        return None
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    entry = {**entry, "command": f"./dev bench {suite}", "commit": commit(), "machine": machine(), "date": now}
    wrong = figures.problem(entry)
    if wrong:
        raise Failed(f"bench {suite}: a figure that the ledger does not take: {wrong}\n{line}")
    return entry


def commit() -> str:
    head = processes.capture(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT).strip()
    # The ledger and its table change by measuring; they do not make the measured code another.
    changed = processes.capture(["git", "status", "--porcelain", "--untracked-files=no", "--", ".", *(f":!{made}" for made in (figures.LEDGER, figures.TABLE, figures.ALL))], cwd=ROOT)
    return head + ("-dirty" if changed.strip() else "")


def machine() -> str:
    cpuinfo = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.M)
    memory = int(re.search(r"^MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text(), re.M)[1]) // (1024 * 1024)
    name = re.sub(r"\s+", " ", model[1]).strip() if model else platform.machine()
    return f"{os.cpu_count()} × {name}, {memory} GiB, Linux {platform.release().split('-')[0]}"
