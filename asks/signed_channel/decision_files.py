"""The signed channel: a folder of decision files, the only way to decide what moves value.

``SIGNED_CHANNEL`` names a folder (a git work tree will do). A decision is two files in it: what
``manage.py signed_channel show`` printed, ending in ``.json``, and beside it the ``.json.sig`` that
``ssh-keygen -Y sign -n needs-you-verdict`` made. Who may sign stands in the allowed-signers file that
``SIGNED_CHANNEL_ALLOWED_SIGNERS`` names, outside that folder.

The workspace reads this folder and never writes to it. A valid signature over the exact binding by an
owner of the agent becomes a verdict with the signer as its author; anything else becomes a refusal
and changes nothing. Each file is judged once.
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
from asks.answering import Answered, Result, Voted, answer_signed  # noqa: TID251  the proof is made here
from asks.lifecycle import Reason
from asks.models import Ask, Option, Refusal, SignedFile
from asks.refusals import Refused, number_of
from asks.signed_channel import document, refusals, safe_files, sshsig
from asks.signed_channel.proof import Proof

log = logging.getLogger(__name__)

#: Bytes. The largest params, indented and with every character escaped, come to less.
MOST_DOCUMENT = 4 * 1024 * 1024
MOST_SIGNATURE = 16 * 1024
MOST_SIGNERS = 256 * 1024
MOST_FILES = 2000


class ChannelError(Exception):
    """The channel cannot be read as it is set up; the text is one sentence for whoever set it up."""


@dataclass(frozen=True)
class Found:
    """A decision file as it was read. ``flaw`` says why it could not be."""

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
    """What came of a file that was looked at now."""

    name: str
    why: str
    answered: bool = False


@dataclass(frozen=True)
class Judged:
    ask_ref: str
    principal: str
    result: Result


def scan_for_worker() -> int:
    """Judge what is new, for the worker's tick; how many decisions took effect. It never raises."""
    try:
        return sum(seen.answered for seen in scan_folder())
    except ChannelError as error:
        log.error("%s", error)  # noqa: TRY400  the sentence is the whole of it
        return 0


def scan_folder() -> list[Seen]:
    """Judge every file that was not judged before. Raises ChannelError. Nothing when not set up."""
    if not settings.SIGNED_CHANNEL:
        return []
    allowed = _allowed_signers()
    try:
        with sshsig.make_verifier(allowed) as verifier:
            return [seen for name in _unknown(allowed) if (seen := _look(name, allowed, verifier))]
    except sshsig.NoKeygen as error:
        raise ChannelError(str(error)) from error


def _allowed_signers() -> bytes:
    """Who may sign. The file must not lie where decisions are dropped, nor be anybody's to write."""
    path = Path(settings.SIGNED_CHANNEL_ALLOWED_SIGNERS)
    if not settings.SIGNED_CHANNEL_ALLOWED_SIGNERS:
        raise ChannelError("SIGNED_CHANNEL_ALLOWED_SIGNERS must name the allowed-signers file.")
    if path.resolve().is_relative_to(Path(settings.SIGNED_CHANNEL).resolve()):
        raise ChannelError(f"{path} must not lie in the folder that decisions are dropped in.")
    try:
        with safe_files.open_folder(str(path.parent)) as folder:
            content = safe_files.read_file(path.name, at=folder, most=MOST_SIGNERS)
            mode = os.stat(path.name, dir_fd=folder, follow_symlinks=False).st_mode
    except (OSError, safe_files.UnreadableFile) as error:
        raise ChannelError(f"{path} cannot be read: {error}.") from error
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ChannelError(f"{path} can be written by others than its owner.")
    return content


def _unknown(allowed: bytes) -> list[str]:
    """The names of the decision files that were not judged as they are now."""
    with _folder() as folder:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))  # noqa: PTH208  pinned
        if len(names) > MOST_FILES:
            raise ChannelError(f"{settings.SIGNED_CHANNEL} holds more than {MOST_FILES} decisions.")
        digests = {found.digest(allowed): name for name in names if (found := _read(name, folder))}
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


def _read(name: str, folder: int) -> Found | None:
    """One decision file with its signature; None while one of the two is missing or in the making."""
    try:
        document = safe_files.read_file(name, at=folder, most=MOST_DOCUMENT)
        return Found(
            name, document, safe_files.read_file(f"{name}.sig", at=folder, most=MOST_SIGNATURE)
        )
    except safe_files.Changing:
        return None
    except safe_files.UnreadableFile as why:
        return Found(name, flaw=str(why))


def _look(name: str, allowed: bytes, verifier: sshsig.Verifier) -> Seen | None:
    """Read a file once more and judge what was read now. None when another worker was quicker."""
    with _folder() as folder:
        found = _read(name, folder)
    if found is None:
        return None
    try:
        return _judge_once(found, allowed, verifier)
    except IntegrityError:
        log.info("%s was judged by another worker meanwhile.", name)
        return None


@transaction.atomic
def _judge_once(file: Found, allowed: bytes, verifier: sshsig.Verifier) -> Seen:
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


def _judge(file: Found, allowed: bytes, verifier: sshsig.Verifier) -> Judged:
    """Who signed, then what: nothing a file says counts before its signature does."""
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
    """The one person a key belongs to, by user name or address. Raises BadSignature."""
    wanted = Q(pk__in=())
    for name in names:
        wanted |= Q(username=name) | Q(email__iexact=name)
    people = list(User.objects.filter(wanted, is_active=True)[:2])
    if len(people) != 1:
        who = "more than one person here has" if people else "nobody here has"
        raise sshsig.BadSignature(f"{who} the name or address {', '.join(names)[:200]}")
    return people[0], ", ".join(names)[:255]


def _decide(claims: dict[str, Any], ask_ref: str, signer: User, proof: Proof) -> Result:
    """A signature is proved: what it signs must be, byte for byte, what is asked now."""
    number = number_of(claims.get("ask"))
    ask = Ask.objects.select_related("agent", "gate").filter(pk=number).first() if number else None
    gate = getattr(ask, "gate", None)
    option = None
    if ask is None or not ask.money_critical or gate is None:
        ask, reason = None, Reason.NOT_FOUND
    elif not access.may_see(signer, ask):
        # Nothing about the ask is told to somebody who may not see it, not even whether this fits.
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
