"""Folders to build in: a killed process's is removed by the next build, a living one's never."""

import errno
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "model_commands"))
from talking_models import talking_model

from tokenling.gguf import open_gguf, open_model
from tokenling.gguf.building import building_folder

HOLD = """
import sys; from pathlib import Path; from tokenling.gguf.building import building_folder
with building_folder(Path(sys.argv[1]), ".b-") as made:
    (made / "weights.bin").write_bytes(b"0" * 4096)
    print(made, flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_build_left_goes_with_the_next_and_a_living_one_stays(tmp_path: Path) -> None:
    builds = [subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True) for _ in range(2)]  # fmt: skip
    killed, living = (Path(build.stdout.readline().strip()) for build in builds)  # type: ignore[union-attr]
    builds[0].send_signal(signal.SIGKILL)
    builds[0].communicate()
    assert killed.exists()
    with building_folder(tmp_path, ".b-") as made:
        assert {made, living} == set(tmp_path.iterdir())
    builds[1].communicate("")
    assert [] == list(tmp_path.iterdir())


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    (tmp_path / ".b-link").symlink_to(tmp_path / "mine")
    with building_folder(tmp_path, ".b-"):
        assert (tmp_path / "mine" / "file").exists()


def test_a_folder_that_was_renamed_stays(tmp_path: Path) -> None:
    with building_folder(tmp_path, ".b-") as made:
        made.rename(tmp_path / "kept")
    assert [tmp_path / "kept"] == list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_full_disk_names_the_folder_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def full(self: Path, mode: str = "r", *rest: object) -> object:
        return opened(Path("/dev/full") if self.name == "weights.bin" and "w" in mode else self, mode, *rest)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", full)
    with open_gguf(talking_model(tmp_path / "tiny.gguf")) as file, pytest.raises(OSError, match="space") as refused:
        open_model(file, cache_dir=tmp_path / "cache")
    assert errno.ENOSPC == refused.value.errno
    assert str(refused.value.filename).startswith(str(tmp_path / "cache" / ".building-"))
    assert [] == list((tmp_path / "cache").iterdir())
