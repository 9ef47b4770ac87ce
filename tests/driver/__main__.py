"""The verbs of ./dev: one table, --help for each, the nearest one named when there is no such verb."""

import difflib
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from typing import Callable

from driver import processes
from driver.console import Failed, WrongUse


@dataclass(frozen=True)
class Verb:
    usage: str
    summary: str
    help: str
    run: Callable[[list[str]], int]


def _setup(arguments):
    from driver import packages

    _none(arguments)
    packages.setup()
    return 0


def _build(arguments):
    from driver import build, packages

    preset = arguments[0] if arguments else "dev"
    if len(arguments) > 1 or preset not in PRESETS:
        raise WrongUse(f"wanted one of the presets {', '.join(PRESETS)}, found `{' '.join(arguments)}`")
    packages.setup()
    build.build(preset)
    return 0


def _test(arguments):
    from driver import suite

    return suite.test(arguments)


def _up(arguments):
    from demo import up

    return up.run(arguments)


def _bench(arguments):
    from bench import runner

    return runner.run(arguments)


def _tidy(arguments):
    from tidy import lint

    return lint.tidy(arguments)


def _fmt(arguments):
    from tidy import lint

    return lint.format(arguments)


def _gcc(arguments):
    from tidy import lint

    return lint.gcc(arguments)


def _fuzz(arguments):
    from driver import fuzz

    return fuzz.run(arguments)


def _release(arguments):
    from release import binaries

    asked, rest = _architecture(arguments)
    _none(rest)
    return binaries.run(asked)


def _image(arguments):
    from release import image, node_manager_image

    asked, names = _architecture(arguments)
    of_node_manager = names[:1] == [node_manager_image.WORD]
    names = names[1:] if of_node_manager else names
    if len(names) > 1 or any(not re.fullmatch(r"[a-z0-9][-a-z0-9._/:]*:[-A-Za-z0-9._]+", word) for word in names):
        raise WrongUse(f"takes one name with a tag, as registry.example/tidemark:0.1.0, found `{' '.join(names)}`")
    if not of_node_manager:
        return image.run(names, asked)
    if asked is not None:
        raise WrongUse(f"{node_manager_image.WORD} is made for this machine's architecture, and takes no --arch")
    return node_manager_image.run(names)


def _architecture(arguments: list[str]) -> tuple[str | None, list[str]]:
    """What `--arch NAME` or `--arch=NAME` says, and the other arguments."""
    asked, rest, left = None, [], iter(arguments)
    for word in left:
        name, equals, value = word.partition("=")
        if name != "--arch":
            rest.append(word)
        elif asked is not None:
            raise WrongUse("takes one --arch; `all` is every architecture")
        else:
            asked = value if equals else next(left, "")
    return asked, rest


def _cluster(arguments):
    from driver import cluster

    return cluster.verb(arguments)


def _none(arguments):
    if arguments:
        raise WrongUse(f"takes no arguments, found `{' '.join(arguments)}`")


PRESETS = ["dev", "release", "asan", "tsan", "fuzz"]  # release-arm64 takes a sysroot: ./dev release --arch arm64

VERBS = {
    "setup": Verb("setup", "install what is missing, by Debian package name",
                  "Checks with dpkg-query and installs only what is missing; without root it prints the line to run and exits 1.\n"
                  "Nothing is missing: a fraction of a second. build, test, up and the others call it by themselves. What only one group\n"
                  "of tests wants (containerd, runc and busybox-static: node; qemu-system-x86: vm; Java and Maven: yarn; chromium: browser) is installed when that\n"
                  "group begins.", _setup),
    "build": Verb("build [PRESET]", "build everything; leaves build/tidemark",
                  f"PRESET: {', '.join(PRESETS)}; dev when not given. The folder is build/ for dev and build-PRESET/ for the others.", _build),
    "test": Verb("test [GROUP…|real|affected] [--only=NAME]", "run the unit tests, or other groups",
                 "Without a group: unit. No Go, no Java, no virtual machine; without root, tests that need root are skipped by name.\n\n"
                 "{groups}\n"
                 "  real      contract, node, vm, cluster, yarn, browser, asan and tsan\n"
                 "  affected  of these, the tests whose code was changed since --base REV (default: the newest commit older than 12 hours);\n"
                 "            --plan only prints which. If they do not fit into the time, a selection by the hash of the commit runs.\n\n"
                 "--only=NAME runs the tests of one group that have NAME in their names: ./dev test cluster --only=faults\n\n"
                 "Ends with the line `N passed, N failed, N skipped`. Logs: build/test-logs/. A test that was planned and did not run fails the run.\n"
                 "With CI set, so does a skip that tests/expected-skips.txt does not name, and a failed test of a real part gets a second try\n"
                 "(`UNSTEADY n`). TIDEMARK_TEST_MINUTES=N: no test starts later than N minutes after the begin.", _test),
    "up": Verb("up [--once] [--seconds N] [--yarn] [--stop]", "co-location on this machine: a web server, offline work, a table; stays up",
               "Builds, and puts a web server under load: alone, with unprotected offline work beside it, and with the same as tasks of\n"
               "`tidemark up`. Prints how long requests took and what the machine did, draws it (build/up/colocation.svg), and stays up\n"
               "for `tidemark local top` and kubectl until Ctrl-C. About two and a half minutes after the build. Wants root, for groups.\n\n"
               "  --once             end after the table\n"
               "  --seconds N        how long each of the three is measured: 2 to 3600, 15 unless told; from 15 on by turns, in three rounds, of which the\n"
               "                     table has the medians\n"
               "  --yarn             after the table also YARN: a ResourceManager and a NodeManager (Java and Hadoop's jars are fetched once), what they\n"
               "                     are given of the idle part and why, a job in it, and how `tidemark off` takes it away; a minute more\n"
               "  --stop             end the one that runs, and take away what one that was killed has left\n"
               "  --listen ADDR:PORT address of the API server; port 0 picks one (127.0.0.1:0)\n"
               "  --data-dir DIR     a folder for it, new or empty; taken away at the end (build/up)\n"
               "  --samples          instead: the sample nodes of deploy/samples/, what each may sell and why, without this machine", _up),
    "bench": Verb("bench [SUITE…] [--dry-run]", "measure, and append the figures to bench/ledger.jsonl",
                  "Runs the programs registered under bench/ (all suites when none is named). --dry-run prints the figures and\n"
                  "writes nothing. `bench tables` rewrites docs/figures.md and bench/all_figures.md from the ledger.", _bench),
    "tidy": Verb("tidy [--all|FILE…]", "layer table, bans, dead files, clang-tidy",
                 "The checks of tests/tidy, then clang-tidy-19 and clang-include-cleaner-19 over the given files, or over the files that changed\n"
                 "since the upstream branch (without one: since the newest commit older than 12 hours). --all: over all files. A file that was found clean is not looked at again until\n"
                 "it, a header or the configuration changes.", _tidy),
    "gcc": Verb("gcc [FILE…]", "what GCC 12 thinks of the sources",
                "A second opinion now and then: each source that ships, or each FILE, is parsed and checked by g++-12. No code is made\n"
                "(it miscompiles some temporaries in coroutines: docs/decisions/0003). About a quarter of an hour on two cores.", _gcc),
    "fmt": Verb("fmt [--check] [FILE…]", "clang-format, in place", "--check changes nothing and exits 1 when a file would change.", _fmt),
    "fuzz": Verb("fuzz [NAME…] [--seconds N]", "run the fuzzers, each with its corpus folder",
                 "All fuzzers when none is named; N seconds each (60). The corpus grows in .cache/fuzz/NAME/, seeded from the\n"
                 "folder corpus/NAME beside the fuzzer; a crash is kept in .cache/fuzz/NAME.crashes/.", _fuzz),
    "release": Verb("release [--arch amd64|arm64|all]", "static stripped binaries, checksums and SBOMs in dist/",
                    "Leaves dist/tidemark-VERSION-linux-ARCH, SHA256SUMS and an SPDX SBOM; of this machine's architecture where none is named. arm64\n"
                    "is built on amd64 too: against Debian's libraries of arm64, which are unpacked into the cache and installed nowhere, and\n"
                    "started in qemu-user-static, which is installed where it is missing.", _release),
    "image": Verb("image [node-manager] [--arch amd64|arm64|all] [NAME:TAG]", "an image of what release left, in dist/, without a builder",
                  "A docker-archive of the static binary and the time zones, for `docker load`, `podman load`, `ctr images import`.\n"
                  "all: one OCI archive with the images of both, for registries and containerd. NAME:TAG is what it is called there;\n"
                  "tidemark:VERSION when not given, as the chart asks for.\n"
                  "node-manager: the image of YARN's NodeManager instead, by deploy/node-manager/Dockerfile: Debian's packages by apt, and Hadoop of the\n"
                  "distribution that lies there unpacked, or of Maven's jars (docs/guide/yarn.md).", _image),
    "cluster": Verb("cluster [COMMAND]", "a real etcd and kube-apiserver to try things on",
                    "start | stop | status | kubeconfig, and of one program (etcd or apiserver):\n"
                  "kill NAME | start NAME | restart NAME | pause NAME | resume NAME.\n"
                    "One standing cluster in build/cluster/. The tests start one of their own.", _cluster),
}


def overview() -> str:
    rows = "\n".join(f"  ./dev {verb.usage.split()[0]:<9} {verb.summary}" for verb in VERBS.values())
    return f"usage: ./dev VERB …\n\n{rows}\n\n./dev VERB --help says more."


def help_text(name: str) -> str:
    verb = VERBS[name]
    text = verb.help
    if name == "test":
        from driver.suite import GROUPS

        text = text.replace("{groups}", "\n".join(f"  {group:<9} {what}" for group, what in GROUPS.items()))
    return f"usage: ./dev {verb.usage}\n{verb.summary}\n\n{textwrap.indent(text, '')}"


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return 0 if arguments else 2
    name, *rest = arguments
    if name not in VERBS:
        near = difflib.get_close_matches(name, VERBS, n=1, cutoff=0.0)
        print(f"dev: no verb `{name}`; the nearest is `{near[0]}`. ./dev --help lists all.", file=sys.stderr)
        return 2
    if "-h" in rest or "--help" in rest:
        print(help_text(name))
        return 0
    processes.install_signal_handlers()
    try:
        return VERBS[name].run(rest)
    except WrongUse as error:
        print(f"dev {name}: {error}\nusage: ./dev {VERBS[name].usage}", file=sys.stderr)
        return 2
    except Failed as error:
        print(f"dev {name}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"dev {name}: `{' '.join(map(str, error.cmd))}` failed:\n{error.stderr}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
