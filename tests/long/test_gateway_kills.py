"""kill -9 of a real gateway, 100 times in each state of its runs: each run has one driver (tests/yarn/test_gateway_kills.py)."""

import os
import sys
import unittest
from collections import Counter

if "TIDEMARK_JAVA" not in os.environ:
    raise unittest.SkipTest("cannot start YARN here: it needs Java and Maven")

from yarn import test_gateway_kills

KILLS = 100  # in each phase
ROUNDS = 5  # the runs of a part end with it: each start of the gateway lists all pods
PARTS_MAX = 100  # a phase that a run leaves at once is missed every second time


class ManyKills(test_gateway_kills.KillsCase):
    def test_each_run_has_one_driver_after_100_kills_in_each_phase(self):
        self.begin()
        kills: Counter[str] = Counter()
        for part in range(PARTS_MAX):
            rest = [phase for phase in test_gateway_kills.PHASES if kills[phase] < KILLS]
            if not rest:
                break
            kills += self.kill_in_each_phase(ROUNDS, rest)
            self.remove_drivers()
            print(f"after part {part + 1}: kills by the phase of the run on Kubernetes {dict(kills)}", file=sys.stderr, flush=True)
        self.assertEqual([], [phase for phase in test_gateway_kills.PHASES if kills[phase] < KILLS], kills)


if __name__ == "__main__":
    unittest.main()
