"""Hadoop's jars, as the pom.xml of tests/support/yarn names them: taken once for this machine and each version of that file, and kept in the cache
folder. Maven takes them, from where its own settings say."""

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from driver import processes
from driver.console import Failed, step
from driver.paths import ROOT, cache_folder

POM = ROOT / "tests" / "support" / "yarn" / "pom.xml"
DOWNLOAD_S = 900


def version(text: str) -> str:
    match = re.search(r"<hadoop\.version>([^<]+)</hadoop\.version>", text)
    if not match:
        raise Failed(f"wanted <hadoop.version>…</hadoop.version> in {POM.relative_to(ROOT)}, found none")
    return match[1]


def folder() -> Path:
    """Where they lie, or are going to. Another set of jars is another folder."""
    text = POM.read_text()
    return cache_folder() / f"hadoop-{version(text)}-{hashlib.sha256(text.encode()).hexdigest()[:12]}" / "jars"


def there() -> bool:
    return folder().is_dir()


def provide() -> Path:
    """The folder with all of them, fetched where it is not there. Failed with the remedy when that is impossible."""
    wanted = folder()
    if wanted.is_dir():
        return wanted
    wanted.parent.mkdir(parents=True, exist_ok=True)
    with open(wanted.parent / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits instead of fetching the same thing
        if not wanted.is_dir():
            with step(f"taking Hadoop {version(POM.read_text())} from Maven, once for this machine"):
                _fetch(wanted)
    return wanted


def _fetch(wanted: Path) -> None:
    """It appears by rename, so a half of it is never found."""
    with tempfile.TemporaryDirectory(dir=wanted.parent, prefix=".fetching-") as scratch:
        shutil.copy(POM, scratch)  # Maven may write beside it
        jars, log = Path(scratch) / "jars", wanted.parent / "maven.log"
        command = ["mvn", "--batch-mode", "--no-transfer-progress", "dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
        try:
            done = processes.run_logged(command, log, cwd=scratch, timeout_s=DOWNLOAD_S)
        except OSError as error:
            raise Failed(f"Maven cannot be started: {error}")
        if done.code != 0 or not any(jars.glob("hadoop-yarn-server-resourcemanager-*.jar")):
            late = f" within {DOWNLOAD_S} s" if done.timed_out else ""
            raise Failed(f"Maven did not copy Hadoop's jars{late}: is a repository reachable by its settings (settings.xml)?\n{log.read_text(errors='replace')[-4000:]}")
        os.rename(jars, wanted)
        log.unlink()
