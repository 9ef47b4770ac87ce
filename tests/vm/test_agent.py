"""The agent's measurements, writes and evictions for memory on a real cgroup v2."""

import os
from pathlib import Path

from support.vm import gtest

PROGRAM = Path(os.environ["TIDEMARK_BINARY"]).parent / "agent" / "agent_test"


def load_tests(*_):
    return gtest.suite(PROGRAM, "SamplerOnMachine.*:ProtectOnMachine.*:EvictOnMachine.*")
