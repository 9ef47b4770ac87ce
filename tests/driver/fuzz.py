"""./dev fuzz: builds the fuzzers and runs each with its corpus. What a run learns stays in .cache/fuzz/NAME; inputs worth
keeping for everyone are committed to the folder corpus/NAME beside the fuzzer."""

import os

from driver import build, packages, processes
from driver.console import WrongUse, say, step
from driver.sanitizers import ENVIRONMENT
from driver.paths import ROOT

SECONDS = 60
INPUT_LIMIT_S = 10  # an input that takes longer is a finding
MEMORY_LIMIT_MIB = 2048


def run(arguments: list[str]) -> int:
    names, seconds = [], SECONDS
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word.startswith("--seconds"):
            value = word.split("=", 1)[1] if "=" in word else (rest.pop(0) if rest else "")
            if not value.isdigit() or int(value) < 1:
                raise WrongUse(f"--seconds wants a number above 0, found `{value}`")
            seconds = int(value)
        elif word.startswith("-"):
            raise WrongUse(f"unknown flag `{word}`")
        else:
            names.append(word)
    packages.setup()
    build.configure("fuzz")
    fuzzers = dict(build.listed("fuzz", "fuzzers"))
    for name in names:
        if name not in fuzzers:
            raise WrongUse(f"no fuzzer `{name}`: {', '.join(fuzzers) or 'none yet'}")
    chosen = names or sorted(fuzzers)
    if not chosen:
        say("no fuzzers yet")
        return 0
    build.build("fuzz", chosen)
    crashed = [name for name in chosen if not one(name, str(fuzzers[name]), seconds)]
    print(f"{len(chosen) - len(crashed)} clean, {len(crashed)} with findings{': ' + ' '.join(crashed) if crashed else ''}")
    return 1 if crashed else 0


def share(fuzzers: int, total_s: int, jobs: int) -> int:
    """Seconds of each, where `jobs` of them run at a time and all are to be through in `total_s`."""
    rounds = -(-fuzzers // max(1, jobs))
    return max(1, total_s // max(1, rounds))


def one(name: str, program: str, seconds: int) -> bool:
    """True when it found nothing."""
    corpus, crashes = ROOT / ".cache" / "fuzz" / name, ROOT / ".cache" / "fuzz" / f"{name}.crashes"
    corpus.mkdir(parents=True, exist_ok=True)
    crashes.mkdir(exist_ok=True)
    seeds = [p for p in ROOT.glob(f"*/**/corpus/{name}") if p.is_dir() and not p.relative_to(ROOT).parts[0].startswith("build")]
    with step(f"fuzz {name}, {seconds} s, {len(seeds)} seed folders"):
        done = processes.run(
            [
                program, f"-max_total_time={seconds}", f"-timeout={INPUT_LIMIT_S}", f"-rss_limit_mb={MEMORY_LIMIT_MIB}",
                f"-artifact_prefix={crashes}/", "-print_final_stats=1", corpus, *seeds,
            ],
            cwd=ROOT, env={**os.environ, **ENVIRONMENT}, timeout_s=seconds + 120,
        )
    if done.code != 0:
        say(f"fuzz {name}: a finding, kept in {crashes.relative_to(ROOT)}/; run `{program} FILE` to see it again")
    return done.code == 0
