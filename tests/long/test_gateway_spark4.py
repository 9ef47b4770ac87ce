"""One run of Spark 4 on each of two real sides through the gateway, with the jars of pyspark 4.1."""

import os
import re
import unittest

if "TIDEMARK_JAVA" not in os.environ:
    raise unittest.SkipTest("cannot start YARN here: it needs Java and Maven")

from cluster.tidemark_process import wait_for
from driver.console import Failed
from driver.python_packages import PYSPARK_4
from support.patience import PATIENCE_S
from yarn.gateway_case import ENDED
from yarn.two_sides_case import TwoSidesCase


class Spark4(TwoSidesCase):
    @classmethod
    def setUpClass(cls):
        try:
            venv = PYSPARK_4.provide().parents[1]
        except Failed as error:
            raise unittest.SkipTest(f"pyspark 4 cannot be installed here: {error}")
        jars = next(venv.glob("lib/python3*/site-packages/pyspark/jars"))
        cls.version = re.fullmatch(r"spark-core_2\.13-(.*)\.jar", next(jars.glob("spark-core_*.jar")).name)[1]
        os.environ["TIDEMARK_SPARK_JARS"] = str(jars)  # of this process alone
        super().setUpClass()

    def test_a_run_of_spark_4_succeeds_on_each_side(self):
        self.begin(f"--spark-version={self.version}")
        for side in ("kubernetes", "yarn"):
            with self.subTest(side):
                number = self.number = self.post(("2", "0"), **self.conf(), **{"spark.tidemark.side": side})
                wait_for(lambda: self.batch(number)["state"] in ENDED, "the end of the batch", self.gateway, 4 * PATIENCE_S)
                batch = self.batch(number)
                self.assertEqual(("success", [side]), (batch["state"], [each["side"] for each in batch["attempts"]]), self.why())
                self.assertIn(f"Running Spark version {self.version}", self.ask("GET", f"/tidemark/v1/runs/{number}/log?from=0")["text"])


if __name__ == "__main__":
    unittest.main()
