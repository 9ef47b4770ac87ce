"""How long each fuzzer of `./dev test long` may run."""

import unittest

from driver import fuzz, groups
from driver.groups import LONG_FUZZ_S


class Share(unittest.TestCase):
    def test_all_of_them_are_through_in_the_time_of_all(self):
        for fuzzers in (1, 2, 3, 29, 60):
            for jobs in (1, 2, 8):
                seconds = fuzz.share(fuzzers, LONG_FUZZ_S, jobs)
                rounds = -(-fuzzers // jobs)
                self.assertLessEqual(rounds * seconds, LONG_FUZZ_S, (fuzzers, jobs))
                self.assertGreaterEqual(seconds, 1)

    def test_no_fuzzers_is_no_division_by_zero(self):
        self.assertEqual(LONG_FUZZ_S, fuzz.share(0, LONG_FUZZ_S, 2))

    def test_they_leave_room_for_the_rest_of_the_group(self):
        self.assertLess(LONG_FUZZ_S, groups.PROGRAM_LIMIT_S["long"] / 2)


if __name__ == "__main__":
    unittest.main()
