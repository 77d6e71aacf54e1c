"""The port to the runtimes that execute turns, and the protocol-neutral types that cross it.

A runtime yields events while the turn runs, and exactly one ``Ended`` last. It writes nothing to the
database. When its generator is closed or cancelled, it must stop its work and leave no process behind.
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
    """An inbox item that this turn is given. ``kind`` is verdict, message or mail.

    The ``data`` of a verdict is {ask_id, prompt, option, label, text, meaning}; ``option`` is an id.
    """

    kind: str
    author: str
    body: str
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """What was decided in a session before this turn, and what is still open, each oldest first.

    The entries are JSON; docs/markers.md describes them. The numbers say how many more there are.
    """

    decided: tuple[dict[str, Any], ...] = ()
    still_open: tuple[dict[str, Any], ...] = ()
    decided_left_out: int = 0
    open_left_out: int = 0


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A claimed run: what to do, and the epoch that proves the claim.

    ``failures`` is how many turns of the session have failed in a row. ``left_behind`` identifies the
    process of a lost claim. ``read`` is what the runtime's ``read_ahead`` returned, if anything.
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
    """Proof of a claim. Every write for a run needs it; nothing is written once the epoch is higher."""

    run_id: int
    session_id: int
    epoch: int


@dataclass(frozen=True)
class Started:
    """The turn's process has started. ``process`` is its identity (see ``process_groups``)."""

    process: dict[str, Any]


@dataclass(frozen=True)
class Said:
    """A piece of the agent's output."""

    text: str


@dataclass(frozen=True)
class Step:
    """The state of a tool call."""

    call_id: str
    title: str
    status: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Reported:
    """A report for the owner."""

    text: str


@dataclass(frozen=True)
class Noticed:
    """A notice that should reach the owner soon."""

    text: str


@dataclass(frozen=True)
class Noted:
    """Data that only the protocol's own server reads, in its own JSON. No page shows it.

    ``kind`` is the protocol. It is stored each time, in the order of the turn's events.
    """

    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Ignored:
    """A line that looks like a marker but was not accepted."""

    line: str
    why: str


@dataclass(frozen=True)
class Usage:
    """What the turn has used so far. A later one replaces it."""

    data: dict[str, Any]


@dataclass(frozen=True)
class Mail:
    """A message to another agent."""

    to_slug: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How the turn went.

    ``asks`` are drafts of the asks layer, raised when the run is settled. ``error`` tells the owner
    what broke. ``retry_at`` is when a limit passes. With ``give_up`` a failure pauses the session
    until a person resumes it. ``cannot_start``: what the settings name is missing, so nothing ran, and
    the owner must mend the agent. ``caller_knows``: the failure was reported to the program that
    started the turn, so it is no matter for the owner. ``keep(session_id, run_id)`` writes the
    protocol's own rows in the transaction that ends the turn.
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
    cannot_start: bool = False
    caller_knows: bool = False
    keep: Callable[[int, int], object] | None = None


TurnEvent = Started | Said | Step | Reported | Noticed | Noted | Ignored | Usage | Ended


class Runtime(Protocol):
    """Executes turns; one per agent protocol.

    Optional:
    - ``read_ahead(turn)``, called in the claiming thread. Its result becomes ``turn.read``. A runtime
      must not rely on the call.
    - ``check_settings(settings)``, called before valid settings are saved. It returns Findings
      (``agents.mending.checks``) within seconds.
    - ``show_prompt(turn)``, which returns what the turn would tell the agent. It changes nothing.
    - ``find_input_flaws(settings, operation, params)``, which returns what a local tool finds wrong with
      the params of a call, as pairs of a path like ``to.address[0]`` and a reason.
    - ``hands_over_approvals``, true if the runtime tells an agent elsewhere what was approved and takes
      no grants itself.
    """

    @property
    def key(self) -> str: ...

    @property
    def settings_model(self) -> type[BaseModel]: ...

    def take_turn(self, turn: Turn) -> AsyncIterator[TurnEvent]: ...


_runtimes: dict[str, Runtime] = {}
_to_load: dict[str, str] = {}


def register_runtime(runtime: Runtime) -> None:
    """Register a runtime by its key."""
    _runtimes[runtime.key] = runtime


def register_runtime_path(key: str, path: str) -> None:
    """Register the dotted path of a runtime's class. It is imported when the runtime is first used."""
    _to_load[key] = path


def find_runtime(key: str) -> Runtime:
    """Return the runtime with this key. Raises LookupError that lists the known keys."""
    if key in _runtimes:
        return _runtimes[key]
    if key not in _to_load:
        raise LookupError(
            f"There is no runtime “{key}”. Known: {', '.join(runtime_keys()) or 'none'}."
        )
    made: Runtime = import_string(_to_load[key])()
    return _runtimes.setdefault(key, made)


def runtime_keys() -> list[str]:
    """Return the keys of all registered runtimes, sorted."""
    return sorted({*_runtimes, *_to_load})


AskRaiser = Callable[["LockedSession", "Run", Sequence[object]], None]
_ask_raisers: list[AskRaiser] = []


def register_ask_raiser(raiser: AskRaiser) -> None:
    """Register what raises a turn's asks. The asks layer is above this one, so we cannot import it."""
    _ask_raisers[:] = [raiser]


def raise_asks(session: LockedSession, run: Run, drafts: Sequence[object]) -> None:
    """Raise the asks of a turn, in the transaction that settles the turn."""
    if not drafts:
        return
    if not _ask_raisers:
        raise RuntimeError("No asks layer is installed to raise this turn's questions.")
    _ask_raisers[0](session, run, drafts)
