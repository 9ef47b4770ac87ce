"""The tree as the checks see it: which files there are, their text, their includes. Reads each file, and strips it, once."""

import os
import re
import subprocess
from functools import cached_property
from pathlib import Path

CXX = (".h", ".cc")
_SKIPPED = re.compile(r"^(build(-[\w.-]+)?|dist|\.git|\.cache)(/|$)")
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
# Strings first: a // inside a string is no comment. Raw strings before plain ones.
_NOISE = re.compile(
    r'R"(?P<d>[^()\s\\]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.S
)


class Tree:
    def __init__(self, root: Path):
        self.root = Path(root)
        self._text: dict[str, str] = {}
        self._code: dict[str, str] = {}

    @cached_property
    def files(self) -> list[str]:
        """Paths relative to the root: what git tracks or would track, or everything when there is no git."""
        if (self.root / ".git").exists():
            listed = subprocess.run(
                ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                cwd=self.root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
            ).stdout.split("\0")
            return sorted(f for f in set(listed) if f and not _SKIPPED.match(f) and (self.root / f).is_file())
        found = []
        for folder, folders, names in os.walk(self.root):
            relative = os.path.relpath(folder, self.root)
            folders[:] = [f for f in folders if not _SKIPPED.match(os.path.normpath(os.path.join(relative, f))) and f != "__pycache__"]
            found += [os.path.normpath(os.path.join(relative, name)) for name in names]
        return sorted(found)

    @cached_property
    def cxx(self) -> list[str]:
        return [f for f in self.files if f.endswith(CXX)]

    @cached_property
    def headers(self) -> list[str]:
        return [f for f in self.cxx if f.endswith(".h")]

    def text(self, file: str) -> str:
        if file not in self._text:
            self._text[file] = (self.root / file).read_text(encoding="utf-8", errors="replace")
        return self._text[file]

    def code(self, file: str) -> str:
        """The text with comments gone and strings emptied, line numbers kept. Include lines keep their names."""
        def blank(match: re.Match) -> str:
            found = match.group(0)
            line_start = match.string.rfind("\n", 0, match.start()) + 1
            if found.startswith('"') and match.string[line_start : match.start()].lstrip().startswith("#"):
                return found
            return ('""' if found[0] in '"R' else "' '" if found[0] == "'" else " ") + "\n" * found.count("\n")

        if file not in self._code:
            self._code[file] = _NOISE.sub(blank, self.text(file))
        return self._code[file]

    def includes(self, file: str) -> list[tuple[int, str]]:
        """(line, path relative to the root) of each #include "…" that names a file of ours; unknown ones as written."""
        text = self.text(file)
        found = []
        for match in _INCLUDE.finditer(text):
            written = match.group(1)
            beside = os.path.normpath(os.path.join(os.path.dirname(file), written))
            target = written if (self.root / written).is_file() else beside if (self.root / beside).is_file() else written
            found.append((text.count("\n", 0, match.start(1)) + 1, target))
        return found


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def top(file: str) -> str:
    return file.split("/", 1)[0]


def stem(file: str) -> str:
    """base/json.h, base/json.cc, base/json_test.cc, base/json_fuzz.cc and base/json_bench.cc are one: base/json."""
    return re.sub(r"(_test|_fuzz|_bench)?\.(h|cc)$", "", file)


def is_test(file: str) -> bool:
    return bool(re.search(r"(_test|_fuzz|_bench)\.cc$", file)) or "/testing/" in file
