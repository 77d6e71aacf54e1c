"""A test run leaves nothing in the temporary folder."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.temporary import one_temporary_folder
from workspace.local.state import PROJECT


def test_everything_temporary_is_removed() -> None:
    with one_temporary_folder() as folder:
        left = tempfile.mkdtemp()
        command = [sys.executable, "-c", "import tempfile; print(tempfile.mkdtemp())"]
        started = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert Path(left).parent == Path(started.strip()).parent == folder
    assert not folder.exists()
    assert tempfile.gettempdir() != str(folder)


def test_pytest_leaves_nothing(tmp_path: Path) -> None:
    """A test that kills its worker would leave what that worker made, were it not in our folder."""
    leaves = tmp_path / "test_leaves.py"
    leaves.write_text(
        "import tempfile\ndef test_it(tmp_path):\n    (tmp_path / 'x').touch()\n    tempfile.mkdtemp()\n"
    )
    temporary = Path(tempfile.mkdtemp(prefix="t-"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", str(leaves)]
    command += ["--rootdir", str(PROJECT), "-c", str(PROJECT / "pyproject.toml")]
    ran = subprocess.run(
        command,
        cwd=PROJECT,
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        pytest.fail(ran.stdout + ran.stderr)
    assert list(temporary.iterdir()) == []
