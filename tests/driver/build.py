"""Configures and builds a preset. A configured folder is left alone until the presets change: ninja calls CMake again when a list file changed."""

import os
import re
import time
from pathlib import Path

from driver import processes
from driver.console import Failed, say
from driver.paths import BUILD, ROOT, build_folder

JOBS = os.cpu_count() or 2
EVERYTHING = ["all", "unit-tests"]
STEP_CPU_S = 4.5  # on the slowest machine that was measured: twice of what docs/decisions/0010-build-time.md has


def environment() -> dict[str, str]:
    """Paths are hashed relative to the tree, so that two clones share one compiler cache."""
    return {
        **os.environ,
        "CCACHE_NOHASHDIR": "1",
        "CCACHE_BASEDIR": str(ROOT),
        "CCACHE_DEPEND": "1",  # what a file includes is the compiler's to say, once, and not the preprocessor's before it
        "CCACHE_PCH_EXTSUM": "1",  # see cmake/with_digest.py
        "CCACHE_SLOPPINESS": "pch_defines,time_macros",  # what ccache wants before it looks at a file that uses a precompiled header
        "NINJA_STATUS": "[%f/%t %es] ",
    }


def configure(preset: str, settings: dict | None = None) -> Path:
    """`settings` are CMake's. A folder that was made with others is made anew: CMake keeps what it found by them."""
    folder = build_folder(preset)
    settings = settings or {}
    log = folder / "configure.log"
    there = (folder / "build.ninja").exists()
    kept = there and has_settings((folder / "CMakeCache.txt").read_text() if settings else "", settings)
    if not kept or not log.exists() or log.stat().st_mtime < (ROOT / "CMakePresets.json").stat().st_mtime:
        say(f"configuring {preset} in {folder.name}/")
        words = [*(["--fresh"] if there and not kept else []), *(f"-D{name}={value}" for name, value in settings.items())]
        if processes.run_logged(["cmake", "--preset", "dev" if preset == "files" else preset, "-B", folder, *words], log, cwd=ROOT, env=environment()).code != 0:
            said = log.read_text(errors="replace")
            log.unlink()  # the next build asks again
            raise Failed(f"cmake --preset {preset} failed:\n{said}")
    return folder


def has_settings(cache: str, settings: dict) -> bool:
    """Whether CMakeCache.txt says so: lines `NAME:TYPE=VALUE`."""
    found = dict(re.findall(r"^([^#/:\n][^:\n]*):[A-Z]+=(.*)$", cache, re.M))
    return all(found.get(name) == str(value) for name, value in settings.items())


def build(preset: str, targets: list[str] | None = None, jobs: int = JOBS, settings: dict | None = None) -> float:
    """Builds `targets`, or programs and unit tests if None. Returns the seconds."""
    begin = time.monotonic()
    folder = configure(preset, settings)
    what = preset if targets is None else f"{preset}: {' '.join(targets)}"
    say(f"building {what}{estimate(folder, targets or EVERYTHING, jobs)} …")
    done = processes.run(["ninja", "-C", folder, f"-j{jobs}", *(targets or EVERYTHING)], cwd=ROOT, env=environment())
    if done.code != 0:
        raise Failed(f"the build of {what} failed, see above")
    if preset == "dev" and "all" in (targets or EVERYTHING) and (ROOT / "main" / "CMakeLists.txt").exists() and not (BUILD / "tidemark").exists():
        raise Failed("the build succeeded and left no build/tidemark")
    seconds = time.monotonic() - begin
    say(f"built {what}: {seconds:.1f} s")
    return seconds


def estimate(folder: Path, targets: list[str], jobs: int) -> str:
    """What a long build says before it begins."""
    commands = processes.capture(["ninja", "-C", folder, "-t", "commands", *targets], cwd=ROOT)
    steps = sum(not (folder / name).exists() for name in re.findall(r" -o (\S+\.o) -c ", commands))
    minutes = steps * STEP_CPU_S / jobs / 60
    return f": {steps} files to compile, at most {minutes:.0f} min with {jobs} processors, less with a warm compiler cache" if minutes >= 1 else ""


def by_file() -> Path:
    """A build directory in which each source is compiled by itself, without precompiled headers. clang-tidy and GCC read its compile commands;
    ./dev test long builds it, which shows includes that a source lacks."""
    return configure("files", {"TIDEMARK_UNITS": "OFF", "TIDEMARK_PRECOMPILE": "OFF"})


def list_anew(preset: str) -> None:
    """What `listed` reads is then of the list files as they are; nothing is compiled."""
    folder = configure(preset)
    if processes.run(["ninja", "-C", folder, "--quiet", "build.ninja"], cwd=ROOT, env=environment()).code != 0:
        raise Failed(f"CMake could not make {folder.name}/ anew, see above")


def listed(preset: str, what: str) -> list[tuple[str, Path]]:
    """Programs that CMake registered: lines `NAME PATH` of BUILD/NAME-OF-LIST.txt (cmake/TidemarkTests.cmake)."""
    file = build_folder(preset) / f"{what}.txt"
    if not file.exists():
        return []
    pairs = (line.split(" ", 1) for line in file.read_text().splitlines() if line)
    return [(name, Path(path)) for name, path in pairs]
