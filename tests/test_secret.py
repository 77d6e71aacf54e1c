"""The secret key of a state folder."""

import subprocess
import sys
from pathlib import Path

from workspace.local.secret_key import load_secret_key
from workspace.local.state import PROJECT


def test_key_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    state = tmp_path / "new" / "state"

    key = load_secret_key(state)

    assert len(key) > 50
    assert load_secret_key(state) == key
    assert (state / "secret_key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in state.iterdir()] == ["secret_key"]


def test_processes_that_make_it_at_once_agree(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from workspace.local.secret_key import load_secret_key;"
        "print(load_secret_key(Path(sys.argv[1])))"
    )
    makers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "state")],
            cwd=PROJECT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]

    keys = {maker.communicate()[0].strip() for maker in makers}

    assert keys == {load_secret_key(tmp_path / "state")}


def test_folder_that_cannot_be_used_gives_a_key_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    assert len(load_secret_key(tmp_path / "file" / "state")) > 50
