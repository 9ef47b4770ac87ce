"""The commands that the docs show are run. A ```sh block says how, behind the language:

  ```sh run            run by `./dev test unit` in a shell of its own at the root of the tree, with build/tidemark there and on the PATH,
                       and a HOME that is empty; what it leaves running is ended
  ```sh run page       the same, but all of these blocks of a page in one shell, one after the other, as a reader would type them; pods that they
                       start have groups of their own
  ```sh run page cluster   the same by `./dev test cluster`, with kubectl on the PATH, when its other tests are over
  ```sh run cluster    the same as `run` by `./dev test cluster`, with KUBECONFIG and kubectl of the real API server, the sample nodes of
                       deploy/samples and the settings that docs/guide/settings.md shows
  ```sh dev            calls of ./dev, which cannot be run by itself: verb and arguments are checked against what it knows
  ```sh elsewhere      for another machine (somebody's cluster): checked to parse; calls of tidemark in it as everywhere (calls.py)

A block with none of these words is refused.
"""

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tidy.source import Tree, line_of

_BLOCK = re.compile(r"^```(sh|bash|shell|console)\b([^\n]*)\n(.*?)^```\s*$", re.M | re.S)
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_PAGE_TAGS = {"unit": "run page", "cluster": "run page cluster"}
_TAGS = {"run", *_PAGE_TAGS.values(), "run cluster", "dev", "elsewhere"}


@dataclass(frozen=True)
class Block:
    file: str
    line: int
    tag: str
    text: str


def blocks(tree: Tree) -> list[Block]:
    found = []
    for file in tree.files:
        if file.endswith(".md"):
            text = tree.text(file)
            for match in _BLOCK.finditer(text):
                found.append(Block(file, line_of(text, match.start()), match[2].strip(), match[3]))
    return found


def runnable(root: Path, group: str) -> list[Block]:
    wanted = "run" if group == "unit" else f"run {group}"
    return [block for block in blocks(Tree(root)) if block.tag == wanted]


def pages(root: Path, group: str) -> list[Block]:
    """Each page that is run as a whole by this group, as one block of its commands, in which a failure says the line of the page."""
    tag = _PAGE_TAGS.get(group)
    found: dict[str, list[Block]] = {}
    for block in blocks(Tree(root)):
        if block.tag == tag:
            found.setdefault(block.file, []).append(block)
    told = "trap 'echo \"failed in the block at line $block\" >&2' ERR\n"
    return [Block(file, parts[0].line, tag, told + "\n".join(f"block={part.line}\n{part.text}" for part in parts)) for file, parts in found.items()]


def commands_hold(tree: Tree) -> list[str]:
    found = []
    for block in blocks(tree):
        place = f"{block.file}:{block.line}"
        if block.tag not in _TAGS:
            found.append(f"{place}: a block of commands tagged `{block.tag}`: wanted one of {', '.join(sorted(_TAGS))}")
            continue
        parsed = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True)
        if parsed.returncode != 0:
            found.append(f"{place}: does not parse: {parsed.stderr.strip()}")
        elif block.tag == "dev":
            found += [f"{place}: `{line}`: {wrong}" for line in block.text.splitlines() if (wrong := _wrong_dev_call(line))]
    return found


def _wrong_dev_call(line: str) -> str:
    from driver.__main__ import PRESETS, VERBS
    from driver.suite import GROUPS, SETS

    words = shlex.split(line, comments=True)
    if not words:
        return ""
    if words[0] != "./dev":
        return "only calls of ./dev belong in a block tagged `dev`"
    if words[1:] == ["--help"]:
        return ""
    if len(words) < 2 or words[1] not in VERBS:
        return f"no such verb, there are {', '.join(VERBS)}"
    known = {"test": {*GROUPS, *SETS, "affected"}, "build": set(PRESETS)}.get(words[1])
    usage = VERBS[words[1]].usage + VERBS[words[1]].help
    for word in words[2:]:
        if word.startswith("--"):
            if word.split("=")[0] not in usage and word != "--help":
                return f"no such flag `{word}`"
        elif known is not None and word not in known:
            return f"`{word}` is none of {', '.join(sorted(known))}"
    return ""


def links_hold(tree: Tree) -> list[str]:
    """A link inside the repository leads somewhere."""
    found = []
    for file in tree.files:
        if not file.endswith(".md"):
            continue
        text = tree.text(file)
        for match in _LINK.finditer(text):
            target = match[1].split("#", 1)[0]
            if not target or re.match(r"[a-z]+:", target):
                continue
            path = os.path.normpath(os.path.join(os.path.dirname(file), target))
            if not (tree.root / path).exists():
                found.append(f"{file}:{line_of(text, match.start())}: leads to {path}, which is not there")
    return found


MADE = "<!-- Made from the code"
MADE_PAGES = ("docs/figures.md", "bench/all_figures.md")
GUIDE = "docs/guide/"
CELL = 120
_WORDS, _LINE = 35_000, 140


def limits_hold(tree: Tree) -> list[str]:
    """Guides are short: all words together (without the pages that are made from the code). No page has long lines or table cells."""
    found, words = [], 0
    for file in tree.files:
        if not file.endswith(".md") or file in MADE_PAGES:
            continue
        text = tree.text(file)
        words += len(text.split()) if file.startswith(GUIDE) and MADE not in text else 0
        for number, line in enumerate(text.splitlines(), 1):
            if not line.startswith("|") and len(line) > _LINE:
                found.append(f"{file}:{number}: {len(line)} characters: at most {_LINE}")
            elif line.startswith("|") and (longest := max(len(cell.strip()) for cell in re.split(r"(?<!\\)\|", line))) > CELL:
                found.append(f"{file}:{number}: a cell of {longest} characters: at most {CELL}")
    return found + ([f"{GUIDE}: {words} words: at most {_WORDS}"] if words > _WORDS else [])
