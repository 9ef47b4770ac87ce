"""The API server and the ResourceManager are away for ten minutes: no run of the gateway fails. The default admission limit is as long."""

import os
import unittest

if "TIDEMARK_JAVA" not in os.environ:
    raise unittest.SkipTest("cannot start YARN here: it needs Java and Maven")

from yarn.gateway_away import AwayCase


class AwayForLong(AwayCase):
    def test_no_run_fails_while_both_sides_are_away_for_ten_minutes(self):
        self.no_run_fails(600)


if __name__ == "__main__":
    unittest.main()
