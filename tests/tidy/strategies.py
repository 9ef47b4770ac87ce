"""What was tried of each strategy, and where, as the guide tells it: a row for each that the code has, and tests that are there."""

import re

from tidy.source import Tree, is_test

CODE = "model/node_strategy.cc"
PAGE = "docs/guide/protection.md"
HEADING = "## What was tried on which kernel"
_NAME = re.compile(r'case Strategy::k\w+:\s*return "(\w+)";')
_SUITE = re.compile(r"\bTEST(?:_[FP])?\(\s*(\w+)\s*,")
_WORD = re.compile(r"`([^`]+)`")
OF_ALL = "all"  # of whatever is in force


def strategies_tried(tree: Tree) -> list[str]:
    names = set(_NAME.findall(tree.text(CODE))) if CODE in tree.files else set()
    if not names:
        return [f"{CODE}:1: tells no names of strategies: tests/tidy/strategies.py reads them there"]
    page = tree.text(PAGE) if PAGE in tree.files else ""
    begin = page.find(HEADING)
    if begin < 0:
        return [f"{PAGE}:1: has no \"{HEADING}\": a row for each strategy, with where it was tried"]
    found, told, first = [], set(), page.count("\n", 0, begin) + 1
    suites = {suite for file in tree.cxx if is_test(file) for suite in _SUITE.findall(tree.code(file))}
    for number, line in enumerate(page[begin:].splitlines()[1:], start=first + 1):
        if line.startswith("## "):
            break
        if not line.startswith("| "):
            continue
        strategy, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        if strategy == "strategy":
            continue
        place = f"{PAGE}:{number}"
        told.add(strategy.strip("`"))
        if strategy != OF_ALL and strategy.strip("`") not in names:
            found.append(f"{place}: {strategy} is no strategy of {CODE}")
        for cell in cells:
            if not cell or cell == "no":
                found.append(f"{place}: a cell that says nothing, or \"no\" without why")
            found += [f"{place}: there is no test `{word}`" for word in _WORD.findall(cell) if not _is_there(word, tree, suites)]
    return found + [f"{PAGE}:{first}: has no row for {name}: where was it tried, and if nowhere, why?" for name in sorted(names - told)]


def _is_there(word: str, tree: Tree, suites: set[str]) -> bool:
    """A file or folder of tests, a program of unit tests, a suite of one. Other words are files of the kernel."""
    if word.startswith("tests/"):
        return any(file == word or file.startswith(word + "/") for file in tree.files)
    if word.endswith("_test"):
        return any(is_test(file) and file.startswith(word.removesuffix("_test") + "/") for file in tree.cxx)
    return word in suites if re.fullmatch(r"[A-Z]\w+", word) else True
