"""Which tests a change reaches, and what is left out when they do not fit."""

import tempfile
import unittest
from pathlib import Path

from driver import plan
from driver.plan import Graph, Reach, Sources, Test

GRAPH = """\
base base
policy policy base
kube kube base
kube_memory kube/memory kube base
manager manager policy kube base
yarn_operator yarn_operator policy kube base
tidemark main manager tidemark-hadoop
tidemark-hadoop main yarn_operator
manager_test manager manager kube_memory
kube_mirror tests/faults kube base
"""
MAIN = """
constexpr Command kCommands[] = {
    {"manager", "computes", main::run_manager, "koord-manager"},
    {"yarn-operator", "sets",
     nullptr, main::kHadoopProgram, "koord-yarn-operator"},
};
"""
HADOOP_MAIN = """
static constexpr main::StartedCommand kCommands[] = {{"yarn-operator", main::run_yarn_operator}};
"""
FILES = {
    "main/main.cc": MAIN,
    "main/hadoop_main.cc": HADOOP_MAIN,
    "main/manager_command.cc": '#include "manager/manager.h"\n#include "main/flags.h"\nint run_manager(int x) {}\n',
    "main/flags.cc": '#include "base/flags.h"\n',
    "main/yarn_operator_command.cc": '#include "yarn_operator/yarn_operator.h"\nint run_yarn_operator(int x) {}\n',
    "manager/manager.h": '#include "policy/state/state.h"\n',
    "manager/manager.cc": '#include "manager/manager.h"\n',
    "yarn_operator/yarn_operator.h": '#include "policy/state/state.h"\n',
    "yarn_operator/offers.cc": '#include "yarn_operator/yarn_operator.h"\n',
    "policy/state/state.h": '#include "base/text.h"\n',
    "policy/state/state.cc": '#include "policy/state/state.h"\n',
    "base/text.h": "",
    "base/flags.h": "",
    "main/flags.h": "",
    "tests/case.py": 'import os\nBINARY = os.environ["TIDEMARK_BINARY"]\n',
    "tests/test_manager.py": 'from case import BINARY\nstart(BINARY, ["manager", "--flag"])\nCRDS = "deploy/crds"\n',
    "tests/test_yarn.py": 'import case\ncase.Component("yarn-operator")\n',
    "tests/support/peer.py": "",
    "tests/support/go/go.mod": "",
    "tests/faults/mirror.cc": "",
    "tests/test_any.py": 'import case\n',
    "tests/test_tool.py": 'run("kube_mirror")\n',
    "tests/test_peer.py": "import os\nimport support.peer\n",
}
TESTS = ["manager", "yarn", "any", "tool", "peer"]


class Reached(unittest.TestCase):
    def setUp(self):
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, text in FILES.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)

    def reached(self, *changed: str) -> list[str]:
        reach = Reach(Graph.read(GRAPH), Sources(self.root), list(changed))
        return [name for name in TESTS if reach.file(self.root / "tests" / f"test_{name}.py")]

    def program(self, name: str, *changed: str) -> bool:
        return Reach(Graph.read(GRAPH), Sources(self.root), list(changed)).program(name)

    def test_a_component_reaches_the_tests_that_start_its_command(self):
        self.assertEqual(["yarn", "any"], self.reached("yarn_operator/offers.cc"))
        self.assertEqual(["manager", "any"], self.reached("manager/manager.h"))

    def test_a_lower_layer_reaches_what_links_it(self):
        self.assertEqual(["manager", "yarn", "any"], self.reached("policy/state/state.cc"))
        self.assertEqual(["manager", "yarn", "any", "tool"], self.reached("base/text.h"))

    def test_an_imported_file_reaches_its_tests(self):
        self.assertEqual(["manager", "yarn", "any"], self.reached("tests/case.py"))

    def test_a_file_that_is_not_python_reaches_the_tests_that_import_its_package(self):
        self.assertEqual(["peer"], self.reached("tests/support/go/go.mod"))

    def test_a_tool_in_cxx_reaches_the_tests_that_start_it(self):
        self.assertEqual(["tool"], self.reached("tests/faults/mirror.cc"))

    def test_a_header_for_tests_reaches_the_test_programs_of_other_modules(self):
        self.assertTrue(self.program("manager_test", "kube/testing/fake.h"))
        self.assertEqual([], self.reached("kube/testing/fake.h"))

    def test_a_test_that_starts_the_changed_command_itself_comes_first(self):
        reach = Reach(Graph.read(GRAPH), Sources(self.root), ["yarn_operator/offers.cc"])
        self.assertEqual(["yarn"], [name for name in TESTS if reach.first(self.root / "tests" / f"test_{name}.py")])

    def test_a_directory_without_a_module_reaches_the_tests_that_name_it(self):
        self.assertEqual(["manager"], self.reached("deploy/crds/x.yaml"))

    def test_the_build_reaches_everything_the_docs_and_benches_nothing(self):
        self.assertEqual(TESTS, self.reached("cmake/x.cmake"))
        self.assertEqual([], self.reached("docs/guide/off.md", "README.md", "bench/runner.py"))

    def test_a_unit_test_reaches_its_own_program_only(self):
        self.assertEqual([], self.reached("manager/manager_test.cc"))
        self.assertTrue(self.program("manager_test", "manager/manager_test.cc"))
        self.assertFalse(self.program("kube_mirror", "manager/manager_test.cc"))

    def test_a_program_is_reached_by_what_it_links(self):
        self.assertTrue(self.program("manager_test", "kube/memory/store.cc"))
        self.assertTrue(self.program("kube_mirror", "kube/client.cc", "docs/x.md"))
        self.assertFalse(self.program("kube_mirror", "kube/memory/store.cc"))


class Fitting(unittest.TestCase):
    TESTS = [Test(f"cluster.test_{number}", "cluster", Path("/dev/null"), 100) for number in range(30)]

    def test_what_fits_is_run_whole(self):
        made = plan.make(self.TESTS, lambda test: test.name.endswith("7"), "b", [], "seed", time_s=300)
        self.assertEqual(["cluster.test_7", "cluster.test_17", "cluster.test_27"], [test.name for test in made.will_run])
        self.assertEqual([], made.left)

    def test_smoke_tests_come_first_and_the_rest_fills_the_time(self):
        smoke = Path(self.enterContext(tempfile.TemporaryDirectory())) / "test_smoke.py"
        smoke.write_text("SMOKE = True\n")
        tests = [*self.TESTS, Test("cluster.test_smoke", "cluster", smoke, 50)]
        made = plan.make(tests, lambda _: True, "b", [], "seed", time_s=1000)
        self.assertIn("cluster.test_smoke", [test.name for test in made.will_run])
        self.assertEqual((10, 21), (len(made.will_run), len(made.left)))

    def test_tests_that_start_the_changed_command_come_before_the_others(self):
        made = plan.make(self.TESTS, lambda _: True, "b", [], "seed", time_s=200, first=lambda test: test.name.endswith(("11", "22")))
        self.assertEqual(["cluster.test_11", "cluster.test_22"], [test.name for test in made.will_run])

    def test_ten_commits_visit_nearly_everything(self):
        visited = set()
        for commit in range(10):
            visited |= {test.name for test in plan.make(self.TESTS, lambda _: True, "b", [], f"commit {commit}", time_s=1000).will_run}
        self.assertGreaterEqual(len(visited), 28)


if __name__ == "__main__":
    unittest.main()
