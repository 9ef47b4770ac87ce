"""kill -9 of `tidemark up`, ten seeds on one data directory. ./dev test long runs a hundred."""

import os
import tempfile
import unittest
from pathlib import Path

from contract.crash import Round
from contract.memory import Memory

SEEDS = 10


class Crash(unittest.TestCase):
    def test_nothing_acknowledged_is_lost(self):
        play_seeds(self, range(1, SEEDS + 1))


def play_seeds(test: unittest.TestCase, seeds) -> None:
    data = Path(tempfile.mkdtemp()) / "data"
    memory = Memory([os.environ["TIDEMARK_BINARY"], "up", "--pods=false", "--data-dir", str(data), "--listen", "127.0.0.1:0"], data)
    test.addCleanup(memory.kill)
    acknowledged = 0
    for seed in seeds:
        with test.subTest(seed=seed):
            acknowledged += Round(memory, seed).play()
    test.assertGreater(acknowledged, len(seeds) * 4, "so few writes that the rounds proved nothing")


if __name__ == "__main__":
    unittest.main()
