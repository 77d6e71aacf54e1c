"""Keys, allowed signers and signed files, all made by the real ssh-keygen."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from asks.models import Ask
from asks.signed_channel.document import decision_document

NAMESPACE = "needs-you-verdict"


@dataclass
class Channel:
    """A folder of decisions, the allowed-signers file beside it, and the people's keys."""

    root: Path

    def __post_init__(self) -> None:
        self.folder = self.root / "decisions"
        self.allowed = self.root / "allowed_signers"
        self.keys = self.root / "keys"
        self.folder.mkdir()
        self.keys.mkdir()
        self.allowed.touch(mode=0o644)

    def key(self, name: str) -> Path:
        """The private key of this person, made on first use."""
        path = self.keys / name
        if not path.exists():
            _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path))
        return path

    def allow(self, key: str, principal: str = "", options: str = "") -> None:
        """Let the holder of a key sign as this principal; by default under their own name."""
        public = self.key(key).with_suffix(".pub").read_text()
        with self.allowed.open("a") as file:
            file.write(" ".join(filter(None, [principal or key, options, public])))

    def put(
        self, name: str, content: bytes, signer: str = "mia", namespace: str = NAMESPACE
    ) -> Path:
        """Sign a content and put both files into the folder."""
        draft = self.root / "draft.json"
        draft.write_bytes(content)
        signature = draft.with_name("draft.json.sig")
        signature.unlink(missing_ok=True)
        _run(
            "ssh-keygen",
            "-q",
            "-Y",
            "sign",
            "-n",
            namespace,
            "-f",
            str(self.key(signer)),
            str(draft),
        )
        signature.rename(self.folder / f"{name}.sig")
        return draft.rename(self.folder / name)

    def decide(self, ask: Ask, option: str = "yes", signer: str = "mia") -> Path:
        """Sign what the workspace shows for an answer, and put it into the folder."""
        return self.put(f"ask-{ask.pk}.json", shown(ask, option), signer)


def shown(ask: Ask, option: str = "yes") -> bytes:
    return decision_document(ask, ask.gate, ask.options.get(key=option))


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, stdin=subprocess.DEVNULL)
