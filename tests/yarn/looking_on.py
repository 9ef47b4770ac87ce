"""The checker of the ledger beside a test, from its beginning to its end: one process that reads the API server and the ResourceManager."""

import json
import os
import signal
import subprocess
import unittest
from pathlib import Path

LONGER_THAN_ANY_TEST = "24h"
REPORT_S = 300
BLIND_S = 15  # garbage collection of a ResourceManager on a busy machine


class LookingOn:
    """`lag_s`: a total later than this is a mistake."""

    def __init__(self, configuration: Path, vcore_milli: int, lag_s: int):
        self._child = subprocess.Popen(
            [
                os.environ["TIDEMARK_BINARY"], "check", "ledger", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "-o", "json", f"--for={LONGER_THAN_ANY_TEST}", f"--lag={lag_s}s",
                "--hadoop-conf-dir", str(configuration), "--yarn-poll=500ms", f"--millicores-per-vcore={vcore_milli}",
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )

    def end(self) -> None:
        """Also works after its end."""
        self._child.kill()
        self._child.communicate()

    def assert_clean(self, test: unittest.TestCase) -> dict:
        """Its report of all the time until now; asserts that it saw everything and no mistake."""
        self._child.send_signal(signal.SIGTERM)
        said, complaints = self._child.communicate(timeout=REPORT_S)
        test.assertEqual(0, self._child.returncode, f"{said}\n{complaints}")
        report = json.loads(said)
        test.assertEqual((True, 0), (report["clean"], report["failures"]), said)
        test.assertLess(report["blindSeconds"], BLIND_S, said)
        test.assertGreater(report["changes"], 0, "it saw nothing")
        return report
