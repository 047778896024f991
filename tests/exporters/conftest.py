"""Transformers, Optimum and PyTorch come with `nox -s exporters` alone: the default run goes without these tests."""

import importlib.util

NEEDED = ("torch", "transformers", "optimum")

collect_ignore_glob = [] if all(importlib.util.find_spec(name) for name in NEEDED) else ["test_*.py"]
