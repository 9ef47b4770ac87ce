"""kill -9 of a real gateway, 100 times in each state of its runs: each run has one driver (tests/yarn/test_gateway_kills.py)."""

import os
import sys
import unittest
from collections import Counter

if "TIDEMARK_JAVA" not in os.environ:
    raise unittest.SkipTest("cannot start YARN here: it needs Java and Maven")

from yarn import test_gateway_kills

PARTS, ROUNDS = 20, 5  # the runs of a part end with it: each start of the gateway lists all pods


class ManyKills(test_gateway_kills.KillsCase):
    def test_each_run_has_one_driver_after_100_kills_in_each_phase(self):
        self.begin()
        kills: Counter[str] = Counter()
        for part in range(PARTS):
            kills += self.kill_in_each_phase(ROUNDS)
            self.remove_drivers()
            print(f"after part {part + 1} of {PARTS}: kills by the phase of the run on Kubernetes {dict(kills)}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    unittest.main()
