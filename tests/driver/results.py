"""Test results: cases, how they are read from what a test program leaves behind, and the one line at the end."""

import json
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass(frozen=True)
class Case:
    group: str
    program: str  # test binary, Python file or check
    name: str
    outcome: str
    detail: str = ""  # why it failed or was skipped

    @property
    def title(self) -> str:
        return f"{self.group} {self.program} {self.name}"


def tally(cases) -> str:
    count = {outcome: sum(case.outcome == outcome for case in cases) for outcome in (PASSED, FAILED, SKIPPED)}
    return f"{count[PASSED]} passed, {count[FAILED]} failed, {count[SKIPPED]} skipped"


def from_gtest(group: str, program: str, report: Path, output: str, code: int, timed_out: bool) -> list[Case]:
    """Cases of a GoogleTest program. A program that died has no report: its output tells how far it came, and the case it
    died in has failed. Running nothing is a failure too: a filter or a link order that loses every test must not look green."""
    cases = _from_gtest_report(group, program, report) if report.exists() else _from_gtest_output(group, program, output)
    failed = any(case.outcome == FAILED for case in cases)
    if timed_out:
        cases.append(Case(group, program, "(whole program)", FAILED, "ran into its time limit and was killed"))
    elif code != 0 and not failed:
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        cases.append(Case(group, program, "(whole program)", FAILED, f"{how}, and no test case failed:\n{_tail(output)}"))
    elif not cases:
        cases.append(Case(group, program, "(whole program)", FAILED, "ran no test case"))
    return cases


def _from_gtest_report(group: str, program: str, report: Path) -> list[Case]:
    try:
        suites = json.loads(report.read_text())["testsuites"]
    except (ValueError, KeyError) as error:
        return [Case(group, program, "(report)", FAILED, f"{report.name} cannot be read: {error}")]
    cases = []
    for suite in suites:
        for test in suite["testsuite"]:
            name = f"{suite['name']}.{test['name']}"
            if test.get("status") == "NOTRUN":
                continue  # DISABLED_ or filtered out; tidy refuses DISABLED_
            if test.get("failures"):
                text = "\n".join(failure["failure"] for failure in test["failures"])
                cases.append(Case(group, program, name, FAILED, text))
            elif test.get("result") == "SKIPPED":
                text = "\n".join(skip.get("message", "") for skip in test.get("skipped", []))
                cases.append(Case(group, program, name, SKIPPED, text))
            else:
                cases.append(Case(group, program, name, PASSED))
    return cases


_MARK = re.compile(r"^\[ +(RUN|OK|FAILED|SKIPPED) +\] ([\w/]+\.[\w/]+)", re.M)


def _from_gtest_output(group: str, program: str, output: str) -> list[Case]:
    cases, open_case = [], None
    for mark, name in _MARK.findall(output):
        if mark == "RUN":
            open_case = name
        elif name == open_case:  # the summary at the end names failed cases a second time
            outcome = {"OK": PASSED, "FAILED": FAILED, "SKIPPED": SKIPPED}[mark]
            cases.append(Case(group, program, name, outcome, "see the program's output" if outcome == FAILED else ""))
            open_case = None
    if open_case:
        cases.append(Case(group, program, open_case, FAILED, f"the program died in this case:\n{_tail(output)}"))
    return cases


def _tail(output: str, lines: int = 60) -> str:
    return "\n".join(output.splitlines()[-lines:])


def from_python(group: str, program: str, report: Path, output: str, code: int, timed_out: bool) -> list[Case]:
    """Cases of a Python test file run by driver.python_tests."""
    cases = []
    if report.exists():
        cases = [Case(group, program, name, outcome, detail) for name, outcome, detail in json.loads(report.read_text())]
    failed = any(case.outcome == FAILED for case in cases)
    if timed_out:
        cases.append(Case(group, program, "(whole file)", FAILED, "ran into its time limit and was killed"))
    elif (code != 0 and not failed) or not cases:
        cases.append(Case(group, program, "(whole file)", FAILED, f"exit code {code}:\n{_tail(output)}"))
    return cases


class ExpectedSkips:
    """tests/expected-skips.txt: patterns of `GROUP PROGRAM CASE` that may be skipped where CI runs."""

    def __init__(self, text: str):
        lines = (line.split("#", 1)[0].strip() for line in text.splitlines())
        self._patterns = [line for line in lines if line]

    def unexpected(self, cases) -> list[Case]:
        skipped = (case for case in cases if case.outcome == SKIPPED)
        return [case for case in skipped if not any(fnmatchcase(case.title, pattern) for pattern in self._patterns)]
