"""Hatch's build hook: a wheel carries the browser app when npm is at hand while it is built."""

import importlib.util
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if TYPE_CHECKING:
    from types import ModuleType

SKIP = "TOKENLING_WITHOUT_APP"
"""Set it to build without the app although npm is there."""
BROTLI_RELEASE = 11


class WebHook(BuildHookInterface):  # type: ignore[misc] # hatchling publishes no types for mypy here
    """Builds the app into the wheel. An editable install is left alone: its checkout builds with `tools.build_web`."""

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        if self.target_name != "wheel" or version == "editable":
            return
        if os.environ.get(SKIP) or shutil.which("npm") is None:
            why = f"{SKIP} is set" if os.environ.get(SKIP) else "npm is not here"
            self.app.display_warning(
                f"tokenling: {why}, so this wheel has no browser app; its host serves a page about it"
            )
            return
        builder = _builder(Path(self.root))
        builder.build(brotli=BROTLI_RELEASE)
        artifacts = build_data["artifacts"]
        assert isinstance(artifacts, list)
        artifacts.append("/tokenling/web/built/")


def _builder(root: Path) -> "ModuleType":
    """`tools/build_web.py` of the tree that is built: nothing of it is installed while a wheel is made."""
    spec = importlib.util.spec_from_file_location("build_web", root / "tools" / "build_web.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
