"""The archive of class data that YARN's programs share: python -m support.yarn.classes FILE makes it, with one run of YARN and a job.

A JVM that starts maps the archive instead of reading some 6,000 classes out of 177 jars. It uses the archive only if its class path begins with the same jars.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from support.yarn.settings import OPENED
from support.yarn.yarn import Yarn


def make(archive: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="tidemark-test-") as folder:
        with Yarn(java=[f"-XX:DumpLoadedClassList={folder}/%p.classes"]) as yarn:
            yarn.submit("true").wait_for("FINISHED")
        loaded = {line for file in Path(folder).glob("*.classes") for line in file.read_text().splitlines() if line[:1] not in ("#", "@")}
        names, made = Path(folder) / "all", archive.with_suffix(f".{os.getpid()}")
        names.write_text("\n".join(sorted(loaded)) + "\n")
        command = [yarn.java, "-Xshare:dump", f"-XX:SharedClassListFile={names}", f"-XX:SharedArchiveFile={made}", "-XX:+UseSerialGC", *OPENED, "-cp", f"{yarn.jars}/*"]
        subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
        made.rename(archive)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
