"""Which tests ./dev test affected runs: those whose code a change can reach.

"Can reach" comes from three sources: the link graph that CMake writes (build/link-graph.txt), the imports of a Python test, and the commands of
`tidemark` that it starts (the tables in main/*main.cc say which file runs a command; its includes say what that is compiled from). A change of the build or of the
runner reaches everything. If what is reached does not fit into the time, each group runs its smoke files (a line `SMOKE = True`), and a
selection of the rest that differs from commit to commit.
"""

import ast
import hashlib
import re
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from driver.console import Failed
from driver.paths import BUILD, ROOT

OLDER_THAN = "12 hours ago"  # the base of a change, if the caller names none: a clean clone knows nothing else
SECONDS_DEFAULT = 30
TIME_S = 2400  # of the real groups and sanitizer programs together, by tests/seconds.txt; up to four run side by side, so about 15 minutes
# A change below these reaches every program, whatever the link graph says.
EVERYTHING = ("CMakeLists.txt", "CMakePresets.json", "cmake/", "dev", ".ci/", "tests/driver/", "tests/support/cluster/", "tests/CMakeLists.txt")
REACHES_NOTHING = ("docs/", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "bench/", "tests/tidy/", "tests/long/", ".clang")
TESTS_OF_ITS_OWN = re.compile(r"_test\.cc$|/testing/|/testdata/|/corpus/")  # reach unit test programs only


@dataclass
class Test:
    name: str  # as CTest names it
    group: str
    file: Path | None = None  # of a Python test
    seconds: int = SECONDS_DEFAULT

    @property
    def is_smoke(self) -> bool:
        return self.file is None or bool(re.search(r"^SMOKE = True", self.file.read_text(), re.M))


@dataclass
class Plan:
    will_run: list[Test] = field(default_factory=list)
    left: list[Test] = field(default_factory=list)  # reached, and left to later runs
    base: str = ""
    changed: list[str] = field(default_factory=list)

    def text(self) -> str:
        lines = [f"base {self.base[:12]}: {len(self.changed)} files changed"]
        for title, tests in (("will run", self.will_run), ("left to later runs", self.left)):
            lines.append(f"{title}: {len(tests)} tests, {sum(test.seconds for test in tests)} s of tests/seconds.txt")
            for group in dict.fromkeys(test.group for test in tests):
                lines.append(f"  {group:<9} " + " ".join(test.name.split(".", 1)[1] for test in tests if test.group == group))
        return "\n".join(lines)


def git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", ROOT, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def base_of(revision: str | None) -> str:
    """The commit that a change is compared with. The first commit of all if none is old enough."""
    if revision is not None:
        return git("rev-parse", "--verify", f"{revision}^{{commit}}")
    return git("rev-list", "-1", f"--before={OLDER_THAN}", "HEAD") or git("rev-list", "--max-parents=0", "HEAD").splitlines()[-1]


def changed_files(base: str) -> list[str]:
    """Since the base, with what is not committed yet."""
    return sorted({*git("diff", "--name-only", "--no-renames", base).splitlines(), *git("ls-files", "--others", "--exclude-standard").splitlines()})


@dataclass
class Graph:
    """Modules and programs: where the sources are, and what is linked."""

    directory: dict[str, str]
    links: dict[str, list[str]]

    @staticmethod
    def read(text: str) -> "Graph":
        rows = [line.split(" ") for line in text.splitlines() if line]
        return Graph({row[0]: row[1] for row in rows}, {row[0]: [dep for dep in row[2:] if dep] for row in rows})

    def closure(self, name: str) -> set[str]:
        found, todo = set(), [name]
        while todo:
            each = todo.pop()
            if each not in found:
                found.add(each)
                todo += self.links.get(each, [])
        return found

    def module_of(self, file: str) -> str | None:
        """The module in whose directory a file is: the innermost one. Test programs have a module of their own name in the graph, and are not it."""
        fitting = [name for name, directory in self.directory.items() if not name.endswith("_test") and file.startswith(f"{directory}/")]
        return max(fitting, key=lambda name: len(self.directory[name]), default=None)


class Sources:
    """What a Python test needs: files by its imports, and commands of `tidemark`."""

    def __init__(self, root: Path = ROOT):
        self.root = root

    @cache
    def imports(self, file: Path) -> frozenset[Path]:
        """The file and all files of tests/ that it imports, directly or not."""
        found, todo = set(), [file]
        while todo:
            each = todo.pop()
            if each in found:
                continue
            found.add(each)
            for node in ast.walk(self._tree(each)):
                names = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.module:
                    names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
                for name in names:
                    path = self.root / "tests" / name.replace(".", "/")
                    todo += [each for each in (path.with_suffix(".py"), path / "__init__.py") if each.exists()]
        return frozenset(found)

    @cache
    def _tree(self, file: Path) -> ast.AST:
        return ast.parse(file.read_text())

    @cache
    def words(self, file: Path) -> frozenset[str]:
        """The strings of a file, and the words in them."""
        strings = [node.value for node in ast.walk(self._tree(file)) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        return frozenset([*strings, *(word for text in strings for word in text.split())])

    @cache
    def command_words(self, file: Path) -> frozenset[str]:
        """Strings that begin the arguments of a call or stand at the beginning of a list, as the name of a command does; words behind `tidemark`; and
        COMMAND where a function run_COMMAND or start_COMMAND is called."""
        found = set()
        for node in ast.walk(self._tree(file)):
            if isinstance(node, ast.Call):
                found |= {each.value for each in node.args[:1] if isinstance(each, ast.Constant) and isinstance(each.value, str)}
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))  # run_manager(…), self.start_manager(…)
                found |= {word.replace("_", "-") for word in re.findall(r"^(?:run|start)_(\w+)$", name)}
            elif isinstance(node, (ast.List, ast.Tuple)):
                found |= {each.value for each in node.elts[:2] if isinstance(each, ast.Constant) and isinstance(each.value, str)}
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set(re.findall(r"tidemark ([a-z][-a-z]+)", node.value))
        return frozenset(found)

    @cache
    def commands(self) -> dict[str, frozenset[str]]:
        """Each command of `tidemark`, and the files that it is compiled from: includes of its file in main/, and the sources of those headers."""
        programs = [file.read_text() for file in sorted((self.root / "main").glob("*main.cc"))]
        functions = dict(pair for text in programs for pair in re.findall(r'\{"([a-z-]+)",[^{}]*?main::(run_\w+)', text))
        bodies = {file: file.read_text() for file in (self.root / "main").glob("*.cc")}
        found = {}
        for command, function in functions.items():
            file = next((file for file, text in bodies.items() if re.search(rf"^int {function}\(", text, re.M)), None)
            if file is None:
                raise Failed(f"main/*main.cc names {function}, which no file of main/ defines")
            found[command] = self._compiled(str(file.relative_to(self.root)))
        return found

    def _compiled(self, file: str) -> frozenset[str]:
        found, todo = set(), [file]
        while todo:
            each = todo.pop()
            if each not in found:
                found.add(each)
                todo += self._includes(each)
                todo += self._sources().get(each, [])
        return frozenset(found)

    @cache
    def _includes(self, file: str) -> list[str]:
        return [name for name in re.findall(r'^#include "([^"]+)"', (self.root / file).read_text(), re.M) if (self.root / name).exists()]

    @cache
    def _sources(self) -> dict[str, list[str]]:
        """Sources by their header: the one that they include first. All commands share main/process.h, which declares them: it has no sources here."""
        found: dict[str, list[str]] = {}
        for path in self.root.glob("*/**/*.cc"):
            file = str(path.relative_to(self.root))
            if re.match(r"build|tests/|bench/", file) or re.search(r"_(test|fuzz)\.cc$", file):
                continue
            first = next(iter(self._includes(file)), None)
            if first is not None and first != "main/process.h" and Path(first).parent == Path(file).parent:
                found.setdefault(first, []).append(file)
        return found


class Reach:
    """Which files of the product a test depends on."""

    def __init__(self, graph: Graph, sources: Sources, changed: list[str]):
        self.graph, self.sources = graph, sources
        self.changed = [file for file in changed if not file.startswith(REACHES_NOTHING)]
        self.everything = [file for file in self.changed if file.startswith(EVERYTHING)]
        self.product = [file for file in self.changed if not TESTS_OF_ITS_OWN.search(file) and not file.startswith("tests/")]
        self.data = {folder for file in self.changed if file.startswith("tests/") and (folder := self._folder_of_data(file))}
        tools = [file for file in self.changed if file.startswith("tests/")]
        self.modules = {module for file in [*self.product, *tools] if (module := graph.module_of(file))}
        self.other = [file for file in self.product if not graph.module_of(file)]  # deploy/ and the like

    def _folder_of_data(self, file: str) -> Path | None:
        """The Python package that a file of another kind belongs to: Go modules, Java sources, scripts. The tests that import it use the file."""
        if file.endswith(".py"):
            return None
        folders = [self.sources.root / folder for folder in Path(file).parents if str(folder) not in (".", "tests")]
        return next((folder for folder in folders if any(folder.glob("*.py"))), None)

    def program(self, name: str) -> bool:
        """Whether a C++ program is reached, by what it links or by its own test files."""
        own = {self.graph.module_of(file) for file in self.changed if TESTS_OF_ITS_OWN.search(file)}
        shared = {self.graph.module_of(file) for file in self.changed if "/testing/" in file}  # test programs of other modules include these
        directory = self.graph.directory.get(name, "\0")
        in_directory = any(file.startswith(f"{directory}/") for file in self.changed)
        return bool(self.everything) or bool(self.graph.closure(name) & (self.modules | shared)) or name.removesuffix("_test") in own or in_directory

    def file(self, file: Path) -> bool:
        """Whether a Python test is reached: by an import, by a program that it starts, or by a directory that it names."""
        imports = self.sources.imports(file)
        changed = {self.sources.root / file for file in self.changed}
        if self.everything or imports & changed or {each.parent for each in imports} & self.data:
            return True
        if any(other.split("/")[0] in parts for other in self.other for parts in map(self._parts, imports)):
            return True
        return self._starts(imports)

    def first(self, file: Path) -> bool:
        """Whether the file itself, without what it imports, is changed or starts a command that is compiled from a changed file."""
        if str(file.relative_to(self.sources.root)) in self.changed:
            return True
        commands = self.sources.commands()
        started = self.sources.command_words(file) & set(commands)
        return any(changed in commands[each] for each in started for changed in self.product)

    def _parts(self, file: Path) -> set[str]:
        return {part for word in self.sources.words(file) for part in word.split("/")}

    def _starts(self, imports: frozenset[Path]) -> bool:
        """Whether it starts a program that is reached: a tool by its modules, `tidemark` by the files of the commands."""
        words = set().union(*(self.sources.words(each) for each in imports))
        if any(self.graph.closure(tool) & self.modules for tool in self.graph.links if tool in words and "_" in tool):
            return True
        if not any("TIDEMARK_BINARY" in word or word.endswith("/dev") or word == "dev" for word in words):
            return False
        commands = self.sources.commands()
        started = set().union(*(self.sources.command_words(each) for each in imports)) & set(commands)
        if not started:
            return bool(self.graph.closure("tidemark") & self.modules)
        known = frozenset().union(*commands.values())
        stray = [file for file in self.product if file not in known]  # belongs to no command by its includes: reaches by its module
        modules = {module for file in stray if (module := self.graph.module_of(file))}
        if any(file in commands[each] for each in started for file in self.product):
            return True
        used = {module for each in started for file in commands[each] if not file.startswith("main/") and (module := self.graph.module_of(file))}
        return "tidemark" in modules or bool(used & modules)


def make(tests: list[Test], reached, base: str, changed: list[str], seed: str, time_s: int = TIME_S, first=lambda _: False) -> Plan:
    """`reached(test)` says whether the change can reach it. What does not fit is selected: tests for which `first(test)` holds before the others, and
    by `seed` among equals."""
    found = [test for test in tests if reached(test)]
    if sum(test.seconds for test in found) <= time_s:
        return Plan(found, [], base, changed)
    smoke = [test for test in found if test.is_smoke]
    rest = sorted((test for test in found if not test.is_smoke), key=lambda test: (not first(test), hashlib.sha256(f"{seed} {test.name}".encode()).digest()))
    chosen, left, used = list(smoke), [], sum(test.seconds for test in smoke)
    for test in rest:
        if used + test.seconds <= time_s:
            chosen.append(test)
            used += test.seconds
        else:
            left.append(test)
    order = {test.name: number for number, test in enumerate(tests)}
    return Plan(sorted(chosen, key=lambda test: order[test.name]), sorted(left, key=lambda test: order[test.name]), base, changed)


def graph() -> Graph:
    return Graph.read((BUILD / "link-graph.txt").read_text())
