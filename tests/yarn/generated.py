"""NodeManagers whose yarn-site.xml `tidemark generate yarn-site` made from the file of their ResourceManager."""

import os
import subprocess
from collections.abc import Mapping

from support.yarn import Yarn
from support.yarn.settings import NodePorts

# What the fixture adds to a cluster's own file: everything listens on the loopback, and containers have the JVM options of the run.
SITE: Mapping[str, str] = {
    "yarn.nodemanager.hostname": "127.0.0.1", "yarn.nodemanager.bind-host": "127.0.0.1", "yarn.nodemanager.env-whitelist": "JAVA_HOME,PATH,JAVA_TOOL_OPTIONS",
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99", "yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users": "false",
}


def generate(yarn: Yarn, name: str, ports: NodePorts, *flags: str) -> str:
    layout = yarn.layout
    own = {
        "hadoop-conf-dir": layout.configuration("rm"), "local-dirs": layout.local(name), "log-dirs": layout.container_logs(name), "recovery-dir": layout.folder / name / "recovery",
        "port": ports.containers, "localizer-port": ports.localizer, "web-port": ports.web,
    }
    words = [os.environ["TIDEMARK_BINARY"], "generate", "yarn-site", *(f"--{key}={value}" for key, value in own.items()), *flags]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout
