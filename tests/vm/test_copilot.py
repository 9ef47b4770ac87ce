"""The copilot on a real cgroup v2: containers in groups as a LinuxContainerExecutor makes them, listed, limited, terminated and killed; containers without
groups, adopted; and the limit of a disk."""

import os
from pathlib import Path

from support.vm import gtest

PROGRAM = Path(os.environ["TIDEMARK_BINARY"]).parent / "yarn_copilot" / "yarn_copilot_test"


def load_tests(*_):
    return gtest.suite(PROGRAM, "CopilotOnMachine.*", disk_mib=64)
