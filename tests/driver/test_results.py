"""How results are read and counted, on reports as test programs really leave them."""

import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from driver import budget, groups, results
from driver.console import Failed
from driver.results import FAILED, PASSED, SKIPPED, Case, ExpectedSkips


def report(*tests) -> str:
    return json.dumps({"testsuites": [{"name": "Suite", "testsuite": list(tests)}]})


def cases(**outcomes: str) -> list[Case]:
    return [Case("cluster", "test_x.py", name, outcome) for name, outcome in outcomes.items()]


class SecondTry(unittest.TestCase):
    def tried(self, first: list[Case], second: list[Case]) -> tuple[list[tuple[str, str]], list[str]]:
        count, unsteady = results.second_try(first, second)
        return [(case.name, case.outcome) for case in count], [case.name for case in unsteady]

    def test_failed_then_passed_counts_as_passed_and_is_told(self):
        self.assertEqual(([("a", PASSED), ("b", PASSED)], ["a"]), self.tried(cases(a=FAILED, b=PASSED), cases(a=PASSED, b=PASSED)))

    def test_failed_twice_has_failed(self):
        self.assertEqual(([("a", FAILED)], []), self.tried(cases(a=FAILED), cases(a=FAILED)))

    def test_another_case_that_fails_the_second_time_is_unsteady_too(self):
        self.assertEqual(([("a", PASSED), ("b", PASSED)], ["a", "b"]), self.tried(cases(a=FAILED, b=PASSED), cases(a=PASSED, b=FAILED)))

    def test_a_part_of_a_test_that_fails_differently_has_failed(self):
        self.assertEqual(([("a (i=2)", FAILED), ("a (i=1)", FAILED)], []), self.tried([Case("c", "p", "a (i=1)", FAILED)], [Case("c", "p", "a (i=2)", FAILED)]))

    def test_a_case_that_is_lost_the_second_time_has_failed(self):
        self.assertEqual(([("b", PASSED), ("a", FAILED)], []), self.tried(cases(a=FAILED, b=PASSED), cases(b=PASSED)))

    def test_a_class_that_could_begin_the_second_time_counts_by_its_cases(self):
        first = [Case("c", "p", "setUpClass (p.C)", FAILED), Case("c", "p", "b", PASSED)]
        self.assertEqual(([("a", PASSED), ("b", PASSED)], ["setUpClass (p.C)"]), self.tried(first, cases(a=PASSED, b=PASSED)))
        self.assertEqual(([("a", FAILED), ("d", PASSED), ("b", PASSED)], ["setUpClass (p.C)"]), self.tried(first, cases(a=FAILED, d=PASSED, b=PASSED)))
        self.assertEqual(([("b", PASSED), ("setUpClass (p.C)", FAILED)], []), self.tried(first, cases(b=PASSED)))
        self.assertEqual(([("setUpClass (p.C)", FAILED), ("b", PASSED)], []), self.tried(first, [*first[:1], *cases(b=PASSED)]))

    def test_a_file_that_could_begin_the_second_time_counts_by_its_cases(self):
        first = [Case("c", "p", "setUpModule (p)", FAILED)]
        self.assertEqual(([("a", PASSED)], ["setUpModule (p)"]), self.tried(first, cases(a=PASSED)))
        self.assertEqual(([("setUpModule (p)", FAILED)], []), self.tried(first, first))

    def test_a_program_that_died_is_not_forgiven(self):
        for first, second in (("(whole program)", "a"), ("a", "(whole file)")):
            with self.subTest(first=first):
                count, _ = results.second_try([Case("c", "p", first, FAILED)], [Case("c", "p", second, PASSED if second == "a" else FAILED)])
                self.assertEqual({FAILED}, {case.outcome for case in count})


class Finish(unittest.TestCase):
    def finished(self, **more) -> tuple[int, list[str]]:
        run, loud = groups.Run(cases=cases(a=PASSED), took={"vm": 10_000.0}, warm=True, **more), []
        with (
            mock.patch.object(groups, "loud", loud.append), mock.patch.object(budget, "loud", loud.append), mock.patch.object(groups, "say"), mock.patch.object(budget, "say"),
            mock.patch("builtins.print"), mock.patch.dict("os.environ", {"CI": "true"}),
        ):
            return groups._finish(run, 20_000.0), loud

    def test_a_slow_machine_is_told_loudly_and_fails_no_run(self):
        code, loud = self.finished(unsteady=cases(a=FAILED))
        self.assertEqual(0, code)
        self.assertEqual(3, len(loud), loud)
        self.assertRegex(loud[0], "^OVER BUDGET: vm took 10000 s")
        self.assertRegex(loud[1], "^OVER BUDGET: all took 20000 s")
        self.assertRegex(loud[2], "^UNSTEADY, failed and passed in the same run: cluster test_x.py a$")


class GoogleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.report = Path(folder.name) / "r.json"

    def read(self, text: str | None, output: str = "", code: int = 0, timed_out: bool = False) -> list[tuple[str, str]]:
        if text is not None:
            self.report.write_text(text)
        cases = results.from_gtest("unit", "x_test", self.report, output, code, timed_out)
        return [(case.name, case.outcome) for case in cases]

    def test_each_outcome_is_a_case(self):
        text = report(
            {"name": "A", "status": "RUN", "result": "COMPLETED"},
            {"name": "B", "status": "RUN", "result": "COMPLETED", "failures": [{"failure": "x_test.cc:3"}]},
            {"name": "C", "status": "RUN", "result": "SKIPPED"},
            {"name": "D", "status": "NOTRUN", "result": "SUPPRESSED"},
        )
        self.assertEqual([("Suite.A", PASSED), ("Suite.B", FAILED), ("Suite.C", SKIPPED)], self.read(text, code=1))

    def test_bad_exit_after_good_cases_fails(self):
        """A leak report or a crash in a destructor comes after the last case."""
        text = report({"name": "A", "status": "RUN", "result": "COMPLETED"})
        self.assertEqual([("Suite.A", PASSED), ("(whole program)", FAILED)], self.read(text, code=23))

    def test_death_in_the_middle_fails_the_case_it_died_in(self):
        output = "[ RUN      ] Suite.A\n[       OK ] Suite.A (0 ms)\n[ RUN      ] Suite.B\nAddressSanitizer: …\n"
        self.assertEqual([("Suite.A", PASSED), ("Suite.B", FAILED)], self.read(None, output, code=-6))

    def test_failures_before_death_count_once(self):
        output = "[ RUN      ] S.A\n[  FAILED  ] S.A (0 ms)\n[ RUN      ] S.B\n[  SKIPPED ] S.B (0 ms)\n[  FAILED  ] S.A\n"
        self.assertEqual([("S.A", FAILED), ("S.B", SKIPPED)], self.read(None, output, code=1))

    def test_no_output_at_all_fails(self):
        self.assertEqual([("(whole program)", FAILED)], self.read(None, "cannot open shared object", code=127))

    def test_no_case_at_all_fails(self):
        self.assertEqual([("(whole program)", FAILED)], self.read(report(), code=0))

    def test_time_limit_fails(self):
        output = "[ RUN      ] S.A\n"
        self.assertEqual([("S.A", FAILED), ("(whole program)", FAILED)], self.read(None, output, code=-9, timed_out=True))

    def test_cut_report_fails(self):
        self.assertEqual([("(report)", FAILED)], self.read('{"testsuites": [', code=0))


class PythonFile(unittest.TestCase):
    def test_a_file_that_does_not_import_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            cases = results.from_python("unit", "x", Path(folder) / "none.json", "ImportError", 1, False)
        self.assertEqual([FAILED], [case.outcome for case in cases])

    def test_a_file_without_tests_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "r.json").write_text("[]")
            cases = results.from_python("unit", "x", Path(folder) / "r.json", "", 0, False)
        self.assertEqual([FAILED], [case.outcome for case in cases])


class Counting(unittest.TestCase):
    CASES = [Case("unit", "p", "a", PASSED), Case("unit", "p", "b", PASSED), Case("vm", "q", "c", SKIPPED), Case("unit", "p", "d", FAILED)]

    def test_line(self):
        self.assertEqual("2 passed, 1 failed, 1 skipped", results.tally(self.CASES))
        self.assertEqual("0 passed, 0 failed, 0 skipped", results.tally([]))

    def test_expected_skips(self):
        self.assertEqual(["c"], [case.name for case in ExpectedSkips("# none\n").unexpected(self.CASES)])
        self.assertEqual([], ExpectedSkips("vm q *  # no qemu there\n").unexpected(self.CASES))
        self.assertEqual(["c"], [case.name for case in ExpectedSkips("vm other *\n").unexpected(self.CASES)])


class Budget(unittest.TestCase):
    def test_parse(self):
        self.assertEqual({"unit": budget.Allowed(30.0, 20.0)}, budget.parse("# x\nunit 30 20 # y\n\n"))
        for text in ("unit", "unit fast 3", "unit 3", "unit 3 4 5"):
            with self.assertRaises(Failed):
                budget.parse(text)

    def test_every_group_has_one(self):
        from driver.groups import GROUPS

        known = budget.parse(budget.FILE.read_text())
        self.assertEqual(set(), set(GROUPS) - set(known))

    def test_the_parts_add_up_to_no_more_than_the_whole(self):
        known = budget.parse(budget.FILE.read_text())
        whole = known.pop(budget.WHOLE)
        parts = [allowed for name, allowed in known.items() if name not in budget.ONLY_LONG]
        self.assertLessEqual(sum(part.cold for part in parts), whole.cold)
        self.assertLessEqual(sum(part.warm for part in parts), whole.warm)
        self.assertLessEqual(whole.cold, 80 * 60)
        self.assertLessEqual(whole.warm, 60 * 60)

    def test_the_row_of_warm_caches_is_the_narrower_one(self):
        with mock.patch.object(budget, "FILE", Path(self.enterContext(tempfile.TemporaryDirectory())) / "budget.txt") as file:
            file.write_text("unit 30 20\n")
            self.assertEqual([], budget.report({"unit": 25.0}, warm=False))
            self.assertEqual(["unit"], budget.report({"unit": 25.0}, warm=True))

    def test_a_run_that_compiled_nothing_or_little_is_warm(self):
        for known, compiled, warm in ((0, 0, True), (95, 100, True), (80, 100, False), (0, 3, False)):
            self.assertEqual(warm, budget.mostly_known((10, 20), (10 + known, 20 + compiled)), (known, compiled))


if __name__ == "__main__":
    unittest.main()
