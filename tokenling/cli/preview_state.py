"""Where a preview keeps its pets."""

from pathlib import Path

DATABASE = "pets.sqlite"


def default_state_dir() -> Path:
    """The directory for this program's data of this user."""
    from platformdirs import user_data_path

    return user_data_path("tokenling", appauthor=False) / "preview"
