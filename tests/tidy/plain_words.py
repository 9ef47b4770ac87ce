"""Words that a reader stumbles over, counted (docs/glossary.md). The counts may only fall: lower the limits when they do."""

import re
import subprocess
from pathlib import Path

from tidy.source import Tree, line_of

_WORDS = re.compile(
    r"\b((?<!`)nobody|somebody|whoever|everybody|anybody|he|his|him|is told|are told|was told|were told|(?<!there )is none)\b"
    r"|\bwho (is|are|was|has|had|holds|does|lies|runs|waits|asks|reads|writes|comes|goes|wants|gives|takes)\b", re.I)
_TEST_NAME = re.compile(r"^TEST(?:_F|_P)?\(\s*\w+,\s*(\w+)|^    def (test_\w+)", re.M)
_STRING = re.compile(r'R"(?P<d>[^()\s\\]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"', re.S)
_COMMENT = re.compile(r"(?:^|\s)(?://|#) [^\n]*|\"\"\".*?\"\"\"", re.S | re.M)
_FREE = ("tests/tidy/", "tests/golden/", "docs/glossary.md", "LICENSE")
_USERS = ("base/", "model/", "policy/", "net/", "linux/", "journal/", "kube/", "hadoop/", "kerberos/", "copilot/", "manager/", "agent/", "runtime/",
          "yarn_copilot/", "yarn_operator/", "embedded/", "cli/", "main/")
_OLD_NAMES = re.compile(r"\b(?:takes?|taken|gives?|given)[-_ ]back\b|(?:take|taken|give|given)_back|(?:Take|Taken|Give|Given)Back", re.I)  # now: reclaim, return
STRINGS_MAX = 0  # strings of the product, docs and names of tests together
COMMENTS_MAX = 0  # comments and messages of tests


def _split(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name)


def found(tree: Tree) -> tuple[list[str], list[str]]:
    """Places in what users read, and places in comments."""
    shown, comments = [], []
    for file in tree.files:
        if file.startswith(_FREE) or "/testdata/" in file or not file.endswith((".cc", ".h", ".py", ".md", ".yaml", ".txt")):
            continue
        text = tree.text(file)
        product = file.startswith(_USERS) and file.endswith((".cc", ".h")) and not file.endswith("_test.cc") and "/testing/" not in file
        if file.endswith((".md", ".txt")) or file.startswith("deploy/"):
            shown += _places(file, text, [(0, text)])
            continue
        if product:
            shown += _places(file, text, [(match.start(), match[0]) for match in _STRING.finditer(text)])
        shown += _places(file, text, [(match.start(), _split(match[1] or match[2])) for match in _TEST_NAME.finditer(text)])
        comments += _places(file, text, [(match.start(), match[0]) for match in _COMMENT.finditer(text)])
    return shown, comments


def _places(file: str, text: str, parts: list[tuple[int, str]]) -> list[str]:
    return [f"{file}:{line_of(text, begin + match.start())}: {match[0]}" for begin, part in parts for match in _WORDS.finditer(part)]


def plain_words(tree: Tree) -> list[str]:
    shown, comments = found(tree)
    print(f"plain words: {len(shown)} places in strings, docs and test names, {len(comments)} in comments")
    old = [
        f"{file}:{line_of(tree.text(file), match.start())}: {match[0]}: the word is reclaim or return (docs/glossary.md)"
        for file in tree.files
        if not file.startswith((*_FREE, "bench/ledger.jsonl")) and file.endswith((".cc", ".h", ".py", ".md", ".yaml", ".txt", ".ts", ".tsx", ".json"))
        for match in _OLD_NAMES.finditer(tree.text(file))
    ]
    return _above("strings, docs and test names", shown, STRINGS_MAX) + _above("comments", comments, COMMENTS_MAX) + old


def _above(where: str, places: list[str], limit: int) -> list[str]:
    if len(places) <= limit:
        return []
    return [f"{len(places)} odd words in {where}, at most {limit}: write a plain sentence (docs/glossary.md). PYTHONPATH=tests python3 -m tidy.plain_words lists them"]


def odd_subjects(root: Path, base: str) -> list[str]:
    """Subjects of commits since the base that are not `area: what` in 72 characters."""
    lines = subprocess.run(
        ["git", "-C", root, "log", "--no-merges", "--format=%h %s", f"{base}..HEAD"], stdin=subprocess.DEVNULL, capture_output=True, text=True
    ).stdout.splitlines()
    wrong = []
    for commit, subject in (line.split(" ", 1) for line in lines):
        if len(subject) > 72 or not re.match(r"[a-z0-9_/., -]+: \S", subject):
            wrong.append(f"commit {commit}: `{subject}`: a subject is `area: verb and object`, at most 72 characters")
    return wrong


if __name__ == "__main__":
    print(*[place for part in found(Tree(Path(__file__).resolve().parents[2])) for place in part], sep="\n")
