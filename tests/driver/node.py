"""What the group `node` needs beyond a cluster: a kubelet, built like the API server, and containerd from Debian."""

import os
import shutil
import subprocess
import sys

from driver import kubernetes, packages
from driver.console import Failed, say
from driver.paths import LOGS, ROOT

CLEAR_S = 120


def provide() -> tuple[dict[str, str], str]:
    """The environment of the tests, or why there can be no node here, with the remedy."""
    from support.node.node import why_not  # here: it wants more of Python than `./dev --help` does

    try:
        packages.setup([package for package, program in packages.NODE.items() if shutil.which(program) is None])
    except Failed as error:
        return {}, str(error)
    reason = why_not()
    if reason:
        return {}, reason
    return {"TIDEMARK_KUBELET": str(kubernetes.provide(kubernetes.NODE)["kubelet"]), "TIDEMARK_TEST_KEPT_LOGS": str(LOGS / "node")}, ""


def clear_away() -> None:
    """What a killed test left of its node. Its objects went, or go, with their API server. Also called where a signal ends the driver."""
    done = subprocess.run(
        [sys.executable, "-m", "support.node.clear"], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "tests")}, stdin=subprocess.DEVNULL, timeout=CLEAR_S
    )
    if done.returncode != 0:
        say("a test node left something behind, see above; once more by hand: PYTHONPATH=tests python3 -m support.node.clear")
