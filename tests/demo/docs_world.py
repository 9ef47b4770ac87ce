"""The cluster that the `run cluster` blocks of the docs speak of: the sample nodes, and the settings that docs/guide/settings.md shows."""

import re
from pathlib import Path

from demo import samples
from driver.console import Failed
from driver.paths import ROOT

SETTINGS_PAGE = ROOT / "docs" / "guide" / "settings.md"
CONFIG_MAPS = "/api/v1/namespaces/koordinator-system/configmaps"
LEFT_BEHIND = ("tidemark-config", "tidemark-config-revisions", "tidemark-state", "slo-controller-config")


def shown_settings(page: str) -> str:
    """The text of `tidemark-config` that the page shows."""
    found = re.search(r"^```yaml\n(# tidemark-config, key config\.yaml\..*?)^```$", page, re.M | re.S)
    if not found:
        raise Failed(f"{SETTINGS_PAGE.name} shows no tidemark-config")
    return found[1]


def make(kubeconfig: Path) -> None:
    api = samples.Api(kubeconfig)
    take_away(kubeconfig)
    samples.load(api)
    settings = {"metadata": {"name": "tidemark-config"}, "data": {"config.yaml": shown_settings(SETTINGS_PAGE.read_text())}}
    api.must("POST", CONFIG_MAPS, settings)


def take_away(kubeconfig: Path) -> None:
    """Also what the commands of the docs have made of it."""
    api = samples.Api(kubeconfig)
    for name in LEFT_BEHIND:
        api.must("DELETE", f"{CONFIG_MAPS}/{name}", accept=(200, 404))
    for path in reversed(samples.sample_paths()):
        if "/namespaces/koordinator-system" not in path:
            api.must("DELETE", f"{path}?gracePeriodSeconds=0", accept=(200, 404))
