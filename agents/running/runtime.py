"""The port to what executes a turn, and the neutral shapes that cross it.

A runtime yields events while the turn runs and exactly one ``Ended`` last. It writes nothing itself;
it must stop its work and leave no process behind when its generator is closed or cancelled.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from django.utils.module_loading import import_string

from agents.lifecycle import Outcome

if TYPE_CHECKING:
    from pydantic import BaseModel

    from agents.locking import LockedSession
    from agents.models import Run


@dataclass(frozen=True)
class AgentFacts:
    slug: str
    name: str
    title: str
    mission: str
    contract: str
    runtime: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class Given:
    """Something owed that this turn carries. ``kind`` is verdict, message or mail.

    A verdict's ``data`` is {ask_id, prompt, option, label, text, meaning}; ``option`` is the id.
    """

    kind: str
    author: str
    body: str
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A claimed run: what to do, and the epoch that proves the claim.

    ``failures`` is how many turns of the session have failed, one after the other, up to now.
    ``read`` is what its runtime had read ahead, if it did.
    """

    run_id: int
    session_id: int
    number: int
    epoch: int
    cause: str
    agent: AgentFacts
    given: tuple[Given, ...] = ()
    last_outcome: str = ""
    failures: int = 0
    history: tuple[str, ...] = ()
    external_id: str = ""
    session_data: dict[str, Any] = field(default_factory=dict)
    left_behind: dict[str, Any] = field(default_factory=dict)
    read: object = None

    @property
    def fence(self) -> Fence:
        return Fence(self.run_id, self.session_id, self.epoch)


@dataclass(frozen=True)
class Fence:
    """What a writer for a run must hold: if the epoch has moved on, it writes nothing."""

    run_id: int
    session_id: int
    epoch: int


@dataclass(frozen=True)
class Started:
    """The turn's process exists: {"host", "pid", "pgid", "started"}."""

    process: dict[str, Any]


@dataclass(frozen=True)
class Said:
    """A piece of what the agent says, as it comes."""

    text: str


@dataclass(frozen=True)
class Step:
    call_id: str
    title: str
    status: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Reported:
    text: str


@dataclass(frozen=True)
class Noticed:
    text: str


@dataclass(frozen=True)
class Noted:
    """Something that only a protocol's own door tells, in its own words (JSON). No page shows it.

    ``kind`` is the protocol. It lands every time it is told, in the order of what is told.
    """

    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Ignored:
    """A line that looked like a marker and was not taken."""

    line: str
    why: str


@dataclass(frozen=True)
class Usage:
    data: dict[str, Any]


@dataclass(frozen=True)
class Mail:
    to_slug: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How the turn went. ``asks`` are drafts of the asks layer; they are raised as the run settles.

    ``retry_at`` is when a limit passes; ``error`` says what broke, in words for the owner.
    ``give_up`` after a failure: it is not tried again until a person says so. ``keep`` writes rows of
    the protocol's own, of this session and run by their ids, in the transaction that ends the turn.
    """

    outcome: Outcome
    report: str = ""
    asks: tuple[object, ...] = ()
    mails: tuple[Mail, ...] = ()
    error: str = ""
    retry_at: datetime | None = None
    session_data: dict[str, Any] | None = None
    external_id: str = ""
    give_up: bool = False
    keep: Callable[[int, int], object] | None = None


TurnEvent = Started | Said | Step | Reported | Noticed | Noted | Ignored | Usage | Ended


class Runtime(Protocol):
    """What executes a turn; one per agent protocol.

    One that begins each turn by reading rows may have a method ``read_ahead(turn)`` that does so: it
    is called in the thread that claimed the run, and may not be.
    """

    @property
    def key(self) -> str: ...

    @property
    def settings_model(self) -> type[BaseModel]: ...

    def take_turn(self, turn: Turn) -> AsyncIterator[TurnEvent]: ...


_runtimes: dict[str, Runtime] = {}
_to_load: dict[str, str] = {}


def register_runtime(runtime: Runtime) -> None:
    """Make a runtime known by its key."""
    _runtimes[runtime.key] = runtime


def register_runtime_path(key: str, path: str) -> None:
    """Make the runtime of a class known by its dotted path: most processes use few of them."""
    _to_load[key] = path


def find_runtime(key: str) -> Runtime:
    """The runtime of that key. Raises LookupError with the known ones."""
    if key in _runtimes:
        return _runtimes[key]
    if key not in _to_load:
        raise LookupError(
            f"There is no runtime “{key}”. Known: {', '.join(runtime_keys()) or 'none'}."
        )
    made: Runtime = import_string(_to_load[key])()
    return _runtimes.setdefault(key, made)


def runtime_keys() -> list[str]:
    return sorted({*_runtimes, *_to_load})


AskRaiser = Callable[["LockedSession", "Run", Sequence[object]], None]
_ask_raisers: list[AskRaiser] = []


def register_ask_raiser(raiser: AskRaiser) -> None:
    """The asks layer plugs itself in here: it is above this one and cannot be imported."""
    _ask_raisers[:] = [raiser]


def raise_asks(session: LockedSession, run: Run, drafts: Sequence[object]) -> None:
    """Raise what a turn asks, in the transaction that settles it."""
    if not drafts:
        return
    if not _ask_raisers:
        raise RuntimeError("No asks layer is installed to raise this turn's questions.")
    _ask_raisers[0](session, run, drafts)
