"""Each check on a tree that holds to it and on one that breaks it in one place: a check that cannot fail holds nothing."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tidy import checks, docs, headers, layers, reference, strategies
from tidy.source import Tree

README = "# base\n\n**What:** x.\n**Layer:** 0. **May use:** nothing of ours.\n"
ROWS = (
    "| `base/` | 0 | x | nothing of ours |\n| `model/` | 1 | x | base |\n| `policy/` | 2 | x, `y/` | model, base |\n"
    "| `cli/` | 5 | x | anything below |\n| `main/` | 6 | x | anything |\n"
)
STRATEGIES = (
    '#include "model/node_strategy.h"\n\nnamespace tidemark::model {\nconst char* text(Strategy strategy) {\n  switch (strategy) {\n'
    '    case Strategy::kCut:\n      return "cut";\n  }\n  return "";\n}\n}  // namespace tidemark::model\n'
)
TRIED = (
    "# x\n\n## What was tried on which kernel\n\n| strategy | what | here |\n|---|---|---|\n"
    "| `cut` | by `cpu.idle` | `CutOnMachine`, `model_test`, `model/node_strategy_test.cc` |\n| all | off | no: why |\n\n## Next\n\n| `gone` | |\n"
)
GOOD = {
    "ARCHITECTURE.md": ROWS,
    ".clang-format": (Path(__file__).resolve().parents[2] / ".clang-format").read_text(),
    "base/CMakeLists.txt": "tidemark_module(base)\n",
    "base/README.md": README,
    "base/text.h": "#pragma once\n#include <string>\nnamespace tidemark::base {\nstd::string text();\n}  // namespace tidemark::base\n",
    "base/text.cc": '#include "base/text.h"\n\nnamespace tidemark::base {\nstd::string text() {\n  return "sleep(1); //";\n}\n}  // namespace tidemark::base\n',
    "policy/CMakeLists.txt": "tidemark_module(policy)\n",
    "policy/README.md": "# policy\n\n**What:** x.\n**Layer:** 2. **May use:** model, base.\n",
    "policy/cut.h": '#pragma once\n#include "base/text.h"\nnamespace tidemark::policy {\nint cut(int now);\n}  // namespace tidemark::policy\n',
    "policy/cut.cc": '#include "policy/cut.h"\n#include "model/node_strategy.h"\nnamespace tidemark::policy {\nint cut(int now) {\n  return now;\n}\n}  // namespace tidemark::policy\n',
    "cli/CMakeLists.txt": "tidemark_module(cli)\n",
    "cli/README.md": "# cli\n\n**What:** x.\n**Layer:** 5. **May use:** anything below.\n",
    "cli/explain.h": '#pragma once\nnamespace tidemark::cli {\nint explain();\n}  // namespace tidemark::cli\n',
    "cli/explain.cc": '#include "cli/explain.h"\n#include "policy/cut.h"\nnamespace tidemark::cli {\nint explain() {\n  return policy::cut(1);\n}\n}  // namespace tidemark::cli\n',
    "main/CMakeLists.txt": "add_executable(tidemark main.cc)\n",
    "main/README.md": "# main\n\n**What:** x.\n**Layer:** 6. **May use:** anything.\n",
    "main/main.cc": '#include "cli/explain.h"\nint main() {\n  return tidemark::cli::explain();\n}\n',
    "model/CMakeLists.txt": "tidemark_module(model)\n",
    "model/README.md": "# model\n\n**What:** x.\n**Layer:** 1. **May use:** base.\n",
    "model/node_strategy.h": '#pragma once\n#include "base/text.h"\nnamespace tidemark::model {\nenum class Strategy { kCut };\n}  // namespace tidemark::model\n',
    "model/node_strategy.cc": STRATEGIES,
    "model/node_strategy_test.cc": '#include "model/node_strategy.h"\n\n#include <gtest/gtest.h>\n\nTEST(CutOnMachine, Cuts) {}\n',
    "docs/guide/protection.md": TRIED,
    "docs/use.md": "[base](../base/README.md)\n\n```sh run\ntrue\n```\n\n```sh dev\n./dev test unit\n```\n",
}


class Checks(unittest.TestCase):
    def setUp(self):
        """With a memory of its own."""
        self.enterContext(mock.patch.dict(os.environ, XDG_CACHE_HOME=self.enterContext(tempfile.TemporaryDirectory())))

    def tree(self, changes: dict[str, str] | None = None) -> Tree:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = Path(folder.name)
        for file, text in {**GOOD, **(changes or {})}.items():
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text)
        return Tree(root)

    def broken(self, check, changes: dict[str, str], *expected: str) -> None:
        """The check finds exactly one thing more than in the good tree, and names the place."""
        self.assertEqual([], check(self.tree()))
        found = check(self.tree(changes))
        self.assertEqual(len(expected), len(found), found)
        for text, line in zip(expected, found):
            self.assertIn(text, line)

    def test_good_tree_passes_every_check(self):
        tree = self.tree()
        for name, check in checks.CHECKS.items():
            with self.subTest(name):
                self.assertEqual([], check(tree))

    def test_lower_layer_includes_higher(self):
        self.broken(checks.layer_table, {"base/text.cc": '#include "policy/cut.h"\n'}, "base/text.cc:1: base may not include policy")

    def test_component_includes_component(self):
        self.broken(
            checks.layer_table, {"agent/a.h": "", "manager/m.cc": '#include "agent/a.h"\n'}, "manager/m.cc:1: manager may not include agent"
        )

    def test_linux_is_for_agents_only(self):
        files = {"linux/psi.h": "", "agent/a.cc": '#include "linux/psi.h"\n', "manager/m.cc": '#include "linux/psi.h"\n'}
        self.broken(checks.layer_table, files, "manager may not include linux")

    def test_sub_module_has_a_row_of_its_own(self):
        files = {"kube/memory/store.h": "", "kube/client.cc": '#include "kube/memory/store.h"\n'}
        self.broken(checks.layer_table, files, "kube may not include kube/memory")

    def test_rooms_keep_their_order(self):
        room = "namespace tidemark::policy::sell {\n}\n"
        files = {
            "policy/sell/offer.h": room,
            "policy/sell/offer.cc": '#include "policy/evict/gap.h"\n',
            "policy/evict/gap.h": '#include "policy/sell/offer.h"\n',
            "cli/explain.cc": '#include "policy/evict/gap.h"\n',
        }
        self.broken(checks.layer_table, files, "policy/sell/offer.cc:1: policy/sell may not include policy/evict")
        header = "#pragma once\nnamespace tidemark::policy {\n}\n"
        self.broken(checks.namespaces, {"policy/sell/offer.h": header}, "declares nothing in namespace tidemark::policy::sell")

    def test_a_test_may_use_the_memory_api_server(self):
        self.broken(checks.layer_table, {"kube/memory/store.h": "", "manager/m_test.cc": '#include "kube/memory/store.h"\n'})

    def test_product_code_includes_testing(self):
        files = {"base/testing/clock.h": "", "cli/explain.cc": '#include "base/testing/clock.h"\n', "cli/e_test.cc": '#include "base/testing/clock.h"\n'}
        self.broken(checks.layer_table, files, "cli/explain.cc:1")

    def test_unknown_folder_and_unknown_include(self):
        self.broken(checks.layer_table, {"stuff/x.cc": ""}, "stuff/x.cc:1: C++ in a folder")
        self.broken(checks.layer_table, {"cli/explain.cc": '#include "gone.h"\n'}, '"gone.h" is no file of ours')

    def test_nothing_includes_main_or_tests(self):
        self.broken(checks.layer_table, {"tests/x.h": "", "cli/explain.cc": '#include "tests/x.h"\n'}, "cli may not include tests")

    def test_include_cycle(self):
        files = {"base/a.h": '#include "base/b.h"\n', "base/b.h": '#include "base/a.h"\n'}
        self.broken(checks.component_cycles, files, "base/a.h → base/b.h → base/a.h")

    def test_two_types_of_one_name(self):
        one = "namespace tidemark::policy {\nstruct Moved {\n  int a;\n};\n}\n"
        other = "namespace tidemark::policy {\nclass Moved final : public Base {\n};\n}\n"
        found = checks.one_definition(self.tree({"policy/a.h": one, "policy/b.h": other}))
        self.assertEqual(["policy/b.h:2: tidemark::policy::Moved is another type in policy/a.h: one of them needs another name"], found)
        for kept in (
            "namespace tidemark::agent {\nstruct Moved {\n};\n}\n", "namespace tidemark::policy {\nnamespace {\nstruct Moved {\n};\n}\n}\n",
            "namespace tidemark::policy {\nstruct Moved;\nclass Other {\n  struct Moved {\n  };\n};\n}\n",
            "namespace tidemark::policy {\nvoid f() {\n  struct Moved {\n  };\n}\n}\n",
        ):
            self.assertEqual([], checks.one_definition(self.tree({"policy/a.h": one, "policy/b.h": kept})))

    def test_pure_folders(self):
        for line in (
            "auto t = std::chrono::steady_clock::now();", "auto t = time(nullptr);", "#include <sys/socket.h>", "#include <fstream>",
            "#include <thread>", "std::mutex m;", "#include <random>", "int r = rand();", "#include <iostream>", "#include <atomic>",
            'auto* h = std::getenv("HOME");', '#include "base/log.h"', '#include "base/random.h"', "usleep(5);", "const base::Clock& c;",
            'printf("x");', "::open(path, 0);", "#include <unistd.h>", "#include <filesystem>",
        ):
            with self.subTest(line):
                self.assertNotEqual([], checks.pure_decisions(self.tree({"policy/cut.cc": line + "\n"})))
                self.assertNotEqual([], checks.pure_decisions(self.tree({"model/x.h": line + "\n"})))
                self.assertEqual([], checks.pure_decisions(self.tree({"net/x.cc": line + "\n"})), "only policy/ and model/ are bound")

    def test_pure_folders_may_speak_of_time(self):
        for line in ("int run_time(int x);", "auto t = a.time(3);", "// the wall clock (steady_clock) never", 'auto s = "rand()";', "Time at_time(T);"):
            with self.subTest(line):
                self.assertEqual([], checks.pure_decisions(self.tree({"policy/cut.cc": line + "\n"})))

    def test_bans_everywhere(self):
        for text, place in {
            "std::this_thread::sleep_for(1s);": "net/x.cc", "usleep(1);": "net/x_test.cc", "base::SystemClock clock;": "cli/x.cc",
            "auto s = Random::seed_from_system();": "kube/x.cc", "std::mutex m;": "manager/x.cc", "TEST(A, DISABLED_b) {}": "net/x_test.cc",
            "// TODO: later": "net/x.cc", "sleep(1);": "kube/x.cc",
        }.items():
            with self.subTest(text):
                self.broken(checks.bans, {place: text + "\n"}, f"{place}:1")

    def test_each_strategy_was_tried_somewhere(self):
        check, page = strategies.strategies_tried, "docs/guide/protection.md"
        self.broken(check, {"model/node_strategy.cc": STRATEGIES.replace("  }\n  return", '    case Strategy::kGrow:\n      return "grow";\n  }\n  return')}, "no row for grow")
        self.broken(check, {"model/node_strategy.cc": "int x;\n"}, "tells no names")
        for old, new, expected in (
            ("| `cut` |", "| `mow` |", ("mow` is no strategy", "no row for cut")), ("`CutOnMachine`", "`CutOnMachines`", ("there is no test `CutOnMachines`",)),
            ("`model_test`", "`linux_test`", ("there is no test `linux_test`",)), ("`model/node_strategy_test.cc`", "`tests/node/test_gone.py`", ("no test `tests/node/test_gone.py`",)),
            ("no: why", "no", ("\"no\" without why",)), ("| off |", "| |", ("a cell that says nothing",)), ("## What was tried on which kernel", "## Tried", ("has no \"## What",)),
        ):
            with self.subTest(new):
                self.broken(check, {page: TRIED.replace(old, new)}, *expected)

    def test_nobody_starts_another_program(self):
        for text in (
            '::execvp(argv[0], argv);', 'execve("/bin/sh", a, e);', 'std::system("ls");', 'FILE* f = popen("ls", "r");', "posix_spawn(&pid, p, 0, 0, a, e);",
            "::posix_spawnp(&pid, p, 0, 0, a, e);", "fexecve(fd, a, e);", "syscall(SYS_execveat, fd);",
        ):
            for place in ("agent/x.cc", "linux/x.cc", "net/x.cc", "base/x.h", "runtime/pods/x.cc", "main/x.cc"):
                with self.subTest(text, place=place):
                    self.broken(checks.bans, {place: text + "\n"}, f"{place}:1")
        for text, place in {
            "::execvp(argv[0], argv);": "runtime/shim/shim.cc", "::posix_spawn(&pid);": "runtime/containers.cc", 'system("ls");': "agent/x_test.cc",
            "auto s = input.system();": "agent/x.cc", "sqlite3_exec(db);": "kube/x.cc", "const pid_t child = ::fork();": "linux/x.cc", "seen->system(1);": "agent/y.cc",
            "Step::system(1);": "policy/x.cc",
        }.items():
            with self.subTest(text, place=place):
                self.broken(checks.bans, {place: text + "\n"})

    def test_the_agent_has_no_way_to_what_starts_programs(self):
        self.assertFalse(layers.MAY_USE["agent"] & {"runtime", "embedded", "main", "cli"})

    def test_bans_free_places(self):
        for text, place in {
            "base::SystemClock clock;": "main/x.cc", "SystemClock c;": "base/clock.h", "Random::seed_from_system();": "main/x.cc",
            "std::mutex m;": "net/x.cc", "base::SystemClock real;": "net/x_test.cc", "sleep(1)": "docs/x.md", "poll.sleep(d);": "net/y.cc",
        }.items():
            with self.subTest(text):
                self.broken(checks.bans, {place: text + "\n"})

    def test_third_party_header_in_a_header(self):
        for name in ("openssl/ssl.h", "nghttp2/nghttp2.h", "sqlite3.h", "yaml-cpp/yaml.h"):
            with self.subTest(name):
                self.broken(checks.header_includes, {"base/text.h": f"#include <{name}>\n"}, f"base/text.h:1: `#include <{name[:3]}")
                self.broken(checks.header_includes, {"base/text.cc": f"#include <{name}>\n"})

    def test_heavy_header(self):
        self.broken(checks.header_includes, {"base/text.h": "#include <iostream>\n"}, "heavy")

    def test_header_guard_and_namespace(self):
        self.broken(checks.header_guards, {"base/text.h": "namespace tidemark::base {}\n"}, "base/text.h:1")
        self.broken(checks.namespaces, {"base/text.h": "namespace tidemark::other {}\n"}, "namespace tidemark::base")

    # Includes something else first, so that the build does not say whether its header stands alone.
    LAST = {"base/text.cc": '#include <string>\n#include "base/text.h"\nnamespace tidemark::base {\nstd::string text() {\n  return {};\n}\n}\n'}
    LEANING = "#pragma once\nnamespace tidemark::base {\nstd::string text();\n}\n"

    def test_header_that_leans_on_its_includer(self):
        self.broken(headers.stand_alone, {**self.LAST, "base/text.h": self.LEANING}, "base/text.h:1")
        self.broken(headers.stand_alone, {"base/text.h": self.LEANING})  # the build of base/text.cc says so
        self.broken(headers.stand_alone, {"base/pair.h": "#pragma once\nnamespace tidemark::base {\nText pair();\n}\n"}, "base/pair.h:1")

    def test_header_result_is_remembered_until_something_it_reads_changes(self):
        tree = self.tree(self.LAST)
        self.assertEqual([], headers.stand_alone(tree))
        with mock.patch.object(headers, "FLAGS", [*headers.FLAGS, "-fno-such-flag"]):
            self.assertEqual(1, len(headers.stand_alone(Tree(tree.root))), "asked otherwise, another key")
        (tree.root / "base/text.h").write_text(self.LEANING)
        self.assertEqual(1, len(headers.stand_alone(Tree(tree.root))))

    def test_header_result_costs_nothing_when_unchanged(self):
        headers.stand_alone(self.tree(self.LAST))
        with mock.patch.object(headers, "_compile", lambda *_: self.fail("compiled again")):
            self.assertEqual([], headers.stand_alone(self.tree(self.LAST)), "in another clone")

    def test_header_results_of_long_ago_are_forgotten_first(self):
        old, new = self.tree(self.LAST), self.tree({**self.LAST, "base/text.h": GOOD["base/text.h"] + "// changed\n"})
        with mock.patch.object(headers, "REMEMBERED_MAX", 1):
            for tree in (old, new, new):
                headers.stand_alone(tree)
        compiled = []
        with mock.patch.object(headers, "_compile", lambda _, header: compiled.append(header) or ""):
            headers.stand_alone(Tree(new.root))
            self.assertEqual([], compiled)
            headers.stand_alone(Tree(old.root))
        self.assertEqual(["base/text.h"], compiled)

    def test_dead_header(self):
        files = {"base/old.h": "", "base/old.cc": '#include "base/old.h"\n', "base/old_test.cc": '#include "base/old.h"\n'}
        self.broken(checks.dead_headers, files, "base/old.h:1")

    def test_dead_source(self):
        self.broken(checks.dead_sources, {"net/x.cc": ""}, "net/x.cc:1: no CMakeLists.txt")
        self.broken(checks.dead_sources, {"base/lost.cc": "int lost() { return 1; }\n"}, "base/lost.cc:1: includes no header")

    def test_folder_names(self):
        self.broken(checks.folders, {"base/util/x.h": ""}, "base/util/")
        self.broken(checks.folders, {"stuff/x.txt": ""}, "stuff/: the layer table")

    def test_readme(self):
        self.broken(checks.readmes, {"net/x.cc": ""}, "net/README.md: missing")
        self.broken(checks.readmes, {"base/README.md": "# base\n**What:** x. **Layer:** 0.\n"}, "**May use:**")
        self.broken(checks.readmes, {"base/README.md": README, "base/part/README.md": "#base / part\n**What:** x"}, "does not begin with a heading")
        self.broken(checks.readmes, {"base/README.md": README, "base/part/README.md": "# base/part\n"}, "base/part/README.md:1: does not say **What:**")
        self.broken(checks.readmes, {"base/README.md": README.replace("0", "3")}, "says layer 3, the table says 0")
        self.broken(checks.readmes, {"base/README.md": README.replace("nothing of ours", "net, model")}, "says it may use model, net")

    def test_architecture_table(self):
        for row, wrong, words in (
            ("| `base/` | 0 |", "| `base/` | 1 |", "ARCHITECTURE.md:1: says base/ is layer 1"),
            ("x, `y/` | model, base", "x, `y/` | model, base, net", "ARCHITECTURE.md:3: says policy/ may include model, base, net"),
            ("anything below", "base", "ARCHITECTURE.md:4: says cli/ may include base"),
            ("| `main/` | 6 | x | anything |\n", "", "ARCHITECTURE.md: has no row for main/"),
            ("| `main/`", "| `net/` | 2 | x | base |\n| `main/`", "ARCHITECTURE.md:5: net/ is not there"),
        ):
            with self.subTest(words):
                self.broken(checks.architecture_table, {"ARCHITECTURE.md": ROWS.replace(row, wrong)}, words)
        self.broken(checks.architecture_table, {"kube/a.cc": ""}, "has no row for kube/")

    def test_file_length(self):
        self.broken(checks.file_length, {"base/text.cc": "\n" * (layers.MAX_LINES + 1)}, "base/text.cc:701")
        self.broken(checks.file_length, {"base/text.cc": "\n" * layers.MAX_LINES})

    def test_white_space(self):
        self.broken(checks.white_space, {"base/text.cc": "int x; \n"}, "base/text.cc:1")
        self.broken(checks.white_space, {"base/text.cc": "\tint x;\n"}, "a tab")
        self.broken(checks.white_space, {"base/text.cc": "int x;"}, "no newline")

    def test_clang_format(self):
        self.assertEqual([], checks.clang_format(self.tree()))
        self.broken(checks.clang_format, {"base/text.cc": "int   x  ;\n"}, "base/text.cc:1")

    def test_documentation_commands(self):
        for block in (
            "```sh\nls\n```\n", "```bash\nls\n```\n", "```sh maybe\nls\n```\n", "```sh run\nif\n```\n", "```sh dev\n./dev tset\n```\n",
            "```sh dev\nls\n```\n", "```sh dev\n./dev test units\n```\n", "```sh dev\n./dev fuzz --minutes 3\n```\n",
        ):
            with self.subTest(block):
                self.broken(docs.commands_hold, {"docs/use.md": block}, "docs/use.md:1")
        self.broken(docs.commands_hold, {"docs/use.md": "```sh dev\n./dev fuzz json --seconds 3  # quick\n./dev --help\n```\n\n```sh elsewhere\nkubectl x\n```\n"})

    def test_documentation_commands_are_found_to_be_run(self):
        tree = self.tree({"docs/more.md": "x\n\n```sh run cluster\nkubectl get nodes\n```\n"})
        self.assertEqual(["true\n"], [block.text for block in docs.runnable(tree.root, "unit")])
        self.assertEqual([("docs/more.md", 3)], [(block.file, block.line) for block in docs.runnable(tree.root, "cluster")])

    def test_blocks_of_a_page_are_one_shell(self):
        page = "x\n\n```sh run page\nx=1\n```\n\nthen\n\n```sh run page\necho \"x is $x\"\n%s\n```\n"
        for last, code, said in (("true", 0, ""), ("false", 1, "failed in the block at line 9")):
            tree = self.tree({"docs/more.md": page % last})
            found = docs.pages(tree.root, "unit")
            self.assertEqual([("docs/more.md", 3)], [(block.file, block.line) for block in found])
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", found[0].text], stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self.assertEqual((code, "x is 1\n"), (done.returncode, done.stdout), done.stderr)
            self.assertIn(said, done.stderr)
            self.assertEqual([], [block for block in docs.runnable(tree.root, "unit") if block.file == "docs/more.md"])
            self.assertEqual([], docs.pages(tree.root, "cluster"))
        tree = self.tree({"docs/more.md": (page % "true").replace("run page", "run page cluster")})
        self.assertEqual([], docs.pages(tree.root, "unit") + docs.runnable(tree.root, "cluster"))
        self.assertEqual(["docs/more.md"], [block.file for block in docs.pages(tree.root, "cluster")])

    def test_documentation_links(self):
        self.broken(docs.links_hold, {"docs/use.md": "see [it](gone.md#part)\n"}, "docs/gone.md")
        self.broken(docs.links_hold, {"docs/use.md": "see [it](https://example.com/gone.md) and [there](#here)\n"})

    def test_limits_of_the_guides(self):
        self.broken(docs.limits_hold, {"docs/guide/a.md": "x" * 141 + "\n"}, "docs/guide/a.md:1: 141 characters")
        self.broken(docs.limits_hold, {"docs/guide/a.md": f"| {'x' * 121} | y |\n"}, "docs/guide/a.md:1: a cell of 121 characters")
        self.broken(docs.limits_hold, {"docs/guide/a.md": "x x\n" * 17_501}, "words: at most 35000")
        self.broken(docs.limits_hold, {"docs/guide/a.md": docs.MADE + "\n" + "x x\n" * 17_501 + f"| {'x' * 120} | {'y' * 120} |\n"})

    def test_reference_pages_are_made_from_the_code(self):
        code = {
            "base/text.cc": GOOD["base/text.cc"].replace('return "sleep(1); //";', 'registry.counter("tidemark_base_total", "Texts "\n"made.", {{"pool", x}});'),
            "model/reason.cc": '// TM-NODE (off.md): Nodes.\nReasonInfo{Reason::kA, "TM-NODE-001", "calculated"},\n',
            "base/text.h": GOOD["base/text.h"].replace("std::string text();", '// A key. More.\nconstexpr std::string_view kTextLabel = "tidemark.io/text";'),
        }
        tree = self.tree(code)
        pages = {reference.FOLDER + name: make(tree)[0] for name, make in reference.PAGES.items()}
        for row, name in {
            "| `tidemark_base_total{pool}` | counter | offline | Texts made |": "metrics.md", "| `TM-NODE-001` | calculated |": "reasons.md",
            "Nodes. More: [off](../off.md).": "reasons.md", "| `tidemark.io/text` | label | A key |": "keys.md",
        }.items():
            self.assertIn(row, pages[reference.FOLDER + name].splitlines())
            stale = {**pages, reference.FOLDER + name: pages[reference.FOLDER + name].replace(row, "")}
            self.assertEqual([f"{reference.FOLDER}{name}: is not what the code says: {reference.MAKE}"], reference.stale(self.tree({**code, **stale})))
        self.assertEqual([], reference.stale(self.tree({**code, **pages})))
        bare = {file: text.replace("// TM-NODE (off.md): Nodes.\n", "").replace("// A key. More.\n", "").replace(', "Texts "\n"made."', "") for file, text in code.items()}
        found = "\n".join(reference.stale(self.tree(bare)))
        for wrong in ("its help does not follow its name", "a line `// TM-NODE (GUIDE.md): what it is about` is missing", "a comment of one sentence is missing"):
            self.assertIn(wrong, found)

    def test_contract_citations(self):
        page, copilot = "## 7 Agent\n\n### 7.3 Suppression\n\n### 7.4 Eviction\n", "## 10 API\n"
        pages = {"docs/contract/koordinator.md": page, "docs/contract/yarn-copilot.md": copilot}
        # In pieces, since the check reads this file too.
        line = "// Con" "tract 7.3, 7.4; copilot con" "tract 10; as con" "tract\n// 7 has it.\n"
        self.broken(checks.contract_citations, {**pages, "base/text.h": line})
        wrong = line.replace("7.4", "7.5").replace("10", "7")
        words = "base/text.h:1: docs/contract/koordinator.md has no section 7.5", "base/text.h:1: docs/contract/yarn-copilot.md has no section 7"
        self.broken(checks.contract_citations, {**pages, "base/text.h": wrong}, *words)

    def test_shared_flags(self):
        one = 'void f() {\n  flags.choice("output", form);\n}\n'
        self.broken(checks.shared_flags, {checks.SHARED_FLAGS: one, "main/a_command.cc": one}, "main/a_command.cc:2: --output is declared in main/shared_flags.cc")
        self.broken(checks.shared_flags, {checks.SHARED_FLAGS: one, "main/a_command.cc": 'flags\n  .text("input", file);\n'})

    def test_figures(self):
        entry = '{"figure":"a.b","value":2,"unit":"ms","n":3,"spread":[1,3],"command":"./dev bench a","commit":"d","machine":"m","date":"t"}\n'
        self.broken(checks.figures, {"bench/ledger.jsonl": entry}, "docs/figures.md", "bench/all_figures.md")
        self.broken(checks.figures, {"bench/ledger.jsonl": entry.replace("[1,3]", "[3,4]")}, "ledger.jsonl:1: `spread`")
        self.broken(checks.figures, {"bench/ledger.jsonl": "{}\n"}, "ledger.jsonl:1: missing")


class Reading(unittest.TestCase):
    def code(self, text: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "x.cc").write_text(text)
            return Tree(Path(folder)).code("x.cc")

    def test_comments_and_strings_go_line_numbers_stay(self):
        self.assertEqual(" \nint x = \"\";  \n\n ' ' y", self.code("// rand()\nint x = \"// no\\\" comment\"; /* a\nb */\n '\"' y"))

    def test_raw_string_and_digit_separator(self):
        self.assertEqual('a ""\n b 1\'000 c 2\'000', self.code('a R"x(rand()\n)" )x" b 1\'000 c 2\'000'))

    def test_include_keeps_its_name(self):
        self.assertEqual('#include "a/b.h"', self.code('#include "a/b.h"'))


if __name__ == "__main__":
    unittest.main()
