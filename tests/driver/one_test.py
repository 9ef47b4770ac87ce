"""Runs one test of CTest: python -m driver.one_test GROUP NAME KIND [ARGS].

  gtest PROGRAM [FLAGS]   a GoogleTest program
  python FILE             a file of unittest
  tidy                    the checks of tests/tidy
  docs                    the commands in the docs that are tagged for the group
  suite, suite-in-memory  the contract suite on the real kube-apiserver, and on the API server in memory

A test gets a directory of its own as TMPDIR. A test of a group with real parts gets the environment that ./dev wrote to build/test-world/GROUP.json,
and a cluster that no other test uses meanwhile. The cases are written to build/test-logs/GROUP/NAME.cases.json; if CTest runs the test a second time,
those of the first try are in NAME.first.json. Exit code: 0 passed, 1 failed, 77 all cases skipped.
"""

import ctypes
import fcntl
import json
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from demo import docs_world, plain_groups
from driver import processes, results, sanitizers
from driver.console import Failed
from driver.paths import BUILD, LOGS, PYTHON_PATH, ROOT, WORLD
from driver.results import FAILED, PASSED, SKIPPED, Case
from support import owners, ports
from support.cluster import control
from support.patience import PATIENCE_S

ALL_SKIPPED = 77
REAL_GROUPS = ("contract", "node", "cluster", "yarn", "vm", "browser", "long")  # these need what ./dev provides
# A test that runs longer is killed and fails. The slowest take a tenth of it on an idle machine.
LIMIT_S = {"long": 7200.0}
LIMIT_DEFAULT_S = 1800.0
LANE_POLL_S = 0.05


def main(arguments: list[str]) -> int:
    group, name, kind, *rest = arguments
    processes.install_signal_handlers()
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: ends with ctest
    _begin(group, name)
    try:
        world = _world(group)
    except Failed as error:
        return _report(group, name, [Case(group, name, "(start)", FAILED, str(error))])
    with _lane(world) as lane:
        cases = _run(group, name, kind, rest, {**world.get("environment", {}), **lane.get("environment", {})})
        cases += _left_behind(group, name, lane)
    return _report(group, name, cases)


def _world(group: str) -> dict:
    file = WORLD / f"{group}.json"
    if file.exists():
        return json.loads(file.read_text())
    if group in REAL_GROUPS:
        raise Failed(f"the real parts of the group {group} do not run; start the test by `./dev test {group} --only=NAME`")
    return {}


@contextmanager
def _lane(world: dict):
    """A cluster that this test has to itself. Waits until one is free."""
    lanes = world.get("lanes", [])
    if not lanes:
        yield {}
        return
    while True:
        for number, lane in enumerate(lanes):
            with open(WORLD / f"lane-{number}.lock", "w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                yield lane
                return
        time.sleep(LANE_POLL_S)


def _left_behind(group: str, name: str, lane: dict) -> list[Case]:
    """A test that leaves a program of its cluster stopped or paused has failed. The program is started again for the next test."""
    if not lane:
        return []
    try:
        left = control.put_right(Path(lane["state"]))
    except (control.Refused, OSError) as error:
        return [Case(group, name, "(cluster)", FAILED, f"the cluster is lost: {error}")]
    return [Case(group, name, "(whole file)", FAILED, f"it left {left}")] if left else []


def _run(group: str, name: str, kind: str, rest: list[str], environment: dict[str, str]) -> list[Case]:
    if kind == "gtest":
        return _gtest(group, name, rest, environment)
    if kind == "python":
        return _python(group, name, Path(rest[0]), environment)
    if kind == "tidy":
        from tidy import checks

        return [Case(group, name, check, FAILED if found else PASSED, "\n".join(found)) for check, found in checks.run_all(ROOT)]
    if kind == "docs":
        return _docs(group, name, environment)
    if kind == "suite":
        return _suite(group, name, environment)
    if kind == "suite-in-memory":
        return _suite_in_memory(group, name, environment)
    raise Failed(f"one_test: unknown kind `{kind}`")


def _begin(group: str, name: str) -> None:
    """Keeps the report of a first try. The new one says that the test has failed until it has ended."""
    report = LOGS / group / f"{name}.cases.json"
    if report.exists():
        report.rename(report.with_name(f"{name}.first.json"))
    _write(group, name, [Case(group, name, "(whole test)", FAILED, "the test ended without a report")])


def _write(group: str, name: str, cases: list[Case]) -> None:
    file = LOGS / group / f"{name}.cases.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps([[case.program, case.name, case.outcome, case.detail] for case in cases]))


def _report(group: str, name: str, cases: list[Case]) -> int:
    cases = cases or [Case(group, name, "(whole test)", FAILED, "ran no case")]
    _write(group, name, cases)
    for case in cases:
        if case.outcome != PASSED:
            print(f"{case.outcome.upper()} {case.title}: {case.detail.rstrip()}")
    print(results.tally(cases), flush=True)
    if any(case.outcome == FAILED for case in cases):
        return 1
    return ALL_SKIPPED if all(case.outcome == SKIPPED for case in cases) else 0


@contextmanager
def scratch():
    """A directory for one test. If this process is killed, the next run of ./dev test removes it."""
    folder = tempfile.mkdtemp(prefix=owners.SCRATCH)
    with processes.cleaned_up(lambda: shutil.rmtree(folder, ignore_errors=True)):
        owners.mark(Path(folder))
        yield folder


def _environment(environment: dict[str, str], folder: str) -> dict[str, str]:
    inherited = {key: value for key, value in os.environ.items() if key not in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST")}
    return {
        **inherited, **sanitizers.ENVIRONMENT, **environment, "TMPDIR": folder, "TIDEMARK_BINARY": str(BUILD / "tidemark"),
        "PYTHONPATH": PYTHON_PATH, "PYTHONDONTWRITEBYTECODE": "1",
    }


def _limit(group: str, environment: dict[str, str]) -> float:
    """Seconds: the limit of the group, or what is left of the whole run."""
    limit = LIMIT_S.get(group, LIMIT_DEFAULT_S)
    return max(1.0, min(limit, float(environment["TIDEMARK_TEST_END"]) - time.time())) if "TIDEMARK_TEST_END" in environment else limit


def _logged(group: str, name: str, command: list, environment: dict[str, str], report: Path) -> tuple[str, processes.Outcome]:
    log = LOGS / group / f"{name}.log"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    with scratch() as folder:
        done = processes.run_logged(command, log, cwd=ROOT, env=_environment(environment, folder), timeout_s=_limit(group, environment))
    return log.read_text(errors="replace"), done


def _gtest(group: str, name: str, command: list[str], environment: dict[str, str]) -> list[Case]:
    report = LOGS / group / f"{name}.json"
    said, done = _logged(group, name, [*command, f"--gtest_output=json:{report}"], environment, report)
    return results.from_gtest(group, name, report, said, done.code, done.timed_out)


def _python(group: str, name: str, file: Path, environment: dict[str, str]) -> list[Case]:
    report = LOGS / group / f"{name}.json"
    said, done = _logged(group, name, [sys.executable, "-m", "driver.python_tests", file, report], environment, report)
    return results.from_python(group, name, report, said, done.code, done.timed_out)


def _module(group: str, name: str, program: str, words: list, environment: dict[str, str]) -> list[Case]:
    """A part of the contract suite. Its report has [name, outcome, detail, seconds]."""
    report = LOGS / group / f"{program}.json"
    said, done = _logged(group, program, [sys.executable, "-m", *words, "--result", report], environment, report)
    if report.exists():
        report.write_text(json.dumps([case[:3] for case in json.loads(report.read_text())]))
    return results.from_python(group, program, report, said, done.code, done.timed_out)


def _suite(group: str, name: str, environment: dict[str, str]) -> list[Case]:
    """The contract suite and the sessions of kubectl on the real kube-apiserver; the sessions also on the server in memory."""
    token = f"@{environment['TIDEMARK_TEST_TOKEN_FILE']}"
    server = ["--server", environment["TIDEMARK_TEST_SERVER"], "--ca", environment["TIDEMARK_TEST_CA_FILE"], "--token", token]
    sessions = ["contract.kubectl", "--kubectl", environment["TIDEMARK_KUBECTL"], "--kubeconfig"]
    cases = _module(group, name, "kube-apiserver", ["contract", *server, "--etcd", environment["TIDEMARK_TEST_ETCD"]], environment)
    cases += _module(group, name, "kube-apiserver-kubectl", [*sessions, environment["TIDEMARK_TEST_KUBECONFIG"]], environment)
    return cases + _on_memory(group, lambda memory, data: _module(group, name, "memory-kubectl", [*sessions, memory.kubeconfig, "--in-memory"], environment))


def _suite_in_memory(group: str, name: str, environment: dict[str, str]) -> list[Case]:
    def cases(memory, data: Path) -> list[Case]:
        server = ["--server", memory.server, "--ca", data / "ca.crt", "--token", f"@{data / 'admin.token'}"]
        return _module(group, name, "memory", ["contract", *server, "--in-memory"], environment)

    return _on_memory(group, cases)


def _on_memory(group: str, run) -> list[Case]:
    from contract.memory import Memory

    with scratch() as folder:
        data = Path(folder) / "memory"
        data.mkdir()
        memory = Memory([str(BUILD / "tests" / "contract" / "memory_server"), str(data), str(time.time_ns())], data)
        try:
            memory.start()
            cases = run(memory, data)
            if not memory.alive():
                cases.append(Case(group, "memory", "(whole program)", FAILED, f"the server died:\n{memory.log[-4000:]}"))
            return cases
        except AssertionError as error:
            return [Case(group, "memory", "(start)", FAILED, str(error))]
        finally:
            memory.kill()
            if memory.written.exists():
                shutil.copy(memory.written, LOGS / group / "memory-server.log")


def _docs(group: str, name: str, environment: dict[str, str]) -> list[Case]:
    """Blocks of commands in a shell each, and pages as a whole (tests/tidy/docs.py)."""
    from tidy import docs

    cases, kubeconfig = [], environment.get("TIDEMARK_TEST_KUBECONFIG")
    if kubeconfig is not None:
        try:
            docs_world.make(Path(kubeconfig))
        except (Failed, OSError) as error:
            return [Case(group, name, "(objects)", FAILED, str(error))]
    try:
        world = {"KUBECONFIG": kubeconfig} if kubeconfig is not None else {}
        cases = [_block(group, block, environment, world) for block in docs.runnable(ROOT, group)]
    finally:
        if kubeconfig is not None:
            with suppress(Failed, OSError):
                docs_world.take_away(Path(kubeconfig))
    for page in docs.pages(ROOT, group):
        with scratch() as folder, _own_places(folder) as places:
            cases.append(_block(group, page, environment, places))
    return cases


def _block(group: str, block, environment: dict[str, str], more: dict[str, str]) -> Case:
    programs = [str(BUILD), *([str(Path(environment["TIDEMARK_KUBECTL"]).parent)] if "TIDEMARK_KUBECTL" in environment else [])]
    log = LOGS / group / f"docs-{block.file.replace('/', '-')}-{block.line}.log"
    with scratch() as folder:
        surroundings = {**_environment(environment, folder), **more, "PATH": ":".join([*programs, os.environ["PATH"]]), "HOME": folder}
        done = processes.run_logged(["bash", "-euo", "pipefail", "-c", block.text], log, cwd=ROOT, timeout_s=PATIENCE_S, env=surroundings)
    detail = "" if done.code == 0 else f"exit code {done.code}\n{block.text}\n{log.read_text(errors='replace')}"
    return Case(group, "docs", f"{block.file}:{block.line}", PASSED if done.code == 0 else FAILED, detail)


@contextmanager
def _own_places(folder: str):
    """Replaces what two runs of `tidemark up` on one machine would share. Pods of the run end with the block."""
    group = f"tidemark-test-{secrets.token_hex(4)}"
    with processes.cleaned_up(lambda: plain_groups.clear(group)):
        yield {
            "TIDEMARK_LISTEN": f"127.0.0.1:{ports.free(1)[0]}", "TIDEMARK_POD_GROUP": f"/{group}", "TIDEMARK_RUN_DIR": f"{folder}/run",
            "TIDEMARK_LATCH_FILE": f"{folder}/off",
        }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
