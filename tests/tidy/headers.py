"""Each header stands alone: a file that includes only it compiles.

The build checks most headers: X.cc includes X.h first, and nothing of ours is precompiled. ./dev test long builds without precompiled headers of
the standard library too. The other headers are compiled here. The result is remembered by content in the cache folder, so that an unchanged
header costs a hash, also in a fresh clone."""

import hashlib
import json
import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from driver.paths import cache_folder
from tidy.source import Tree

COMPILER = "clang++-19"
FLAGS = ["-std=c++23", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-const-variable", "-Wno-unused-function"]
# What cmake/TidemarkModule.cmake defines for everyone.
FLAGS += ['-DTIDEMARK_VERSION="0"']
COMPILE_S = 120
REMEMBERED_MAX = 5000  # of several clones and their pasts; the oldest are forgotten


def stand_alone(tree: Tree) -> list[str]:
    memory = cache_folder() / "tidy-headers.json"
    good = dict.fromkeys(json.loads(memory.read_text()) if memory.exists() else [])
    compiler = subprocess.run([COMPILER, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    keys = {header: _key(tree, header, compiler) for header in tree.headers if not _opens_its_source(tree, header)}
    with ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        unknown = [header for header, key in keys.items() if key not in good]
        errors = dict(zip(unknown, pool.map(lambda header: _compile(tree, header), unknown)))
    passed = [keys[header] for header in unknown if not errors[header]]
    if passed:
        memory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=memory.parent, delete=False) as scratch:
            json.dump([*good, *passed][-REMEMBERED_MAX:], scratch)
        os.rename(scratch.name, memory)
    return [f"{header}:1: does not compile alone:\n{text}" for header, text in errors.items() if text]


def _opens_its_source(tree: Tree, header: str) -> bool:
    source = header.removesuffix(".h") + ".cc"
    if not (tree.root / source).is_file():
        return False
    first = re.search(r'^\s*#\s*include\s*(\S+)', tree.code(source), re.M)
    return first is not None and first[1] in (f'"{header}"', f'"{os.path.basename(header)}"')


def _key(tree: Tree, header: str, compiler: str) -> str:
    """Everything of ours that the compiler would read, how it is called, and which one it is."""
    seen, queue = set(), [header]
    while queue:
        file = queue.pop()
        if file not in seen and (tree.root / file).is_file():
            seen.add(file)
            queue += [target for _, target in tree.includes(file)]
    digest = hashlib.sha256(" ".join([compiler, *FLAGS, header]).encode())
    for file in sorted(seen):
        digest.update(f"\0{file}\0{tree.text(file)}".encode())
    return digest.hexdigest()


def _compile(tree: Tree, header: str) -> str:
    done = subprocess.run(
        [COMPILER, *FLAGS, "-I", str(tree.root), "-x", "c++", "-"],
        input=f'#include "{header}"\n', capture_output=True, text=True, timeout=COMPILE_S, cwd=tree.root,
    )
    return done.stderr if done.returncode != 0 else ""
