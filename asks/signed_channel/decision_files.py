"""Read signed decision files from a folder: the only way to decide a money-critical ask.

``SIGNED_CHANNEL`` names the folder, for example a git work tree. A decision consists of two files:
the output of ``manage.py signed_channel show``, with a name that ends in ``.json``, and next to it the
``.json.sig`` that ``ssh-keygen -Y sign -n needs-you-verdict`` creates. The allowed-signers file that
``SIGNED_CHANNEL_ALLOWED_SIGNERS`` names lists who may sign. It must be outside the folder.

The workspace reads the folder and never writes to it. A valid signature by an owner of the agent, over
the exact binding, becomes a verdict whose author is the signer. Anything else becomes a refusal and
changes nothing. Each file is judged once.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Q

from agents.text.canonical_json import printable
from asks import access
from asks.answering import Answered, Result, Voted, answer_signed  # noqa: TID251  this module creates the proof
from asks.lifecycle import Reason
from asks.models import Ask, Option, Refusal, SignedFile
from asks.refusals import Refused, number_of
from asks.signed_channel import document, refusals, safe_files, sshsig
from asks.signed_channel.proof import Proof

log = logging.getLogger(__name__)

#: Bytes. The largest params are smaller, even indented and with every character escaped.
MOST_DOCUMENT = 4 * 1024 * 1024
MOST_SIGNATURE = 16 * 1024
MOST_SIGNERS = 256 * 1024
MOST_FILES = 2000


class ChannelError(Exception):
    """The channel cannot be read as configured. The message is one sentence for the administrator."""


@dataclass(frozen=True)
class DecisionFile:
    """A decision file. If it could not be read, ``flaw`` is the reason."""

    name: str
    document: bytes = b""
    signature: bytes = b""
    flaw: str = ""

    def digest(self, allowed: bytes) -> str:
        whole = hashlib.sha256()
        for part in (self.name.encode("utf-8", "surrogateescape"), self.document, self.signature):
            whole.update(hashlib.sha256(part).digest())
        whole.update(hashlib.sha256(self.flaw.encode() + allowed).digest())
        return whole.hexdigest()


@dataclass(frozen=True)
class Seen:
    """The outcome of one file in this scan."""

    name: str
    why: str
    answered: bool = False


@dataclass(frozen=True)
class Judged:
    ask_ref: str
    principal: str
    result: Result


def scan_for_worker() -> int:
    """Judge new files on the worker's tick and return how many decisions took effect.

    A ChannelError is logged, not raised.
    """
    try:
        return sum(seen.answered for seen in scan_folder())
    except ChannelError as error:
        log.error("%s", error)  # noqa: TRY400  the sentence suffices
        return 0


def scan_folder() -> list[Seen]:
    """Judge every file that was not judged before. Raises ChannelError.

    Return an empty list if the channel is not configured.
    """
    if not settings.SIGNED_CHANNEL:
        return []
    allowed = _allowed_signers()
    try:
        with sshsig.make_verifier(allowed) as verifier:
            return [seen for name in _unknown(allowed) if (seen := _look(name, allowed, verifier))]
    except sshsig.NoKeygen as error:
        raise ChannelError(str(error)) from error


def _allowed_signers() -> bytes:
    """Read the allowed-signers file.

    Raises ChannelError if it is inside the decisions folder or writable by others: anybody who can
    write it can sign.
    """
    path = Path(settings.SIGNED_CHANNEL_ALLOWED_SIGNERS)
    if not settings.SIGNED_CHANNEL_ALLOWED_SIGNERS:
        raise ChannelError("SIGNED_CHANNEL_ALLOWED_SIGNERS must name the allowed-signers file.")
    if path.resolve().is_relative_to(Path(settings.SIGNED_CHANNEL).resolve()):
        raise ChannelError(f"{path} must not be inside the folder of decision files.")
    try:
        with safe_files.open_folder(str(path.parent)) as folder:
            content = safe_files.read_file(path.name, at=folder, most=MOST_SIGNERS)
            mode = os.stat(path.name, dir_fd=folder, follow_symlinks=False).st_mode
    except (OSError, safe_files.UnreadableFile) as error:
        raise ChannelError(f"{path} cannot be read: {error}.") from error
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ChannelError(f"{path} is writable by others than its owner.")
    return content


def _unknown(allowed: bytes) -> list[str]:
    """Return the names of the files that have not been judged in their current form."""
    with _folder() as folder:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))  # noqa: PTH208  pinned
        if len(names) > MOST_FILES:
            raise ChannelError(
                f"{settings.SIGNED_CHANNEL} contains more than {MOST_FILES} decisions."
            )
        digests = {file.digest(allowed): name for name in names if (file := _read(name, folder))}
    known = SignedFile.objects.filter(digest__in=digests).values_list("digest", flat=True)
    return sorted(digests[digest] for digest in digests.keys() - set(known))


@contextmanager
def _folder() -> Iterator[int]:
    try:
        with safe_files.open_folder(settings.SIGNED_CHANNEL) as folder:
            yield folder
    except OSError as error:
        raise ChannelError(
            f"{settings.SIGNED_CHANNEL} cannot be read: {error.strerror}."
        ) from error


def _read(name: str, folder: int) -> DecisionFile | None:
    """Read a decision file and its signature. Return None while either is missing or changing."""
    try:
        document = safe_files.read_file(name, at=folder, most=MOST_DOCUMENT)
        return DecisionFile(
            name, document, safe_files.read_file(f"{name}.sig", at=folder, most=MOST_SIGNATURE)
        )
    except safe_files.Changing:
        return None
    except safe_files.UnreadableFile as why:
        return DecisionFile(name, flaw=str(why))


def _look(name: str, allowed: bytes, verifier: sshsig.Verifier) -> Seen | None:
    """Read a file again and judge exactly those bytes.

    Return None if the file is missing or changing, or if another worker has judged it.
    """
    with _folder() as folder:
        file = _read(name, folder)
    if file is None:
        return None
    try:
        return _judge_once(file, allowed, verifier)
    except IntegrityError:
        log.info("Another worker has already judged %s.", name)
        return None


@transaction.atomic
def _judge_once(file: DecisionFile, allowed: bytes, verifier: sshsig.Verifier) -> Seen:
    judged = _judge(file, allowed, verifier)
    answered = judged.result if isinstance(judged.result, Answered) else None
    why = _why(judged.result)
    name = printable(file.name, 255)
    SignedFile.objects.create(
        digest=file.digest(allowed),
        name=name,
        ask_ref=judged.ask_ref,
        principal=judged.principal,
        why=why[:1000],
        verdict=answered.verdict if answered else None,
        refusal=_refusal_of(judged) if isinstance(judged.result, Refused) else None,
    )
    return Seen(name, why, answered is not None and not answered.repeated)


def _why(result: Result) -> str:
    if isinstance(result, Refused):
        return result.detail
    return "It is one of several votes." if isinstance(result, Voted) else "It is the verdict."


def _refusal_of(judged: Judged) -> Refusal:
    return Refusal.objects.filter(via="signed", ask_ref=judged.ask_ref).latest("pk")


def _judge(file: DecisionFile, allowed: bytes, verifier: sshsig.Verifier) -> Judged:
    """Verify the signature first, then decide. No claim in the file counts before that."""
    claims = document.claims_in(file.document)
    ask_ref = printable(str(claims.get("ask", file.name)), 64)
    try:
        if file.flaw:
            raise sshsig.BadSignature(file.flaw)
        names = verifier.signers(file.document, file.signature)
        signer, principal = _person(names)
    except sshsig.BadSignature as error:
        refused = refusals.record_unproven(str(error), ask_ref=ask_ref, file=file.name)
        return Judged(ask_ref, "", refused)
    proof = Proof(
        principal=principal,
        namespace=sshsig.NAMESPACE,
        document=file.document.decode("utf-8", "replace"),
        signature=file.signature.decode("utf-8", "replace"),
        allowed_signers_sha256=hashlib.sha256(allowed).hexdigest(),
    )
    return Judged(ask_ref, principal, _decide(claims, ask_ref, signer, proof))


def _person(names: list[str]) -> tuple[User, str]:
    """Return the one active user with one of these user names or addresses, and the names.

    Raises BadSignature if there is no such user or more than one.
    """
    matching = Q(pk__in=())
    for name in names:
        matching |= Q(username=name) | Q(email__iexact=name)
    people = list(User.objects.filter(matching, is_active=True)[:2])
    if len(people) != 1:
        who = "more than one user has" if people else "no user has"
        raise sshsig.BadSignature(f"{who} the name or address {', '.join(names)[:200]}")
    return people[0], ", ".join(names)[:255]


def _decide(claims: dict[str, Any], ask_ref: str, signer: User, proof: Proof) -> Result:
    """Answer the ask if the signed document is, byte for byte, the current one. Otherwise refuse."""
    number = number_of(claims.get("ask"))
    ask = Ask.objects.select_related("agent", "gate").filter(pk=number).first() if number else None
    gate = getattr(ask, "gate", None)
    option = None
    if ask is None or not ask.money_critical or gate is None:
        ask, reason = None, Reason.NOT_FOUND
    elif not access.may_see(signer, ask):
        # A signer who may not see the ask must not learn whether the document matches it.
        return answer_signed(ask_id=ask.pk, by=signer, option="", echo={}, proof=proof)
    elif (option := _option(ask, claims)) is None:
        reason = Reason.UNKNOWN_OPTION
    elif proof.document.encode() != document.decision_document(ask, gate, option):
        reason = Reason.STALE
    else:
        echo = claims["binding"]
        return answer_signed(ask_id=ask.pk, by=signer, option=option.key, echo=echo, proof=proof)
    return refusals.record_signed_refusal(
        reason, ask=ask, ask_ref=ask_ref, claims=claims, by=signer
    )


def _option(ask: Ask, claims: dict[str, Any]) -> Option | None:
    return Option.objects.filter(ask=ask, key=str(claims.get("option"))[:100]).first()
