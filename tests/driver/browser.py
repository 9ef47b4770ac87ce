"""What the group `browser` needs: Debian's Chromium with a Chinese font, Node.js, and the packages of tests/browser/package-lock.json in the cache directory."""

import hashlib
import shutil
import tempfile
from pathlib import Path

from driver import packages, processes, python_packages
from driver.console import Failed, loud, step
from driver.paths import LOGS, ROOT, cache_folder

LOCK = ROOT / "tests" / "browser" / "package-lock.json"
FONT = Path("/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc")  # without a Chinese font each character is an empty box
INSTALL_S = 300


def provide() -> tuple[dict[str, str], str]:
    """The environment of the tests, or why there is no browser here, with the remedy."""
    try:
        missing = [package for package, program in packages.BROWSER.items() if shutil.which(program) is None]
        packages.setup(missing + ([] if FONT.exists() else [packages.CHINESE_FONT]))
        return {"TIDEMARK_MODULES": str(_modules()), "TIDEMARK_SCREENSHOTS": str(LOGS / "browser" / "screenshots"), **_schemathesis()}, ""
    except Failed as error:
        return {}, str(error)


def _schemathesis() -> dict[str, str]:
    """The Python that has it."""
    try:
        return {"TIDEMARK_SCHEMATHESIS": str(python_packages.SCHEMATHESIS.provide())}
    except Failed as error:
        loud(f"the test of the API's description is skipped: {error}")
        return {}


def _modules() -> Path:
    """The directory with node_modules."""
    folder = cache_folder() / f"browser-tests-{hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]}"
    if (folder / "node_modules").exists():
        return folder
    cache_folder().mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix="browser-tests-", dir=cache_folder()))
    for file in (LOCK, LOCK.with_name("package.json")):
        shutil.copy(file, made)
    with step("installing packages for tests in a browser, once for this machine"):
        if processes.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=made, timeout_s=INSTALL_S).code != 0:
            shutil.rmtree(made)
            raise Failed("npm ci failed: is a registry reachable?")
    try:
        made.rename(folder)
    except OSError:  # another run was faster
        shutil.rmtree(made)
    return folder
