"""How results are read and counted, on reports as test programs really leave them."""

import io
import json
import tempfile
import unittest
from contextlib import redirect_stdout
from datetime import datetime, timedelta
from pathlib import Path
from unittest import mock

from driver import one_test, plan, results, suite
from driver.results import FAILED, PASSED, SKIPPED, Case, ExpectedSkips


def report(*tests) -> str:
    return json.dumps({"testsuites": [{"name": "Suite", "testsuite": list(tests)}]})


def cases(**outcomes: str) -> list[Case]:
    return [Case("cluster", "test_x", name, outcome) for name, outcome in outcomes.items()]


class Finish(unittest.TestCase):
    """The end of a run in CI."""

    def finished(self, cases: list[Case], **more) -> tuple[int, str]:
        run, out = suite.Run([], cases=cases, **more), io.StringIO()
        with mock.patch.object(suite, "say"), mock.patch.object(suite, "loud", lambda text: print(text, file=out)), redirect_stdout(out):
            with mock.patch.dict("os.environ", {"CI": "true"}):
                return suite._finish(run, 1.0), out.getvalue()

    def test_a_planned_test_that_did_not_run_fails_the_run(self):
        code, said = self.finished(cases(a=PASSED), not_run=["node.test_node"])
        self.assertEqual(1, code)
        self.assertIn("NOT RUN, fails this run: node.test_node", said)
        self.assertIn("1 passed, 0 failed, 0 skipped, 1 not run", said)

    def test_an_unexpected_skip_fails_the_run(self):
        self.assertEqual(1, self.finished(cases(a=SKIPPED))[0])

    def test_an_unsteady_test_is_counted_and_passes(self):
        code, said = self.finished(cases(a=PASSED), unsteady=cases(a=FAILED))
        self.assertEqual(0, code)
        self.assertIn("\nUNSTEADY 1\n", said)

    def ran(self, reports: list[str], **more) -> tuple[int, str, list]:
        """A run of two planned tests whose CTest leaves these reports; with the calls of CTest."""
        run, called = suite.Run([plan.Test("cluster.test_x", "cluster"), plan.Test("cluster.test_y", "cluster")], **more), []

        def ctest(command, **_):
            called.append(command)
            with redirect_stdout(io.StringIO()):
                for name in reports:
                    one_test._report("cluster", name, cases(a=PASSED))

        with tempfile.TemporaryDirectory() as folder, mock.patch.object(suite, "LOGS", Path(folder)), mock.patch.object(one_test, "LOGS", Path(folder)):
            with mock.patch.object(suite, "say"), mock.patch.object(suite.processes, "run", ctest):
                suite._ctest(run, "cluster", "dev", run.tests)
        return *self.finished(run.cases, not_run=run.not_run), called

    def test_a_run_fails_if_ctest_does_not_start_a_planned_test(self):
        self.assertEqual(0, self.ran(["test_x", "test_y"])[0])
        code, said, _ = self.ran(["test_x"])
        self.assertEqual(1, code)
        self.assertIn("NOT RUN, fails this run: cluster.test_y", said)

    def test_a_run_whose_time_ends_early_fails(self):
        until = datetime.now() + timedelta(hours=1)
        code, said, called = self.ran(["test_x"], until=until)
        self.assertEqual((1, until.strftime("%H:%M:%S")), (code, called[0][called[0].index("--stop-time") + 1]))
        code, said, called = self.ran(["test_x", "test_y"], until=datetime.now() - timedelta(seconds=1))
        self.assertEqual((1, []), (code, called), "no test starts after the end")
        self.assertIn("2 not run", said)

    def test_the_second_try_counts_and_the_first_is_kept(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(suite, "LOGS", Path(folder)), mock.patch.object(one_test, "LOGS", Path(folder)):
            run = suite.Run([])
            with redirect_stdout(io.StringIO()):
                one_test._begin("cluster", "test_x")
                one_test._report("cluster", "test_x", cases(a=FAILED))
                one_test._begin("cluster", "test_x")
                self.assertEqual(0, one_test._report("cluster", "test_x", cases(a=PASSED)))
            suite._read(run, "cluster", "test_x")
            suite._read(run, "cluster", "test_y")
        self.assertEqual([PASSED], [case.outcome for case in run.cases])
        self.assertEqual(["a"], [case.name for case in run.unsteady])
        self.assertEqual(["cluster.test_y"], run.not_run)

    def test_a_first_try_that_died_is_unsteady(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(suite, "LOGS", Path(folder)), mock.patch.object(one_test, "LOGS", Path(folder)):
            run = suite.Run([])
            with redirect_stdout(io.StringIO()):
                one_test._begin("cluster", "test_x")
                one_test._begin("cluster", "test_x")
                one_test._report("cluster", "test_x", cases(a=PASSED))
            suite._read(run, "cluster", "test_x")
        self.assertEqual(["(whole test)"], [case.name for case in run.unsteady])


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


if __name__ == "__main__":
    unittest.main()
