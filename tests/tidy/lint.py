"""./dev fmt, ./dev tidy and ./dev gcc: clang-format over our C++, the checks of tests/tidy, clang-tidy over what changed, and the
opinion of a second compiler."""

import hashlib
import json
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from driver import build, packages, plan
from driver.console import Failed, WrongUse, say
from driver.paths import BUILD, ROOT

FORMATTER = "clang-format-19"
FILES_A_CALL = 40  # starting the formatter costs more than a file does
SECOND_COMPILER = "g++-12"
# Not -Wshadow: here it takes the members of a scoped enumeration for what they do not hide. Not -Wpedantic: products of amounts are
# made in __int128, which both compilers have on every machine that we build for.
SECOND_WARNINGS = ["-Wall", "-Wextra", "-Wnon-virtual-dtor", "-Wimplicit-fallthrough"]
NOT_SHIPPED = r"_(test|fuzz|bench)\.cc$|/testing/|^(tests|bench)/"


def unformatted(root: Path, files: list[str]) -> list[str]:
    """Files that clang-format would change."""
    chunks = [files[i : i + FILES_A_CALL] for i in range(0, len(files), FILES_A_CALL)]

    def check(chunk: list[str]) -> str:
        return subprocess.run(
            [FORMATTER, "--dry-run", "--Werror", *chunk], cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True
        ).stderr

    with ThreadPoolExecutor(build.JOBS) as pool:
        output = "\n".join(pool.map(check, chunks))
    named = set(re.findall(r"^(\S+?):\d+:\d+: error: code should be clang-formatted", output, re.M))
    if not named and "error:" in output:
        raise Failed(f"{FORMATTER} failed:\n{output[-2000:]}")
    return [file for file in files if file in named]


def _ours(arguments: list[str]) -> list[str]:
    from tidy.source import Tree

    tree = Tree(ROOT)
    if not arguments:
        return tree.cxx
    files = [os.path.relpath(argument, ROOT) for argument in arguments]
    for file in files:
        if file not in tree.cxx:
            raise WrongUse(f"`{file}` is no C++ file of this tree")
    return files


def format(arguments: list[str]) -> int:
    check = "--check" in arguments
    unknown = [a for a in arguments if a.startswith("-") and a != "--check"]
    if unknown:
        raise WrongUse(f"unknown flag `{unknown[0]}`")
    packages.setup()
    changed = unformatted(ROOT, _ours([a for a in arguments if a != "--check"]))
    for file in changed:
        print(file)
    if check:
        return 1 if changed else 0
    if changed:
        subprocess.run([FORMATTER, "-i", *changed], cwd=ROOT, stdin=subprocess.DEVNULL, check=True)
    return 0


def tidy(arguments: list[str]) -> int:
    from tidy import checks, plain_words

    every = arguments == ["--all"]
    packages.setup()
    upstream = subprocess.run(["git", "merge-base", "HEAD", "@{upstream}"], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    base = upstream.stdout.strip() or plan.base_of(None)
    files = [file for file in _ours([] if every else arguments) if file.endswith(".cc")]
    if not arguments:
        changed = set(plan.changed_files(base))
        files = [file for file in files if file in changed]
    found = 0
    for name, lines in [*checks.run_all(ROOT), ("commit_subjects", plain_words.odd_subjects(ROOT, base))]:
        for line in lines:
            print(f"{name}: {line}")
        found += len(lines)
    return 1 if found + _clang_tidy(files) else 0


def _clang_tidy(files: list[str]) -> int:
    """Findings of clang-tidy. A file is looked at again when it, a header of ours or the configuration changed."""
    from tidy.source import Tree

    tree, folder = Tree(ROOT), build.by_file()
    compiled = {os.path.relpath(entry["file"], ROOT) for entry in json.loads((folder / "compile_commands.json").read_text())}
    common = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for header in tree.headers:
        common.update(tree.text(header).encode())
    memory = BUILD / "clang-tidy.json"
    clean = set(json.loads(memory.read_text())) if memory.exists() else set()

    def key(file: str) -> str:
        digest = common.copy()
        digest.update(f"{file}\0{tree.text(file)}".encode())
        return digest.hexdigest()

    pending = [file for file in files if file in compiled and key(file) not in clean]
    say(f"clang-tidy and clang-include-cleaner: {len(pending)} files to look at, {len(files) - len(pending)} clean or not built here")

    def look(file: str) -> tuple[str, int, str]:
        done = subprocess.run(
            ["clang-tidy-19", "--quiet", "-p", folder, file], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        unused = _unused_includes(folder, file)
        return file, done.returncode or len(unused), done.stdout + "".join(f"{file}: unused include {each}\n" for each in unused)

    found = 0
    with ThreadPoolExecutor(build.JOBS) as pool:
        for file, code, output in pool.map(look, pending):
            if code == 0:
                clean.add(key(file))
            else:
                found += 1
                print(output, end="")
    memory.write_text(json.dumps(sorted(clean)))
    return found


def _unused_includes(folder: Path, file: str) -> list[str]:
    """What clang-include-cleaner would remove. What it would add is left alone: a header may rely on what another one includes."""
    done = subprocess.run(
        ["clang-include-cleaner-19", "-p", folder, "--print=changes", file], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    return re.findall(r"^- (\S+) @Line:\d+", done.stdout, re.M)


def gcc(arguments: list[str]) -> int:
    packages.setup()
    chosen = set(_ours(arguments))
    commands = {
        os.path.relpath(entry["file"], ROOT): entry["command"].split() for entry in json.loads((build.by_file() / "compile_commands.json").read_text())
    }
    files = [file for file in sorted(commands) if file in chosen and (arguments or not re.search(NOT_SHIPPED, file))]
    say(f"{SECOND_COMPILER}: {len(files)} files, parsed and checked, no code made")

    def look(file: str) -> str:
        kept = [word.replace("\\", "") for word in commands[file] if word.startswith(("-I", "-D", "-std="))]
        done = subprocess.run(
            [SECOND_COMPILER, "-fsyntax-only", *kept, *SECOND_WARNINGS, ROOT / file],
            cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        )
        return done.stderr

    found = 0
    with ThreadPoolExecutor(build.JOBS) as pool:
        for output in pool.map(look, files):
            if output:
                found += 1
                print(output, end="")
    say(f"{SECOND_COMPILER}: {found} of {len(files)} files with findings")
    return 1 if found else 0
