"""The tools are no part of the package: their tests find them from the repository's root."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

try:
    from hypothesis import HealthCheck, settings
except ImportError:  # a session that runs none of the tests that need it
    pass
else:
    # an example that takes long on a busy machine is no failure; what else a profile says stays so
    settings.register_profile("tokenling", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("tokenling")
