"""The checks. Each takes the tree and returns what is wrong, a line a finding: `FILE:LINE: what is wrong: what to do`."""

import re
from pathlib import Path

from tidy import docs, headers, layers, plain_words, reference, strategies
from tidy.source import Tree, is_test, line_of, stem, top


def module_of(file: str) -> str | None:
    """The row of the layer table that a file stands in: the longest that fits."""
    fitting = [module for module in [*layers.MAY_USE, *layers.UNBOUND] if file.startswith(module + "/")]
    return max(fitting, key=len) if fitting else None


def layer_table(tree: Tree) -> list[str]:
    found = []
    for file in tree.cxx:
        module = module_of(file)
        if module is None:
            found.append(f"{file}:1: C++ in a folder that the layer table does not know: add a row to tests/tidy/layers.py and ARCHITECTURE.md")
            continue
        if module in layers.UNBOUND:
            continue
        allowed = {module} | layers.MAY_USE[module]
        if is_test(file):
            allowed |= layers.TEST_MAY_ALSO_USE.get(module, set())
        for line, target in tree.includes(file):
            other = module_of(target)
            if other is None:
                found.append(f"{file}:{line}: \"{target}\" is no file of ours: write it from the root of the tree, or with <> when it is a library's")
            elif (other if module in layers.ROOMS or other not in layers.ROOMS else layers.POLICY) not in allowed:
                found.append(f"{file}:{line}: {module} may not include {other} (\"{target}\"): it may use {', '.join(sorted(layers.MAY_USE[module])) or 'nothing of ours'}")
            elif "/testing/" in target and not is_test(file):
                found.append(f"{file}:{line}: \"{target}\" is for tests only")
    return found


def component_cycles(tree: Tree) -> list[str]:
    """No header includes itself by a detour: such a file compiles only by luck of order."""
    graph = {file: [target for _, target in tree.includes(file) if target.endswith(".h")] for file in tree.headers}
    found, done = [], set()

    def visit(file: str, path: list[str]) -> None:
        if file in path:
            found.append(f"{file}:1: includes itself: {' → '.join([*path[path.index(file):], file])}")
            return
        if file in done:
            return
        for target in graph.get(file, []):
            visit(target, [*path, file])
        done.add(file)

    for file in graph:
        visit(file, [])
    return found


_BRACE = re.compile(r"[{}]")
_OPENS_NAMESPACE = re.compile(r"\bnamespace\s+([\w:]+)\s*$")
_OPENS_TYPE = re.compile(r"\b(?:struct|class|enum class|enum)\s+(\w+)(?:\s+final)?(?:\s*:(?!:)[^;{}]*)?\s*$")


def _types(code: str) -> list[tuple[int, str]]:
    """(position, full name) of each type that is defined in namespaces with names, and not within another type or a function."""
    found, scopes, begin = [], [], 0  # None: a scope whose names are nobody else's
    for brace in _BRACE.finditer(code):
        head = code[max(code.rfind(";", begin, brace.start()) + 1, begin) : brace.start()]
        begin = brace.end()
        if brace.group() == "}":
            if scopes:
                scopes.pop()
            continue
        namespace, type_ = _OPENS_NAMESPACE.search(head), _OPENS_TYPE.search(head)
        if type_ and None not in scopes:
            found.append((brace.start(), "::".join([*scopes, type_.group(1)])))
        scopes.append(namespace.group(1) if namespace else None)
    return found


def one_definition(tree: Tree) -> list[str]:
    """Two types of one full name compile, each in its file, and a program then has the functions of one of them for both: of a vector of
    the smaller ones it reads beyond the end. No compiler and no linker says so."""
    known, found = {}, []
    for file in tree.cxx:
        code = tree.code(file)
        for position, name in _types(code):
            if known.setdefault(name, file) != file:
                found.append(f"{file}:{line_of(code, position)}: {name} is another type in {known[name]}: one of them needs another name")
    return found


def pure_decisions(tree: Tree) -> list[str]:
    files = [f for f in tree.cxx if top(f) in layers.PURE_FOLDERS and not is_test(f)]
    return _patterns(tree, files, layers.PURE_BANS, "policy/ and model/ are pure")


def bans(tree: Tree) -> list[str]:
    found = []
    for pattern, (what, free) in layers.TREE_BANS.items():
        defines = layers.DEFINES.get(pattern, set())
        files = [f for f in tree.cxx if top(f) not in free and f not in defines and not ("*_test" in free and is_test(f))]
        source = tree.text if "TODO" in pattern else tree.code
        for file in files:
            text = source(file)
            for match in re.finditer(pattern, text):
                found.append(f"{file}:{line_of(text, match.start())}: `{match.group(0).strip()}`: {what}")
    return found


def header_includes(tree: Tree) -> list[str]:
    ours = [f for f in tree.headers if top(f) != "tests" and not is_test(f)]
    found = _patterns(tree, ours, {layers.HEADER_BANNED_INCLUDES: "a third party's header"}, "keep it in a .cc behind standard types")
    return found + _patterns(tree, ours, {layers.HEADER_HEAVY_INCLUDES: "a heavy standard header"}, "include it in the .cc")


def header_guards(tree: Tree) -> list[str]:
    return [f"{file}:1: no #pragma once" for file in tree.headers if "#pragma once" not in tree.text(file)]


def namespaces(tree: Tree) -> list[str]:
    """Folder = namespace, also a room of policy/. A sub-folder may open one of its own or stay in its module's."""
    found = []
    for file in tree.headers:
        module = module_of(file)
        if module is None or module in layers.UNBOUND:
            continue
        room = module in layers.ROOMS and "/testing/" not in file
        wanted = "tidemark::" + (module.replace("/", "::") if room else module.split("/")[0])
        if not re.search(rf"namespace {wanted}(::\w+)*\s*{{", tree.code(file)):
            found.append(f"{file}:1: declares nothing in namespace {wanted}: folder and namespace are the same word")
    return found


def dead_headers(tree: Tree) -> list[str]:
    """A header that only its own .cc and its own test include serves nobody."""
    users: dict[str, set[str]] = {header: set() for header in tree.headers}
    for file in tree.cxx:
        for _, target in tree.includes(file):
            if target in users and stem(file) != stem(target):
                users[target].add(file)
    return [f"{header}:1: no other file includes it: use it or delete it" for header, by in users.items() if not by]


def dead_sources(tree: Tree) -> list[str]:
    """A .cc that no list file reaches is not built; one that includes no header of its module declares nothing to anyone."""
    found = []
    for file in tree.cxx:
        if not file.endswith(".cc"):
            continue
        folders = [str(parent) for parent in Path(file).parents if str(parent) != "."]
        if not any((tree.root / folder / "CMakeLists.txt").exists() for folder in folders):
            found.append(f"{file}:1: no CMakeLists.txt above it: nothing builds it")
            continue
        module = module_of(file)
        if module in layers.UNBOUND or is_test(file) or re.search(r"\bint main\s*\(", tree.code(file)):
            continue
        if not any(module_of(target) == module for _, target in tree.includes(file)):
            found.append(f"{file}:1: includes no header of {module}/: nobody can call what it defines")
    return found


def folders(tree: Tree) -> list[str]:
    found, seen = [], set()
    known = {module.split("/")[0] for module in layers.MAY_USE} | layers.UNBOUND | layers.OTHER_FOLDERS
    for file in tree.files:
        for parent in Path(file).parents:
            folder = str(parent)
            if folder == "." or folder in seen:
                continue
            seen.add(folder)
            if parent.name in layers.FORBIDDEN_FOLDER_NAMES:
                found.append(f"{folder}/: a folder named {parent.name}: name it after what it holds")
            if "/" not in folder and folder not in known:
                found.append(f"{folder}/: the layer table does not know it: add a row to tests/tidy/layers.py and ARCHITECTURE.md")
    return found


def readmes(tree: Tree) -> list[str]:
    """Each module says what it is, which layer it is in and what it may use, and the last two are true."""
    found = []
    files = set(tree.files)
    modules = {module for module in map(module_of, tree.cxx) if module and module not in {"tests", "bench"}}
    for module in sorted(modules):
        readme = f"{module}/README.md"
        if readme not in files:
            found.append(f"{readme}: missing: what it is, its layer, what it may use")
            continue
        text = tree.text(readme)
        missing = [word for word in layers.README_WORDS if word not in text]
        if missing:
            found.append(f"{readme}:1: does not say {', '.join(missing)}")
            continue
        layer = re.search(r"\*\*Layer:\*\*\s*([\w+]+)", text)
        if not layer or layer[1] != layers.LAYER[module]:
            found.append(f"{readme}:1: says layer {layer[1] if layer else 'nothing'}, the table says {layers.LAYER[module]}")
        said = re.search(r"\*\*May use:\*\*([^.\n]*)", text)[1]
        named = {word.strip(" `/") for word in re.split(r"[,;]| and ", said)}
        allowed = layers.MAY_USE.get(module, set())
        extra = sorted(name for name in named if name in layers.MAY_USE and name not in allowed)
        if extra:
            found.append(f"{readme}:1: says it may use {', '.join(extra)}, the table says it may not")
    # The folders within a module: a page that a formatter has torn apart is no page.
    for readme in sorted(file for file in files if file.endswith("/README.md") and file.split("/")[0] in {name.split("/")[0] for name in modules}):
        text = tree.text(readme)
        if not text.startswith("# "):
            found.append(f"{readme}:1: does not begin with a heading")
        if readme.removesuffix("/README.md") not in modules and "**What:**" not in text:
            found.append(f"{readme}:1: does not say **What:**")
    return found


ARCHITECTURE = "ARCHITECTURE.md"
_ROW = re.compile(r"^\| `([\w/]+)/` \| (\S+) \| .* \| ([^|]+) \|$", re.M)


def architecture_table(tree: Tree) -> list[str]:
    """The code map that people read says what layers.py holds: each folder that is there, its layer, and what it may include."""
    if ARCHITECTURE not in tree.files:
        return [f"{ARCHITECTURE}: missing: the layer table"]
    text, found, told = tree.text(ARCHITECTURE), [], set()
    there = {module for module in map(module_of, tree.cxx) if module}
    folders = there | {folder for folder in layers.OTHER_FOLDERS if any(file.startswith(folder + "/") for file in tree.files)}
    for row in _ROW.finditer(text):
        module, layer, said = row[1], row[2], row[3].strip()
        place = f"{ARCHITECTURE}:{line_of(text, row.start())}"
        told.add(module)
        if module not in folders:
            found.append(f"{place}: {module}/ is not there, or is no folder of the layer table")
            continue
        if layer != layers.LAYER.get(module, "–"):
            found.append(f"{place}: says {module}/ is layer {layer}, tests/tidy/layers.py says {layers.LAYER.get(module, '–')}")
        if module in layers.UNBOUND:
            right = "anything"
        elif module not in layers.MAY_USE:
            right = "–"
        elif layers.MAY_USE[module] == layers.BELOW_ASSEMBLY:
            right = "anything below"
        else:
            right = ", ".join(sorted(layers.MAY_USE[module] & there)) or "nothing of ours"
            if module in layers.ROOMS and said == "model, base, the rooms above":
                said = right
        if ", ".join(sorted(said.split(", "))) != right:
            found.append(f"{place}: says {module}/ may include {said}, tests/tidy/layers.py says {right}")
    return found + [f"{ARCHITECTURE}: has no row for {module}/" for module in sorted(there - told)]


def file_length(tree: Tree) -> list[str]:
    kinds = (".h", ".cc", ".py", ".cmake", ".sh")
    files = [f for f in tree.files if f.endswith(kinds) and not f.endswith("_data.cc")]  # tables written by a generator
    counted = ((file, tree.text(file).count("\n")) for file in files)
    return [f"{file}:{lines}: {lines} lines, at most {layers.MAX_LINES}: one file, one thing" for file, lines in counted if lines > layers.MAX_LINES]


_TEXT_FILES = (".h", ".cc", ".py", ".md", ".cmake", ".txt", ".yaml", ".yml", ".json", ".sh", ".go", ".jsonl", "dev", "run")


def white_space(tree: Tree) -> list[str]:
    found = []
    for file in tree.files:
        if not file.endswith(_TEXT_FILES) or "/testdata/" in file or "/corpus/" in file or "/golden/" in file:
            continue
        text = tree.text(file)
        for match in re.finditer(r"[ \t\r]+$", text, re.M):
            found.append(f"{file}:{line_of(text, match.start())}: white space at the end of the line")
        if file.endswith((".h", ".cc", ".py")) and "\t" in text:
            found.append(f"{file}:{line_of(text, text.index(chr(9)))}: a tab")
        if text and not text.endswith("\n"):
            found.append(f"{file}: no newline at the end")
    return found


def clang_format(tree: Tree) -> list[str]:
    from tidy import lint

    return [f"{file}:1: not formatted: ./dev fmt" for file in lint.unformatted(tree.root, tree.cxx)]


def figures(tree: Tree) -> list[str]:
    from bench import figures as tables

    return tables.out_of_step(tree.root)


_FLAG = re.compile(r'\bflags_?\s*\.(?:text|boolean|integer|number|duration|choice|list)\(\s*"([a-z0-9-]+)"')
SHARED_FLAGS = "main/shared_flags.cc"


def shared_flags(tree: Tree) -> list[str]:
    """A flag that commands share means the same everywhere: it is declared in one place."""
    shared = set(_FLAG.findall(tree.text(SHARED_FLAGS))) if SHARED_FLAGS in tree.files else set()
    found = []
    for file in tree.cxx:
        if top(file) != "main" or file == SHARED_FLAGS:
            continue
        for match in _FLAG.finditer(tree.text(file)):
            if match[1] in shared:
                found.append(f"{file}:{line_of(tree.text(file), match.start())}: --{match[1]} is declared in {SHARED_FLAGS}: call what declares it")
    return found


CONTRACT = "docs/contract/"
_CITATION = re.compile(r"\b(copilot )?contract(?: |\n\s*(?://|#) )(\d+(?:\.\d+)?(?:(?:, | and | to )\d+(?:\.\d+)?)*)\b", re.I)
_SECTION = re.compile(r"^#{2,3} (\d+(?:\.\d+)?) ", re.M)


def contract_citations(tree: Tree) -> list[str]:
    """Every `contract N.M` names a section of docs/contract/koordinator.md, every `copilot contract N` one of yarn-copilot.md."""
    found = []
    pages = {page: set(_SECTION.findall(tree.text(page))) if page in tree.files else set() for page in (CONTRACT + "koordinator.md", CONTRACT + "yarn-copilot.md")}
    for file in tree.files:
        if not file.endswith((".cc", ".h", ".py", ".md", ".txt")):
            continue
        for match in _CITATION.finditer(tree.text(file)):
            page = CONTRACT + ("yarn-copilot.md" if match[1] else "koordinator.md")
            gone = [number for number in re.findall(r"\d+(?:\.\d+)?", match[2]) if number not in pages[page]]
            found += [f"{file}:{line_of(tree.text(file), match.start())}: {page} has no section {number}: cite one that it has" for number in gone]
    return found


CHECKS = {
    "layer_table": layer_table,
    "include_cycles": component_cycles,
    "one_definition": one_definition,
    "pure_decisions": pure_decisions,
    "bans": bans,
    "header_includes": header_includes,
    "header_guards": header_guards,
    "header_stands_alone": headers.stand_alone,
    "namespaces": namespaces,
    "dead_headers": dead_headers,
    "dead_sources": dead_sources,
    "folders": folders,
    "readmes": readmes,
    "architecture_table": architecture_table,
    "file_length": file_length,
    "white_space": white_space,
    "clang_format": clang_format,
    "documentation_commands": docs.commands_hold,
    "documentation_links": docs.links_hold,
    "figures_in_step": figures,
    "documentation_limits": docs.limits_hold,
    "reference_in_step": reference.stale,
    "strategies_tried": strategies.strategies_tried,
    "shared_flags": shared_flags,
    "contract_citations": contract_citations,
    "plain_words": plain_words.plain_words,
}


def run_all(root: Path) -> list[tuple[str, list[str]]]:
    tree = Tree(root)
    return [(name, check(tree)) for name, check in CHECKS.items()]


def _patterns(tree: Tree, files: list[str], patterns: dict[str, str], why: str) -> list[str]:
    found = []
    for file in files:
        text = tree.code(file)
        for pattern, what in patterns.items():
            for match in re.finditer(pattern, text):
                found.append(f"{file}:{line_of(text, match.start())}: `{match.group(0).strip()}` is {what} ({why})")
    return found
