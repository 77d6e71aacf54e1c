"""Keep every temporary file of a test run or a measurement in one folder, and remove it."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def one_temporary_folder() -> Iterator[Path]:
    """Use one folder for the temporary files of this process and of those that it starts.

    Processes that are killed, browsers and pytest leave files there; all of it is removed.
    """
    former = os.environ.get("TMPDIR")
    # A short name: paths of unix sockets are limited to about 100 bytes.
    folder = Path(tempfile.mkdtemp(prefix="ny-"))
    # The account that runs PostgreSQL for root passes through.
    folder.chmod(0o711)
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None  # look at TMPDIR again
    try:
        yield folder
    finally:
        if former is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = former
        tempfile.tempdir = None
        shutil.rmtree(folder, ignore_errors=True)
