"""The cases of a GoogleTest program, run once in a guest and each reported as its own case."""

import subprocess
import tempfile
import unittest
from pathlib import Path

from driver import results
from support.patience import PATIENCE_S
from support.vm.machine import Late, Vm

REPORT = "/run/report.json"
DEADLINE_S = 3 * PATIENCE_S
WHOLE = "(whole program)"


def suite(program: Path, cases: str, **guest) -> unittest.TestSuite:
    """`cases`: a GoogleTest filter of the cases to run ("A.*", "-B.*:C.*"). A skipped case fails: cases that cannot run in the guest must be excluded by name.
    `guest`: more arguments for the Vm."""

    class InGuest(unittest.TestCase):
        found: dict[str, results.Case]

        def __init__(self, name: str):
            super().__init__()
            self.name = name

        def id(self) -> str:
            return f"{program.name} {self.name}"

        __str__ = id

        @classmethod
        def setUpClass(cls):
            cls.found = {case.name: case for case in _run(program, cases, guest)}

        def runTest(self):
            case = self.found.get(self.name)
            if self.name != WHOLE:
                self.assertIsNotNone(case, "did not run")
                self.assertEqual(results.PASSED, case.outcome, case.detail)
            elif case is not None:
                self.fail(case.detail)

    names = listed(program, cases)
    if not names:
        raise ValueError(f"{program} has no case of {cases}")
    return unittest.TestSuite(InGuest(name) for name in [*names, WHOLE])


def listed(program: Path, cases: str) -> list[str]:
    command = [str(program), "--gtest_list_tests", f"--gtest_filter={cases}"]
    return parse_list(subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout)


def parse_list(text: str) -> list[str]:
    found, group = [], ""
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        if line.startswith("  ") and group:
            found.append(group + words[0])
        elif len(words) == 1 and words[0].endswith("."):  # gtest_main prints more than suites
            group = words[0]
    return found


def _run(program: Path, cases: str, guest: dict) -> list[results.Case]:
    with Vm(files={f"/bin/{program.name}": program}, **guest) as vm, tempfile.TemporaryDirectory() as folder:
        report, late = Path(folder) / "report.json", False
        try:
            done = vm.run([program.name, f"--gtest_filter={cases}", f"--gtest_output=json:{REPORT}"], deadline_s=DEADLINE_S)
            code, output = done.code, done.stdout + done.stderr
            written = vm.run(["cat", REPORT], deadline_s=PATIENCE_S)
            if written.code == 0:
                report.write_bytes(written.stdout)
        except Late as error:
            code, output, late = 1, error.stdout + error.stderr, True
        return results.from_gtest("vm", program.name, report, output.decode(errors="replace"), code, late)
