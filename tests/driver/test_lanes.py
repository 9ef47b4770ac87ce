"""Files dealt to clusters side by side: each is run once and whole, and nothing that breaks on the way reads as success."""

import threading
import time
import unittest
from pathlib import Path
from unittest import mock

from driver import build, cluster, groups, lanes, processes
from driver.console import Failed, WrongUse
from driver.lanes import Job, deal, longest_first, table
from driver.paths import ROOT
from driver.results import FAILED, PASSED, SKIPPED, Case
from support import ports

LIMIT_S = 60


class FakeLane:
    def __init__(self, name: str = "", left: list = ()):
        self.environment = {"ON": name}
        self._left = list(left)  # what each job left behind: a text, or the exception that putting it right raises

    def put_right(self) -> str:
        left = self._left.pop(0) if self._left else ""
        if isinstance(left, Exception):
            raise left
        return left


def passing(name: str, then=lambda environment: None) -> Job:
    def run(lane):
        then(lane.environment)
        return [Case("g", name, "a", PASSED), Case("g", name, "b", PASSED)]

    return Job(name, run)


class Dealing(unittest.TestCase):
    def deal(self, jobs: list[Job], fixtures: list) -> list[Case]:
        self.told: list[tuple[int, str, list[Case]]] = []
        deal("g", jobs, fixtures, lambda number, job, cases, seconds: self.told.append((number, job.name, cases)))
        return [case for _, _, cases in self.told for case in cases]

    def test_each_is_run_once_and_told_once_with_all_its_cases(self):
        ran = []
        jobs = [passing(f"f{i}", lambda _, i=i: ran.append(i)) for i in range(50)]
        cases = self.deal(jobs, [FakeLane(), FakeLane()])
        self.assertEqual(list(range(50)), sorted(ran))
        self.assertEqual(sorted(job.name for job in jobs), sorted(name for _, name, _ in self.told))
        self.assertEqual(100, len(cases))
        self.assertEqual({PASSED}, {case.outcome for case in cases})

    def test_two_run_at_the_same_time_each_on_a_lane_of_its_own(self):
        both, seen = threading.Barrier(2), []

        def meet(environment):
            seen.append(environment["ON"])
            both.wait(LIMIT_S)  # broken, and so a failure, when nobody runs beside us

        cases = self.deal([passing("f1", meet), passing("f2", meet)], [FakeLane("one"), FakeLane("two")])
        self.assertEqual({PASSED}, {case.outcome for case in cases}, cases)
        self.assertEqual(["one", "two"], sorted(seen))

    def test_on_one_lane_they_run_in_order(self):
        ran = []
        self.deal([passing(name, lambda _, name=name: ran.append(name)) for name in "cab"], [FakeLane()])
        self.assertEqual(["c", "a", "b"], ran)

    def test_a_driver_that_fails_over_a_file_is_a_failed_case_and_the_others_run(self):
        def broken(_):
            raise OSError("no space left")

        cases = self.deal([Job("f1", broken), passing("f2"), passing("f3")], [FakeLane(), FakeLane()])
        failed = [case for case in cases if case.outcome == FAILED]
        self.assertEqual(["f1"], [case.program for case in failed])
        self.assertIn("no space left", failed[0].detail)
        self.assertEqual(4, len(cases) - len(failed))

    def test_no_case_at_all_fails(self):
        self.assertEqual([FAILED], [case.outcome for case in self.deal([Job("f1", lambda _: [])], [FakeLane()])])

    def test_what_a_file_left_stopped_fails_it_and_the_lane_goes_on(self):
        cases = self.deal([passing("f1"), passing("f2")], [FakeLane(left=["it left etcd stopped"])])
        self.assertEqual([("f1", "it left etcd stopped")], [(case.program, case.detail) for case in cases if case.outcome == FAILED])
        self.assertEqual(["f1", "f2"], [name for _, name, _ in self.told])

    def test_a_lost_lane_gets_no_more_and_the_other_runs_the_rest(self):
        lost, names = threading.Event(), [f"f{i}" for i in range(6)]

        class Lost(FakeLane):
            def put_right(self):
                lost.set()
                raise Failed("the supervisor died")

        jobs = [passing(name, lambda environment: environment["ON"] == "lost" or lost.wait(LIMIT_S)) for name in names]
        cases = self.deal(jobs, [Lost("lost"), FakeLane("good")])
        self.assertEqual(names, sorted(name for _, name, _ in self.told))
        self.assertEqual(1, sum(number == 1 for number, _, _ in self.told))
        failed = [case for case in cases if case.outcome == FAILED]
        self.assertEqual(1, len(failed))
        self.assertIn("the supervisor died", failed[0].detail)
        self.assertEqual(2 * len(names) + 1, len(cases))

    def test_with_every_lane_lost_what_was_not_run_has_failed_by_name(self):
        cases = self.deal([passing(f"f{i}") for i in range(5)], [FakeLane(left=[Failed("x")]), FakeLane(left=[ValueError("y")])])
        self.assertEqual([f"f{i}" for i in range(5)], sorted({case.program for case in cases if case.outcome == FAILED}))
        not_run = [case for case in cases if case.name == "(whole file)"]
        self.assertEqual(3, len(not_run))
        for case in not_run:
            self.assertIn("was lost after", case.detail)

    def test_a_worker_that_dies_fails_what_it_held_and_the_run(self):
        """Not a failure of a test: of what deals them. The other lane ends its work first."""
        told = []

        def done(number, job, cases, seconds):
            if job.name == "f0" and number:
                raise RuntimeError("cannot write")
            told.append((job.name, [case.outcome for case in cases]))

        with self.assertRaises(RuntimeError):
            deal("g", [passing(f"f{i}") for i in range(4)], [FakeLane(), FakeLane()], done)
        self.assertEqual([("f0", [FAILED]), *((f"f{i}", [PASSED, PASSED]) for i in range(1, 4))], sorted(told))

    def test_what_a_signal_killed_is_told_as_no_result(self):
        with mock.patch.object(processes, "stop_if_told", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            self.deal([passing("f0")], [FakeLane()])
        self.assertEqual([FAILED], [case.outcome for _, _, cases in self.told for case in cases])


class Order(unittest.TestCase):
    def test_the_longest_first_and_before_it_what_is_not_known(self):
        table = "# seconds\na 3\nb 40   # why\nc 12\n"
        self.assertEqual(["new", "b", "c", "a"], longest_first(["a", "b", "c", "new"], table))

    def test_every_line_of_the_table_names_a_file_that_is_there(self):
        for group in groups.LANES:
            folder, named = ROOT / "tests" / group, self.named(group)
            self.assertNotEqual([], named, group)
            self.assertEqual([], [name for name in named if name != "docs" and not (folder / name).exists()])
            self.assertEqual([], [name for name in named if name in groups.ALONE.get(group, {})], "who is alone is in no order")

    def named(self, group: str) -> list[str]:
        return [line.split()[0] for line in lanes.table(ROOT / "tests" / group).splitlines() if line and line[0] != "#"]

    def test_the_longest_is_far_from_the_limit_at_which_a_file_is_killed(self):
        """Nothing forgives that, and a machine may be several times slower than the one that the tables are of."""
        for group in (*groups.LANES, "unit"):
            fields = [line.split("#", 1)[0].split() for line in table(ROOT / "tests" / group).splitlines()]
            self.assertLess(10 * max(float(each[1]) for each in fields if each), groups.PROGRAM_LIMIT_DEFAULT_S, group)

    def test_the_unit_programs_of_the_table_are_built(self):
        if not build.listed("dev", "unit-tests"):
            self.skipTest("nothing is configured here")
        self.assertLessEqual(set(self.named("unit")), {name for name, _ in build.listed("dev", "unit-tests")})

    def test_who_is_alone_is_there_and_in_a_group_of_lanes(self):
        self.assertLessEqual(set(groups.ALONE), set(groups.LANES))
        for group, names in groups.ALONE.items():
            for name, why in names.items():
                self.assertTrue((ROOT / "tests" / group / name).exists(), name)
                self.assertTrue(why, name)


class Group(unittest.TestCase):
    """The groups that have lanes with everything around them replaced: who gets which files, and that all cases arrive."""

    def run_group(self, files: list[str], only: str = "", promtool=lambda: {}, name: str = "cluster") -> tuple[groups.Run, list[int], list]:
        run, counts, ran = groups.Run(only=only), [], []
        run.fixtures = mock.Mock()
        run.fixtures.start = lambda count: counts.append(count) or [FakeLane(str(number)) for number in range(count)]
        beside = mock.Mock()
        beside.provide.return_value = ({"JAVA": "java"}, "")

        def python(group, file, environment):
            ran.append((file.name, environment.get("ON"), environment.get("HELM")))
            return [Case(group, file.name, "a", PASSED)]

        with (
            mock.patch.object(groups, "find_go", lambda: ("go", "")), mock.patch.object(groups.build, "listed", lambda *_: []),
            mock.patch.object(groups, "_python_files", lambda _: [Path(file) for file in files]), mock.patch.object(groups, "_run_python", python),
            mock.patch.dict(groups.deploy_tools.PROVIDE, {"helm": lambda: {"HELM": "helm"}, "promtool": promtool}),
            mock.patch.object(groups, "_cluster_docs", lambda environment: [Case("cluster", "docs", "README.md:1", PASSED)]),
            mock.patch.object(groups, "_pages", lambda group, environment: [Case(group, "page", "more.md:1", PASSED)] if group == "cluster" else []),
            mock.patch.dict(groups.BESIDE_CLUSTER, {"node": beside, "yarn": beside}),
        ):
            groups._run_group(run, name, True)
        self.assertIn(mock.call.stop(all_but=1), run.fixtures.method_calls)
        return run, counts, ran

    def test_all_files_and_the_docs_are_run(self):
        names = [f"test_{i}.py" for i in range(20)]
        run, counts, ran = self.run_group(names)
        self.assertEqual([groups.LANES["cluster"]], counts)
        self.assertEqual(sorted(names), sorted(name for name, _, _ in ran))
        self.assertEqual(sorted([*names, "docs", "page"]), sorted(case.program for case in run.cases))
        self.assertEqual("page", run.cases[-1].program, "it wants an idle machine")
        self.assertEqual({"helm"}, {helm for _, _, helm in ran})

    def test_a_tool_that_is_not_to_be_had_is_told_and_takes_no_other_with_it(self):
        run, _, ran = self.run_group(["test_0.py", "test_1.py"], promtool=mock.Mock(side_effect=Failed("as root: apt-get update")))
        self.assertEqual([("cluster deploy-tools promtool", "as root: apt-get update")], [(case.title, case.detail) for case in run.cases if case.outcome == FAILED])
        self.assertEqual([("test_0.py", "helm"), ("test_1.py", "helm")], sorted((name, helm) for name, _, helm in ran))

    def test_who_wants_the_machine_alone_comes_after_the_others_on_the_first_cluster(self):
        for group in groups.ALONE:
            with self.subTest(group):
                alone, others = sorted(groups.ALONE[group]), [f"test_{i}.py" for i in range(8)]
                run, counts, ran = self.run_group([*alone, *others], name=group)
                self.assertEqual([groups.LANES[group]], counts)
                self.assertEqual(sorted(others), sorted(name for name, _, _ in ran[: len(others)]))
                self.assertEqual([(name, "0") for name in alone], [(name, on) for name, on, _ in ran[len(others) :]])
                self.assertEqual(sorted([*alone, *others]), sorted(case.program for case in run.cases), "and no docs, which are another group's")
                _, counts, ran = self.run_group([*alone, *others], alone[1].removesuffix(".py"), name=group)
                self.assertEqual(([1], [alone[1]]), (counts, [name for name, _, _ in ran]))

    def test_one_file_is_not_worth_a_second_cluster(self):
        _, counts, ran = self.run_group(["test_0.py"])
        self.assertEqual([1], counts)
        self.assertEqual(1, len(ran))

    def test_some_of_the_files(self):
        names = ["test_faults.py", "test_state.py", "test_plan.py"]
        run, counts, ran = self.run_group(names, "fault")
        self.assertEqual(["test_faults.py"], [name for name, _, _ in ran])
        self.assertEqual((1, ["test_faults.py"]), (counts[0], [case.program for case in run.cases]))
        with self.assertRaises(WrongUse):
            self.run_group(names, "fualt")

    def test_a_second_try_is_given_where_ci_runs_on_the_same_cluster_put_right(self):
        run, did = groups.Run(), []

        class Left(FakeLane):
            def put_right(self):
                did.append("put right")
                return super().put_right()

        def once():
            did.append("try")
            return [Case("cluster", "f", "a", FAILED if did == ["try"] else PASSED)]

        lost = [Failed("the supervisor died")]
        for ci, left, outcome, expected in (
            ("true", ["it left etcd stopped"], PASSED, ["try", "put right", "try"]), ("true", lost, FAILED, ["try", "put right"]), ("", [], FAILED, ["try"]),
        ):
            did.clear()
            with self.subTest(ci=ci, left=left), mock.patch.dict("os.environ", {"CI": ci}):
                self.assertEqual([outcome], [case.outcome for case in run.tried("cluster", "f", [Left(left=left)], once)])
                self.assertEqual(expected, did)
        self.assertEqual(1, len(run.unsteady))

    def test_when_its_time_is_up_a_run_begins_nothing_more_and_tells_what(self):
        run, did = groups.Run(until=time.monotonic() - 1), []
        run.attempt("cluster", "test_0.py", [], lambda: did.append("try") or [Case("cluster", "test_0.py", "a", PASSED)])
        self.assertEqual([], did)
        self.assertEqual([("test_0.py", SKIPPED)], [(case.program, case.outcome) for case in run.cases])
        loud = []
        with (
            mock.patch.object(groups, "loud", loud.append), mock.patch.object(groups, "say"), mock.patch.object(groups.budget, "report"), mock.patch("builtins.print"),
            mock.patch.dict("os.environ", {"CI": "true"}),
        ):
            self.assertEqual(0, groups._finish(run, 1.0))
        self.assertEqual(["NOT RUN, the time was up: cluster test_0.py"], loud)

    def test_nothing_is_built_or_started_for_a_group_that_comes_too_late(self):
        run = groups.Run(until=time.monotonic() - 1)
        with mock.patch.object(groups, "_surroundings", lambda *_: self.fail("it is started")), mock.patch.object(groups, "_unit", lambda *_: self.fail("it is built")):
            for group in groups.CI_GROUPS:
                groups._run_group(run, group, True)
        self.assertEqual([(group, SKIPPED) for group in groups.CI_GROUPS], [(case.group, case.outcome) for case in run.cases])

    def test_a_time_that_is_none_is_refused(self):
        for text in ("x", "0", "-3", "1.5"):
            with self.subTest(text), mock.patch.dict("os.environ", {groups.LIMIT: text}), self.assertRaisesRegex(WrongUse, groups.LIMIT):
                groups.test(["contract"])


class Starting(unittest.TestCase):
    def test_where_one_does_not_start_none_is_left(self):
        fixtures = cluster.Fixtures()
        first, second = fixtures._all[:2]
        with (
            mock.patch.object(cluster.kubernetes, "provide", lambda: {}),
            mock.patch.object(cluster.Fixture, "launch"),
            mock.patch.object(first, "wait"), mock.patch.object(second, "wait", side_effect=Failed("not ready")),
            mock.patch.object(first, "stop") as first_stopped, mock.patch.object(second, "stop") as second_stopped, self.assertRaises(Failed),
        ):
            fixtures.start(2)
        self.assertTrue(first_stopped.called and second_stopped.called)

    def test_ports_are_not_those_that_the_kernel_hands_out(self):
        for low, high, window in (
            (32768, 60999, (20000, 29999)), (25000, 60999, (20000, 24999)), (20000, 60999, (1024, 19999)), (10240, 65535, (1024, 10239)),
            (1024, 21000, (21001, 29999)), (1500, 60999, (61000, 65535)), (1024, 65535, (20000, 29999)),  # the last: there is nowhere else
        ):
            with self.subTest(low=low, high=high), mock.patch.object(ports, "of_the_kernel", lambda low=low, high=high: (low, high)):
                self.assertEqual(window, ports.window(low, high))
                found = ports.free(50)
                self.assertEqual(50, len(set(found)))
                self.assertTrue(all(window[0] <= port <= window[1] for port in found), found)
        low, high = ports.of_the_kernel()
        self.assertEqual(f"{low}\t{high}\n", Path("/proc/sys/net/ipv4/ip_local_port_range").read_text())


if __name__ == "__main__":
    unittest.main()
