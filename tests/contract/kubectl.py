"""Sessions of an unmodified kubectl: commands and their expected output. python -m contract.kubectl --kubeconfig F --kubectl F

A session (sessions/*.session) is read like a terminal:

    # comment
    $ kubectl get configmap absent
    > second line of a command
    a line of output
    ! a line of error output
    [1]                            the exit code, if it is not 0
    %memory                        up to the next command: the output with kube/memory where it deliberately differs

Values that vary between runs are written as a word: NS, X, UID, TIME, RV, AGE. Runs of spaces inside a line count as two.
--record writes the target's output into the files: use the real server, and review the diff.
"""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from support.patience import PATIENCE_S as COMMAND_S

FOLDER = Path(__file__).parent / "sessions"
WORKERS = 3

# until_in FILE TEXT waits for the output of another process.
PRELUDE = """
set -u
kubectl() { "$KUBECTL" --namespace "$NS" "$@"; }
until_in() { for _ in $(seq 400); do grep -q -- "$2" "$1" 2>/dev/null && return 0; sleep 0.05; done; echo "never saw $2 in $1:"; cat "$1"; return 1; }
"""


@dataclass
class Step:
    line: int
    comment: list[str]
    command: list[str]
    expected: list[str] = field(default_factory=list)
    in_memory: list[str] | None = None


def read(file: Path) -> tuple[list[Step], list[str]]:
    """The steps, and the comment after the last one."""
    steps, comment, into = [], [], None
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if line.startswith("$ "):
            steps.append(Step(number, comment, [line[2:]]))
            comment, into = [], steps[-1].expected
        elif line.startswith("> ") and steps and not steps[-1].expected:
            steps[-1].command.append(line[2:])
        elif line == "%memory" and steps:
            into = steps[-1].in_memory = []
        elif line.startswith("#") or not line:
            comment.append(line)
            into = None
        elif into is None:
            raise ValueError(f"{file.name}:{number}: output without a command: `{line}`")
        else:
            into.append(line)
    return steps, comment


def write(file: Path, steps: list[Step], tail: list[str]) -> None:
    lines = []
    for step in steps:
        lines += step.comment + [f"$ {step.command[0]}"] + [f"> {line}" for line in step.command[1:]] + step.expected
        if step.in_memory is not None:
            lines += ["%memory", *step.in_memory]
    file.write_text("\n".join(lines + tail) + "\n")


class Session:
    """One session's directory, namespace and unique word."""

    def __init__(self, kubectl: Path, kubeconfig: Path, folder: Path, number: int):
        self._folder = folder
        mark = f"{time.time_ns() // 1_000_000 % 36**6:x}{number:02x}"
        self._words = {f"session-{mark}": "NS", f"x{mark}": "X"}
        self._environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder.parent), "KUBECONFIG": str(kubeconfig), "KUBECTL": str(kubectl), "NS": f"session-{mark}", "X": f"x{mark}",
            "LC_ALL": "C.UTF-8", "TZ": "UTC", "KUBECTL_EXTERNAL_DIFF": "diff -u0",
        }

    def run(self, command: str) -> list[str]:
        with open(self._folder / ".out", "w+b") as out, open(self._folder / ".err", "w+b") as err:
            try:
                code = subprocess.run(["bash", "-c", PRELUDE + command], cwd=self._folder, env=self._environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=COMMAND_S).returncode
            except subprocess.TimeoutExpired:
                code = "timeout"
            out.seek(0), err.seek(0)
            lines = self.normal(out.read().decode(errors="replace")) + [f"! {line}".rstrip() for line in self.normal(err.read().decode(errors="replace"))]
        return lines + ([f"[{code}]"] if code != 0 else [])

    def normal(self, text: str) -> list[str]:
        for word, name in self._words.items():
            text = text.replace(word, name)
        for pattern, name in (
            (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
            (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"), (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
            (r"(resourceVersion\"?: \"?|Resource Version: +)\d+", r"\1RV"), (r"(cpu: +[0-9]+m\b)|(?<=\s)(?:\d+[smhd]){1,2}(?=\s|$)", lambda found: found[1] or "AGE"),
        ):
            text = re.sub(pattern, name, text)
        # Lines of klog (with time, process and line of code) are timing messages of kubectl's libraries, not its answer.
        text = re.sub(r"^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+:\d+\] .*\n?", "", text, flags=re.M)
        # Column widths depend on the variable words; indentation does not.
        return [re.sub(r"(?<=\S) {2,}", "  ", line).replace("\t", "  ").rstrip() for line in text.splitlines() if line.strip()]

    def clean_up(self) -> None:
        self.run('kubectl delete all,cm,secret,pdb --all --wait=false --grace-period=0 --force; kubectl delete namespace "$NS" --wait=false --ignore-not-found')


@dataclass(frozen=True)
class Result:
    name: str
    outcome: str
    detail: str
    seconds: float


def play(file: Path, kubectl: Path, kubeconfig: Path, folder: Path, number: int, *, in_memory: bool = False, record: bool = False) -> list[Result]:
    """A result for each step. A failed step lacks the input of the following steps, so the session ends there."""
    folder.mkdir(parents=True)
    steps, tail = read(file)
    results = []
    session = Session(kubectl, kubeconfig, folder, number)
    session.run('kubectl create namespace "$NS"')
    try:
        for step in steps:
            begin = time.monotonic()
            found = session.run("\n".join(step.command))
            wanted = step.in_memory if in_memory and step.in_memory is not None else step.expected
            name = f"{file.stem}:{step.line} {step.command[0]}"
            if record:
                step.expected = found
            elif found != wanted:
                diff = "\n".join(difflib.unified_diff(wanted, found, "wanted", "found", lineterm="", n=2))
                results.append(Result(name, "failed", f"{file.name}:{step.line}\n$ " + "\n> ".join(step.command) + f"\n{diff}", time.monotonic() - begin))
                if len([r for r in results if r.outcome == "failed"]) >= 5:
                    break
                continue
            results.append(Result(name, "passed", "", time.monotonic() - begin))
    finally:
        session.clean_up()
    if record:
        write(file, steps, tail)
    return results


def run_sessions(kubectl: Path, kubeconfig: Path, scratch: Path, *, names: list[str] = (), in_memory: bool = False, record: bool = False) -> list[Result]:
    files = [file for file in sorted(FOLDER.glob("*.session")) if not names or file.stem in names]
    with ThreadPoolExecutor(WORKERS) as pool:
        jobs = [pool.submit(play, file, kubectl, kubeconfig, scratch / file.stem, number, in_memory=in_memory, record=record) for number, file in enumerate(files)]
        return [result for job in jobs for result in job.result()]


def main() -> int:
    parser = argparse.ArgumentParser(prog="contract.kubectl", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kubectl", type=Path, required=True)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--in-memory", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--result", type=Path, help="writes [[name, outcome, detail, seconds], …] as JSON")
    parser.add_argument("session", nargs="*")
    options = parser.parse_args()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tidemark-kubectl-") as scratch:
        results = run_sessions(options.kubectl.resolve(), options.kubeconfig.resolve(), Path(scratch), names=options.session, in_memory=options.in_memory, record=options.record)
    failed = [result for result in results if result.outcome == "failed"]
    for result in failed:
        print(f"FAILED {result.detail}\n")
    if options.result:
        options.result.write_text(json.dumps([[r.name, r.outcome, r.detail, round(r.seconds, 3)] for r in results], indent=1))
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed, 0 skipped in {time.monotonic() - begin:.1f} s")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
