"""The contract suite (tests/contract) on both API servers: the real one, which is right where they differ, and ours in memory."""

import json
import shutil
import sys
from pathlib import Path

from driver import processes, results, up
from driver.console import Failed, say
from driver.paths import LOGS, ROOT
from driver.results import FAILED, Case

SUITE_LIMIT_S = 900


def there() -> bool:
    return (ROOT / "tests" / "contract" / "__main__.py").exists()


def run_real(environment: dict[str, str], scratch: Path) -> list[Case]:
    say("contract: the real kube-apiserver")
    return _suite(
        "kube-apiserver", environment["TIDEMARK_TEST_SERVER"], Path(environment["TIDEMARK_TEST_CA_FILE"]),
        Path(environment["TIDEMARK_TEST_TOKEN_FILE"]), environment, scratch, [],
    )


def run_in_memory(environment: dict[str, str], scratch: Path) -> list[Case]:
    say("contract: the API server in memory")
    data = scratch / "memory"
    log = LOGS / "contract" / "up.log"
    try:
        server, kubeconfig = up.start(data)
    except Failed as error:
        return [Case("contract", "memory", "(start)", FAILED, str(error))]
    try:
        cases = _suite("memory", up.Api(kubeconfig).server, data / "ca.crt", data / "admin.token", environment, scratch, ["--in-memory"])
        if server.poll() is not None:
            cases.append(Case("contract", "memory", "(whole program)", FAILED, f"`tidemark up` ended with {server.returncode}, see {log}"))
        return cases
    finally:
        processes.kill_group(server)
        log.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(data / "up.log", log)


def _suite(name: str, server: str, ca: Path, token: Path, environment: dict[str, str], scratch: Path, more: list[str]) -> list[Case]:
    log, report = LOGS / "contract" / f"{name}.log", scratch / f"{name}.json"
    done = processes.run_logged(
        [sys.executable, "-m", "contract", "--server", server, "--ca", ca, "--token", f"@{token}", "--result", report, *more],
        log, cwd=ROOT, env=environment, timeout_s=SUITE_LIMIT_S,
    )
    if report.exists():  # [name, outcome, detail, seconds]: the reader of Python tests wants the first three
        report.write_text(json.dumps([case[:3] for case in json.loads(report.read_text())]))
    return results.from_python("contract", name, report, log.read_text(errors="replace"), done.code, done.timed_out)
