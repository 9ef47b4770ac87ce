"""A server with the API of S3 (versitygw), built from the Go module that pins its version."""

from pathlib import Path

from driver import go_programs
from driver.go_programs import GoProgram
from driver.paths import ROOT, cache_folder

VERSION = "1.8.0"
PROGRAM = GoProgram("versitygw", "github.com/versity/versitygw/cmd/versitygw", VERSION, ROOT / "tests/support/s3", cache_folder() / f"versitygw-{VERSION}")


def provide() -> Path:
    """The program. Failed with the remedy if it cannot be built here."""
    return go_programs.provide([PROGRAM])[PROGRAM.name]
