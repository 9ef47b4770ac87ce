"""The contract suite (tests/contract) on both API servers: the real one, which is right where they differ, and ours in memory.
The cases over HTTP first, then the kubectl sessions."""

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from contract.memory import Memory
from driver import processes, results
from driver.console import say
from driver.paths import BUILD, LOGS, ROOT
from driver.results import FAILED, Case

SUITE_LIMIT_S = 1800


def run_real(environment: dict[str, str], scratch: Path) -> list[Case]:
    say("contract: the real kube-apiserver")
    return _cases(
        "kube-apiserver", environment["TIDEMARK_TEST_SERVER"], Path(environment["TIDEMARK_TEST_CA_FILE"]),
        Path(environment["TIDEMARK_TEST_TOKEN_FILE"]), environment, scratch, ["--etcd", environment["TIDEMARK_TEST_ETCD"]],
    ) + _sessions("kube-apiserver", Path(environment["TIDEMARK_TEST_KUBECONFIG"]), environment, scratch, [])


def run_in_memory(environment: dict[str, str], scratch: Path) -> list[Case]:
    say("contract: the API server in memory")
    data = Path(tempfile.mkdtemp(dir=scratch, prefix="memory-"))
    memory = Memory([str(BUILD / "tests" / "contract" / "memory_server"), str(data), str(time.time_ns())], data)
    try:
        memory.start()
        cases = _cases("memory", memory.server, data / "ca.crt", data / "admin.token", environment, scratch, ["--in-memory"])
        if "TIDEMARK_KUBECTL" in environment:
            cases += _sessions("memory", memory.kubeconfig, environment, scratch, ["--in-memory"])
        if not memory.alive():
            cases.append(Case("contract", "memory", "(whole program)", FAILED, f"the server died:\n{memory.log[-4000:]}"))
        return cases
    except AssertionError as error:
        return [Case("contract", "memory", "(start)", FAILED, str(error))]
    finally:
        memory.kill()
        if memory.written.exists():
            (LOGS / "contract").mkdir(parents=True, exist_ok=True)
            shutil.copy(memory.written, LOGS / "contract" / "memory-server.log")


def _cases(name: str, server: str, ca: Path, token: Path, environment: dict[str, str], scratch: Path, more: list[str]) -> list[Case]:
    return _run(name, ["contract", "--server", server, "--ca", ca, "--token", f"@{token}", *more], environment, scratch)


def _sessions(name: str, kubeconfig: Path, environment: dict[str, str], scratch: Path, more: list[str]) -> list[Case]:
    kubectl = environment["TIDEMARK_KUBECTL"]
    return _run(f"{name}-kubectl", ["contract.kubectl", "--kubectl", kubectl, "--kubeconfig", kubeconfig, *more], environment, scratch)


def _run(name: str, module: list, environment: dict[str, str], scratch: Path) -> list[Case]:
    log, report = LOGS / "contract" / f"{name}.log", scratch / f"{name}.json"
    done = processes.run_logged([sys.executable, "-m", *module, "--result", report], log, cwd=ROOT, env=environment, timeout_s=SUITE_LIMIT_S)
    if report.exists():  # [name, outcome, detail, seconds]: the reader of Python tests wants the first three
        report.write_text(json.dumps([case[:3] for case in json.loads(report.read_text())]))
    return results.from_python("contract", name, report, log.read_text(errors="replace"), done.code, done.timed_out)
