"""The readers and writers of kernel interfaces on a real cgroup v2, whichever version this machine has. Every case runs: the guest has root, a kernel
log, pressure, two CPUs, no swap."""

import os
from pathlib import Path

from support.vm import gtest

PROGRAM = Path(os.environ["TIDEMARK_BINARY"]).parent / "linux" / "linux_test"
# Excluded: groups of version 1, which the guest does not have; the names of our headers, which are in the source tree; shares of a busy CPU, since
# time in the guest is emulated.
CASES = "-*/OnV1.*/machine:MemoryOnMachine.*:HeaderNames.*:KnobProbeOnMachine.AWeightIsSeenOnABusyMachineToo"


def load_tests(*_):
    return gtest.suite(PROGRAM, CASES)
