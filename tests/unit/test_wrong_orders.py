"""Wrong calls of `off`, `on`, `observe`, `undo`, `pause` and `resume`: they do nothing, exit with code 2 and name the error.

There is no cluster: an accepted call fails with 1. The machine is a temporary directory: an accepted call with --local must not switch off the
machine that the test runs on.
"""

import os
import subprocess
import tempfile
import unittest

PATIENCE_S = 60
WHY = "--reason=a test"
ONE_PLACE = "expected node, pool or cluster, found"
ASKED_FIRST = "without a terminal, an order for a pool or the whole cluster needs --yes"

# Arguments of `tidemark` and the expected error. EVERY_ORDER applies to `off`, `on` and `observe`.
EVERY_ORDER = {
    ("node", "n"): "--reason is required",
    ("node", "n", "--reason="): "--reason is required",
    ("node", "n", "--reason= "): "--reason: expected some text",
    ("node", "n", f"--reason={'x' * 513}"): "--reason: expected some text, at most 512 bytes",
    ("node", "n", f"--by={'x' * 10000}", WHY): "--by: at most ",
    (WHY,): "expected node NAME..., pool NAME or cluster",
    ("node", WHY): "node name is missing",
    ("pool", WHY): "pool name is missing",
    ("pool", "a", "b", "--yes", WHY): "expected one pool",
    ("cluster", "a", "--yes", WHY): "cluster takes no name",
    ("nodes", "n", WHY): f'{ONE_PLACE} "nodes"',
    ("pool", "a", WHY): ASKED_FIRST,
    ("cluster", WHY): ASKED_FIRST,
    ("node", "n", "--for=-1h", WHY): '--for: "-1h" is not in 0s..',
    ("node", "n", "--wait=soon", WHY): '--wait: "soon" is not a duration',
    ("node", "n", "--waitt=1m", WHY): "unknown flag --waitt; did you mean --wait?",
    ("node", "n", "--dryrun", WHY): "unknown flag --dryrun; did you mean --dry-run?",
}
WITH_PARTS = {
    ("node", "n", "--only=nonsense", WHY): '--only "nonsense" is not k8s, yarn or class=NAME',
    ("node", "n", "--only=k8s,nonsense", WHY): '--only "nonsense" is not k8s, yarn or class=NAME',
    ("node", "n", "--only=class=", WHY): '--only "class=" ',
    ("--local", "node", "n", WHY): '--local is only for this machine; it goes without "node"',
    ("--local", "--only=k8s", WHY): "--local covers all offline work of this machine; it goes without --only",
    ("--local", "--for=1h", WHY): "--local lasts until `tidemark on --local`; it goes without --for",
    ("--local",): "--reason is required",
}
NOT_BOTH = "--now and --drain exclude each other"
OF_ONE = {
    ("off", "node", "n", "--now", "--drain=1h", WHY): NOT_BOTH,
    ("off", "cluster", "--drain=15m", "--now", "--yes", WHY): NOT_BOTH,
    ("off", "--local", "--now", "--drain=1h", WHY): NOT_BOTH,
    ("off", "node", "n", "--drain=-1m", WHY): '--drain: "-1m" is not in 0s..',
    ("off", "node", "n", "--nothing-in-force", "--wait=1m", WHY): "--nothing-in-force is only for the whole cluster",
    ("off", "cluster", "--nothing-in-force", "--only=k8s", "--wait=1m", "--yes", WHY): "--nothing-in-force covers all offline work; it goes without --only",
    ("off", "cluster", "--nothing-in-force", "--yes", WHY): "--nothing-in-force needs --wait",
    ("off", "node", "n", "--evict", "--budget=x"): '--budget: expected a limit such as 60/min, found "x"',
    ("off", "node", "n", "--evict", "--budget=0/min", WHY): '--budget: expected a limit such as 60/min, found "0/min"',
    ("off", "node", "n", "--evict", "--budget=1/min", "--at-once", WHY): "--budget and --at-once exclude each other",
    ("off", "node", "n", "--budget=1/min", WHY): "--budget goes only with --evict",
    ("on", "node", "n", "--now", WHY): "unknown flag --now",
    ("on", "node", "n", "--drain=1h", WHY): "unknown flag --drain",
    ("observe", "node", "n", "--only=k8s", WHY): "unknown flag --only",
    ("observe", "--local", WHY): "unknown flag --local",
    ("undo", "config", "7"): 'unexpected argument "7"',
    ("undo", "config", "--to=-1"): '--to: "-1" is not in 0..',
    ("undo", "config", "--too=1"): "unknown flag --too; did you mean --to?",
    ("pause", "pool", "night"): 'unexpected argument "night"',
    ("pause", "config", "--for=-1h"): '--for: "-1h" is not in 0s..',
    ("pause", "config", "--now"): "unknown flag --now",
    ("resume", "pool"): "pool name is missing; use resume pool NAME",
    ("resume", "pool", "a", "b"): 'unexpected argument "b"',
    ("resume", "config", "night"): "config takes no name",
    ("resume", "night"): 'cannot resume "night"; expected config, pool',
    ("resume", "pool", "night", "--now"): "--now is only for new settings; resume pool NAME goes without it",
    **{(verb,): "1 more argument wanted" for verb in ("undo", "pause", "resume")},
    **{(verb, "confg"): f'cannot {verb} "confg"; expected config' for verb in ("undo", "pause", "resume")},
    **{(verb, "config", "--resaon=x"): "unknown flag --resaon; did you mean --reason?" for verb in ("undo", "pause", "resume")},
}
WRONG = {
    **{(verb, *words): reported for verb in ("off", "on", "observe") for words, reported in EVERY_ORDER.items()},
    **{(verb, *words): reported for verb in ("off", "on") for words, reported in WITH_PARTS.items()},
    **OF_ONE,
}
# The same flags in valid combinations.
GOOD = (
    ("off", "node", "n", "--now", WHY),
    ("off", "node", "n", "--drain=1h", WHY),
    ("off", "node", "n", "--now=false", "--drain=1h", WHY),
    ("resume", "config", "--now", "--yes"),
    ("resume", "pool", "night"),
)


class WrongOrders(unittest.TestCase):
    def call(self, *words: str, **variables: str) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory(prefix="tidemark-orders-") as folder:
            machine = {f"TIDEMARK_{name}": f"{folder}/{name}" for name in ("CGROUP_ROOT", "PROC_ROOT", "RUN_DIR", "LATCH_FILE")}
            environment = {"PATH": os.environ["PATH"], "HOME": folder, "KUBECONFIG": f"{folder}/no-cluster", **machine, **variables}
            done = subprocess.run(
                [os.environ["TIDEMARK_BINARY"], *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S, env=environment, cwd=folder
            )
            self.assertEqual([], os.listdir(folder), done.stdout)
            return done

    def test_wrong_call_exits_with_2_and_names_the_error(self):
        for words, reported in WRONG.items():
            with self.subTest(words):
                done = self.call(*words)
                self.assertEqual((2, ""), (done.returncode, done.stdout), done.stderr)
                self.assertIn(reported, done.stderr)
                self.assertIn(f"\nusage: tidemark {words[0]} ", done.stderr)

    def good(self, *words: str, **variables: str) -> None:
        done = self.call(*words, **variables)
        self.assertEqual((1, ""), (done.returncode, done.stdout), done.stderr)
        self.assertIn("/no-cluster", done.stderr)

    def test_valid_combinations_are_accepted(self):
        for words in GOOD:
            with self.subTest(words):
                self.good(*words)

    def test_now_outranks_drain_time_of_the_environment(self):
        self.good("off", "node", "n", "--now", WHY, TIDEMARK_DRAIN="1h")


if __name__ == "__main__":
    unittest.main()
