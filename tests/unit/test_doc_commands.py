"""The program accepts the calls of `tidemark` in the docs."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from tidy import calls, reference
from tidy.source import Tree

ROOT = Path(__file__).resolve().parents[2]


def ask(words: list[str]) -> str:
    done = subprocess.run([os.environ["TIDEMARK_BINARY"], *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


class DocCommands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.help_of = calls.read_helps(ask)

    def wrong(self, page: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "x.md").write_text(page)
            return calls.all_wrong(Tree(Path(folder)), self.help_of)

    def test_the_program_accepts_the_calls_in_the_docs(self):
        tree = Tree(ROOT)
        self.assertGreater(len(list(calls.calls(tree))), 100)
        self.assertEqual([], calls.all_wrong(tree, self.help_of))

    def test_the_page_of_flags_is_what_the_program_says(self):
        self.assertEqual(reference.flags(ask), (ROOT / reference.FOLDER / "flags.md").read_text(), f"build/tidemark, then {reference.MAKE}")

    def test_invalid_calls_are_found(self):
        for line, words in {
            "tidemark of cluster": "no such command as `of`",
            "tidemark off": "wants one of node, pool, cluster",
            "tidemark off clusters --now": "not about `clusters`",
            "tidemark off cluster --nwo": "has no flag `--nwo`",
            "tidemark off pool night --drain": "`--drain` wants a value",
            "tidemark off cluster --now=perhaps": "`--now` takes no value",
            "tidemark report states -o yaml": "`-o` is one of text, json",
            "tidemark report states --output=yaml | less": "`--output` is one of text, json",
            "tidemark plan new.yaml": "takes no word beside its flags",
            "KUBECONFIG=x build/tidemark explain nodes web-1": "not about `nodes`",
            "tidemark local runs -- true": "not about `runs`",
            "tidemark local ps --al": "`tidemark local ps` has no flag `--al`",
            "tidemark local run --cpus=2 -- true --cpus=2": "`tidemark local run` has no flag `--cpus`",
            "kubectl exec deploy/x -- /tidemark explain node a --att 3m": "has no flag `--att`",
        }.items():
            with self.subTest(line):
                found = self.wrong(f"```sh elsewhere\n# first\n{line}\n```\n")
                self.assertEqual(1, len(found), found)
                self.assertIn("x.md:3", found[0])
                self.assertIn(words, found[0])
        self.assertIn("x.md:2", self.wrong("One line,\nand `tidemark undo settings` in the next.\n")[0])

    def test_valid_calls_are_not_reported(self):
        for page in (
            "`tidemark off|on|observe node|pool|cluster`", "`tidemark explain node NAME --at`", "`tidemark VERB --help`", "`tidemark on …`", "`tidemark`",
            "```sh elsewhere\ntidemark off cluster --now \\\n  --reason 'a | b' --yes  # --not-a-flag\nhelm install tidemark deploy/chart --set a=b\n```\n",
            "`tidemark local ps`", "`tidemark local run|stop --namespace=x`", "```sh elsewhere\ntidemark local run --qos=LS -- ./server --port 80 | tee x\n```\n",
            "```\ntidemark is text here, --and this\n```\n", "`kubectl -l app=tidemark get pods`", "`tidemark manager --metrics-bind-address :0`",
        ):
            with self.subTest(page):
                self.assertEqual([], self.wrong(page))


if __name__ == "__main__":
    unittest.main()
