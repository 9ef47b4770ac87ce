"""Runs one Python test file in a process of its own: python -m driver.python_tests FILE REPORT.

The report is a JSON list of [name, outcome, detail]; subTest failures count as a case each.
"""

import importlib.util
import json
import sys
import time
import unittest
from pathlib import Path


class Collect(unittest.TextTestResult):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.cases: list[tuple[str, str, str]] = []
        self._ended = time.monotonic()

    def stopTest(self, test):
        """With the seconds since the case before: what a class begins with counts for its first."""
        super().stopTest(test)
        now = time.monotonic()
        self.stream.writeln(f"    {now - self._ended:.1f} s")
        self._ended = now

    def _add(self, test, outcome: str, detail: str = "") -> None:
        identity = test.id() if hasattr(test, "id") else str(test)
        self.cases.append((identity.removeprefix("test_file."), outcome, detail))

    def addSuccess(self, test):
        super().addSuccess(test)
        self._add(test, "passed")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._add(test, "failed", self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._add(test, "failed", self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._add(subtest, "failed", self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._add(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self._add(test, "failed", "expectedFailure hides a defect: fix it or delete the test")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._add(test, "failed", "passed although marked expectedFailure")


def main() -> int:
    file, report = Path(sys.argv[1]), Path(sys.argv[2])
    sys.path.insert(0, str(file.parent))
    spec = importlib.util.spec_from_file_location("test_file", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["test_file"] = module
    spec.loader.exec_module(module)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(resultclass=Collect, verbosity=2).run(suite)
    report.write_text(json.dumps(result.cases))
    return 0 if all(outcome != "failed" for _, outcome, _ in result.cases) else 1


if __name__ == "__main__":
    sys.exit(main())
