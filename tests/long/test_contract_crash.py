"""kill -9 of `tidemark up`, with a hundred seeds on one data directory."""

import unittest

from contract.test_crash import SEEDS, play_seeds


class Crash(unittest.TestCase):
    def test_nothing_acknowledged_is_lost(self):
        play_seeds(self, range(SEEDS + 1, SEEDS + 101))


if __name__ == "__main__":
    unittest.main()
