"""The real files are large and come from the network: `nox -s ggufs` fetches them, the default run goes without."""

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "gguf"))

collect_ignore_glob = [] if os.environ.get("TOKENLING_GGUFS") else ["test_*.py"]
