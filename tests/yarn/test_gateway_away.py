"""The API server and the ResourceManager are away: no run of the gateway fails (tests/long has the form of ten minutes)."""

import unittest

from yarn.gateway_away import AwayCase

AWAY_S = 20


class Away(AwayCase):
    def test_no_run_fails_while_both_sides_are_away_for_longer_than_the_admission_limit(self):
        self.no_run_fails(AWAY_S, f"--admission-limit={AWAY_S}s")


if __name__ == "__main__":
    unittest.main()
