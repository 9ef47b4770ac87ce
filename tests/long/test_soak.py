"""The long form of the soak: many seeds, each with minutes of kills; each time the cache ends equal to the server."""

import unittest

from cluster import colocation, faulty

SEEDS = range(100, 120)
SECONDS = 90


class Soak(unittest.TestCase):
    def test_the_cache_equals_the_server_from_every_seed(self):
        api = colocation.client()
        self.addCleanup(api.close)
        for seed in SEEDS:
            with self.subTest(seed=seed):
                faulty.soak(self, api, seed, seconds=SECONDS)


if __name__ == "__main__":
    unittest.main()
