"""The readers and writers of the kernel's interfaces on a real cgroup v2, whichever version this machine has. Every case runs: there is root, a log of
the kernel, pressure, two processors, no swap."""

import os
from pathlib import Path

from support.vm import gtest

PROGRAM = Path(os.environ["TIDEMARK_BINARY"]).parent / "linux" / "linux_test"
# Not: groups of version 1, which the guest does not have; the names of our headers, which are in the source tree; who has how much of a busy processor,
# since time in the guest is emulated.
CASES = "-*/OnV1.*/machine:MemoryOnMachine.*:HeaderNames.*:KnobProbeOnMachine.AWeightIsSeenOnABusyMachineToo"


def load_tests(*_):
    return gtest.suite(PROGRAM, CASES)
