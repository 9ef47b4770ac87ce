"""The Spark job that compares outputs of both sides, on a real Spark 3.5: it finds planted differences, and accepts reordered rows."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

if "TIDEMARK_PYSPARK" not in os.environ:
    raise unittest.SkipTest("pyspark cannot be installed here")

from support.patience import PATIENCE_S

PROGRAM = Path(__file__).with_name("planted_rows.py")
EQUAL = ({}, 0)


class CompareRows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="tidemark-compare-"))
        environment = {**os.environ, "JAVA_HOME": str(Path(os.environ["TIDEMARK_JAVA"]).parents[1]), "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([os.environ["TIDEMARK_PYSPARK"], PROGRAM, folder], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=8 * PATIENCE_S)
        assert done.returncode == 0, done.stderr[-4000:]
        cls.found = {line["case"]: line for line in map(json.loads, done.stdout.splitlines())}

    def result(self, case: str) -> tuple[dict, int]:
        return self.found[case]["causes"], self.found[case]["unexplained"]

    def test_the_order_of_rows_and_of_maps_does_not_matter(self):
        self.assertEqual(EQUAL, self.result("reordered"))
        self.assertEqual(EQUAL, self.result("order of a map"))

    def test_each_planted_difference_is_found_with_its_cause(self):
        for case, causes in {
            "changed row": {"changed-value": 1}, "duplicate pair": {"duplicate": 2}, "other row twice": {"duplicate": 2}, "missing row": {"missing-on-yarn": 1},
            "null against empty": {"null-against-empty": 1}, "negative zero": {"negative-zero": 1}, "negative zero with tolerance": {"negative-zero": 1},
            "decimal scale": {"decimal-scale": 1}, "floats beyond the tolerance": {"changed-value": 1}, "missing column": {"missing-column": 1},
            "shifted text": {"changed-value": 1}, "element of an array": {"changed-value": 1},
        }.items():
            with self.subTest(case):
                self.assertEqual((causes, sum(causes.values())), self.result(case))

    def test_floats_within_the_tolerance_are_equal_and_without_it_they_are_not(self):
        causes, unexplained = self.result("last digits of floats")
        self.assertEqual((set(), 0), (set(causes) - {"float-within-tolerance"}, unexplained))
        self.assertGreater(self.result("last digits without tolerance")[1], 100)

    def test_volatile_columns_and_accepted_causes_are_no_difference(self):
        self.assertEqual(EQUAL, self.result("volatile column"))
        self.assertEqual(({"negative-zero": 1}, 0), self.result("accepted negative zero"))

    def test_values_are_masked(self):
        shown = json.dumps(self.found["changed row"]["differences"])
        self.assertIn("S(7)", shown)
        for value in ("another", "name-7"):
            self.assertNotIn(value, shown)


if __name__ == "__main__":
    unittest.main()
