"""Verify SSH signatures against an allowed-signers file, with OpenSSH's ``ssh-keygen -Y``."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

NAMESPACE = "needs-you-verdict"
SECONDS = 20
#: A principal that is a single name. A pattern such as ``*@example.com`` identifies nobody.
_ONE_NAME = re.compile(r"[^\s,*?!\"']{1,255}")


class NoKeygen(Exception):
    """OpenSSH's client programs are not installed."""


class BadSignature(Exception):
    """A signature that proves nothing. The message is the reason."""


@dataclass(frozen=True)
class Verifier:
    """Checks signatures against a private copy of an allowed-signers file.

    The copy cannot change between two checks.
    """

    folder: Path

    def signers(self, document: bytes, signature: bytes) -> list[str]:
        """Return the principals whose key signed exactly this document in our namespace.

        Raises BadSignature if there are none.
        """
        signed = self.folder / "signature"
        signed.write_bytes(signature)
        search = _keygen("find-principals", "-s", signed, "-f", self._allowed)
        names = [name for line in search.stdout.splitlines() for name in line.split(",")]
        names = [name for name in names if _ONE_NAME.fullmatch(name)]
        if not names:
            raise BadSignature(_complaint(search) or "its signer is not among the allowed signers")
        checks = {name: self._check(name, document, signed) for name in names}
        good = [name for name, flaw in checks.items() if not flaw]
        if not good:
            raise BadSignature(next(iter(checks.values())))
        return good

    def _check(self, name: str, document: bytes, signed: Path) -> str:
        """Return the flaw of the signature as one by this principal; empty if it is valid."""
        done = _keygen(
            "verify", "-n", NAMESPACE, "-I", name, "-s", signed, "-f", self._allowed, stdin=document
        )
        return "" if done.returncode == 0 else _complaint(done) or "the signature is not valid"

    @property
    def _allowed(self) -> Path:
        return self.folder / "allowed_signers"


@contextmanager
def make_verifier(allowed_signers: bytes) -> Iterator[Verifier]:
    """Yield a verifier for the content of an allowed-signers file."""
    with tempfile.TemporaryDirectory(prefix="needs-you-") as folder:
        (Path(folder) / "allowed_signers").write_bytes(allowed_signers)
        yield Verifier(Path(folder))


def _keygen(
    verb: str, *arguments: str | Path, stdin: bytes = b""
) -> subprocess.CompletedProcess[str]:
    try:
        done = subprocess.run(
            ["ssh-keygen", "-Y", verb, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
        )
    except FileNotFoundError as error:
        raise NoKeygen(
            "The signed channel needs ssh-keygen: on Debian, apt-get install openssh-client."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise BadSignature(f"ssh-keygen took longer than {SECONDS} seconds") from error
    stdout, stderr = (stream.decode("utf-8", "replace") for stream in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, stdout, stderr)


def _complaint(done: subprocess.CompletedProcess[str]) -> str:
    """Return the first line on standard error without our temporary paths: it is the reason."""
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return re.sub(r"\S*needs-you-\S*/", "", lines[0])[:200] if lines else ""
