"""The runtime ``responses``: each turn runs a brain, a local command, in its run directory.

The runtime opens the directory before the turn and reads the brain's question file after it. Any
defect of that file fails the turn: only a missing file means that there is no question.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from agents.db.retrying import in_database
from agents.lifecycle import Outcome
from agents.mending.checks import Finding, check_command
from agents.running.processes import (
    Command,
    CouldNotStartError,
    Exited,
    Spawned,
    minimal_env,
    run_command,
)
from agents.running.runtime import Ended, Ignored, Noticed, Started, Turn, TurnEvent, Usage
from asks.drafts import ActionDraft, AskDraft, OptionDraft, validation
from asks.lifecycle import AskKind, Meaning, Style
from workspace.local.state import state_dir
from workspace.protocols.common.turn_settings import TurnEnded, settings_of
from workspace.protocols.responses.agent import (
    confidential,
    postprocess,
    question_file,
    run_directory,
)
from workspace.protocols.responses.agent.brain_output import BrainOutput
from workspace.protocols.responses.agent.failures import with_detail
from workspace.protocols.responses.agent.postprocess import PostprocessFacts
from workspace.protocols.responses.agent.prompt import quoted, write_prompt
from workspace.protocols.responses.agent.question_file import BadQuestion, FileQuestion
from workspace.protocols.responses.agent.run_directory import DirectoryInUse, PinnedDirectory
from workspace.protocols.responses.agent.work import BrainJob, NothingToDo, begin_work
from workspace.protocols.responses.server.ids import request_id
from workspace.protocols.responses.settings import ResponsesSettings
from workspace.protocols.responses.wire import compact_json

Reader = Callable[..., Awaitable[Any]]
#: A card shows a request of up to SHOWN_BYTES as JSON, and the first SHOWN_VALUES values of a larger
#: one. ESCAPED is the most bytes that one character takes in JSON.
SHOWN_BYTES, SHOWN_VALUES, ESCAPED = 48 * 1024, 40, 6
STDERR_SHOWN = 500
APPROVAL_OPTIONS = (
    OptionDraft("approve", "Approve", style=Style.PRIMARY, meaning=Meaning.APPROVE),
    OptionDraft("deny", "Deny", meaning=Meaning.DENY),
)


class ResponsesRuntime:
    """Run any brain. ``read`` runs database work from the event loop."""

    key = "responses"
    settings_model: type[BaseModel] = ResponsesSettings
    #: A brain is told what was approved, and does it itself.
    hands_over_approvals = True

    def __init__(self, read: Reader = in_database) -> None:
        self._read = read

    def check_settings(self, settings: dict[str, Any]) -> list[Finding]:
        checked = ResponsesSettings.model_validate(settings)
        found = check_command(checked.command, env=checked.env, env_allow=checked.env_allow)
        if checked.postprocess:
            found += check_command(checked.postprocess, env=checked.env, setting="postprocess")
        return found

    def show_prompt(self, turn: Turn) -> str:
        """Return the prompt of a turn that its schedule or a person starts, not a caller."""
        settings = ResponsesSettings.model_validate(turn.agent.settings)
        messages = tuple(("user", given.body) for given in turn.given if given.kind == "message")
        job = BrainJob(
            response="",
            root="",
            request=settings.default_request,
            answer=None,
            turn=1,
            failures=turn.failures,
            for_caller=False,
            confidential=settings.confidential,
            messages=messages,
        )
        return write_prompt(turn.agent, settings, job, emptied=False)

    async def take_turn(self, turn: Turn) -> AsyncGenerator[TurnEvent, None]:
        try:
            settings = settings_of(turn, ResponsesSettings)
        except TurnEnded as over:
            yield over.ended
            return
        job: BrainJob | NothingToDo = await self._read(begin_work, turn, settings)
        if isinstance(job, NothingToDo):
            yield Ended(outcome=Outcome.NO_WORK, report=job.why)
            return
        work = _Work(turn, settings.tightened(job.request), job)
        async with aclosing(work.events()) as events:
            async for event in events:
                yield event


def runs_folder(slug: str) -> Path:
    """Return the folder of an agent's run directories."""
    return state_dir() / "runs" / slug


class _Work:
    """One turn of one brain."""

    def __init__(self, turn: Turn, settings: ResponsesSettings, job: BrainJob) -> None:
        self._turn, self._settings, self._job = turn, settings, job
        self._output = BrainOutput(f"{turn.epoch}.")
        self._exited: Exited | None = None

    async def events(self) -> AsyncGenerator[TurnEvent, None]:
        if reason := self._cannot_begin():
            yield self._failed(reason, for_good=True)
            return
        folder = runs_folder(self._turn.agent.slug)
        if self._job.is_first:
            idle = self._settings.idle_timeout_seconds
            await asyncio.to_thread(
                run_directory.sweep_run_directories_if_due, folder, older_than=idle
            )
        try:
            with run_directory.pin_directory(folder / self._job.root) as directory:
                emptied = await asyncio.to_thread(self._prepare, directory)
                async with aclosing(self._in(directory, emptied=emptied)) as events:
                    async for event in events:
                        yield event
        except (OSError, DirectoryInUse) as error:
            yield self._failed(f"The run directory cannot be used: {type(error).__name__}.")

    def _cannot_begin(self) -> str:
        job, settings = self._job, self._settings
        if job.request is None:
            return "The original request could not be recovered, and a default request is not run instead."
        if job.turn > settings.max_turns:
            return f"This chain of questions has reached its limit of {settings.max_turns} turns."
        if self._turn.epoch > settings.max_attempts:
            return f"Its worker ended {self._turn.epoch - 1} times during this run."
        return ""

    def _prepare(self, directory: PinnedDirectory) -> bool:
        """Remove a leftover question. Return whether the files of earlier turns are gone."""
        directory.remove(question_file.NAME)
        answer = self._job.answer
        if answer is None:
            return False
        idle = datetime.now(UTC) - answer.asked_at
        if self._job.suspended or idle > timedelta(seconds=self._settings.idle_timeout_seconds):
            directory.empty()
            return True
        return directory.is_new

    async def _in(
        self, directory: PinnedDirectory, *, emptied: bool
    ) -> AsyncGenerator[TurnEvent, None]:
        try:
            async with aclosing(self._brain(directory, emptied=emptied)) as events:
                async for event in events:
                    yield event
        except CouldNotStartError as error:
            failed = self._failed(with_detail("The brain could not be started.", str(error)))
            yield replace(failed, cannot_start=True)
            return
        for event in self._output.end():
            yield event
        if used := self._used():
            yield Usage(used)
        async with aclosing(self._conclusion(directory)) as concluding:
            async for event in concluding:
                yield event

    async def _brain(
        self, directory: PinnedDirectory, *, emptied: bool
    ) -> AsyncGenerator[TurnEvent, None]:
        """Run the brain, and stop it as soon as it exceeds its cost limit."""
        async with aclosing(
            run_command(self._command(directory.path, emptied=emptied))
        ) as process_events:
            async for event in process_events:
                if isinstance(event, Spawned):
                    yield Started(event.identity)
                elif isinstance(event, Exited):
                    self._exited = event
                else:
                    for output in self._output.hear(event.text):
                        yield output
                if self._costs_too_much():
                    return

    def _command(self, directory: Path, *, emptied: bool) -> Command:
        settings = self._settings
        variables = {**settings.env, "RUN_DIR": str(directory)}
        return Command(
            argv=tuple(settings.command),
            cwd=str(directory),
            env=minimal_env(settings.env_allow, variables),
            stdin=write_prompt(self._turn.agent, settings, self._job, emptied=emptied),
            wall_clock_seconds=settings.wall_clock_seconds,
            output_limit_bytes=settings.output_limit_bytes,
        )

    def _used(self) -> dict[str, Any]:
        cost = self._output.cost
        return self._output.usage | ({} if cost is None else {"cost_usd": round(cost, 6)})

    def _costs_too_much(self) -> bool:
        most, cost = self._settings.max_usd_per_run, self._output.cost
        return most is not None and cost is not None and cost > most

    async def _conclusion(self, directory: PinnedDirectory) -> AsyncGenerator[TurnEvent, None]:
        """Yield the end of the turn. No process of the brain is running any more."""
        if self._costs_too_much():
            most = self._settings.max_usd_per_run
            reason = f"This turn cost {self._output.cost:g} USD; the limit is {most:g} USD."
            yield self._failed(reason, for_good=True)
            return
        if reason := self._broken_off():
            yield self._failed(reason)
            return
        if self._settings.max_usd_per_run is not None and self._output.cost is None:
            yield Ignored(
                "max_usd_per_run", "the brain reported no cost, so the limit was not applied"
            )
        try:
            question = self._question(directory)
        except BadQuestion as error:
            yield self._failed(str(error), for_good=True)
            return
        facts = self._facts(directory, question)
        if alert := postprocess.alert_event(facts, self._settings):
            yield Noticed(alert)
        reason = postprocess.gate_draft(facts, self._settings)
        reason = reason or await postprocess.run_postprocess(facts, self._settings, directory.path)
        yield self._failed(reason, for_good=True) if reason else self._ended(question)

    def _ended(self, question: FileQuestion | None) -> Ended:
        try:
            return self._done(question)
        except BadQuestion as error:
            return self._failed(str(error), for_good=True)

    def _broken_off(self) -> str:
        """Return why the brain's process failed, or "" if it ended well."""
        exited = self._exited
        if exited is None:
            return "The brain ended without an exit code."
        if exited.cause == "timeout":
            return f"The brain took longer than {self._settings.wall_clock_seconds:g} seconds."
        if exited.cause == "output_limit":
            return f"The brain wrote more than {self._settings.output_limit_bytes} bytes."
        if exited.code == 0:
            return ""
        reason = f"The brain ended with exit code {exited.code}."
        # The standard error of a confidential brain may contain confidential data.
        stderr = "" if self._settings.confidential else exited.stderr.strip()[-STDERR_SHOWN:]
        return with_detail(reason, stderr)

    def _question(self, directory: PinnedDirectory) -> FileQuestion | None:
        question = question_file.read_question_file(directory)
        if question is not None and not self._settings.hitl:
            raise BadQuestion("exists, but this agent may not ask.")
        if question is not None and question.action is not None and self._settings.confidential:
            raise BadQuestion("has an action, and a confidential agent may not show one.")
        if question is not None and self._settings.confidential:
            return confidential.shown(question, self._settings.hitl_questions)
        return question

    def _facts(self, directory: PinnedDirectory, question: FileQuestion | None) -> PostprocessFacts:
        try:
            os.stat(self._settings.published_file, dir_fd=directory.fd, follow_symlinks=False)
            published = True
        except OSError:
            published = False
        return PostprocessFacts(
            first_turn=self._job.is_first,
            hitl_paused=question is not None,
            published=published,
            request=self._job.request or {},
        )

    def _done(self, question: FileQuestion | None) -> Ended:
        text = self._output.text
        if question is None:
            return Ended(outcome=Outcome.WORK_DONE, report=text)
        draft = self._draft(question)
        asked = {"call_id": draft.request_key, "essentials": question.essentials}
        return Ended(
            outcome=Outcome.BLOCKED,
            report=text,
            asks=(draft,),
            session_data={**self._turn.session_data, "asked": asked},
        )

    def _draft(self, question: FileQuestion) -> AskDraft:
        request = None if self._settings.confidential else self._job.request
        options = tuple(
            OptionDraft(f"option-{place}", label)
            for place, label in enumerate(question.options, start=1)
        )
        action = question.action
        draft = AskDraft(
            request_key=request_id(question.wish),
            prompt=question.text,
            kind=AskKind.APPROVAL if action else AskKind.QUESTION,
            options=APPROVAL_OPTIONS if action else options,
            action=ActionDraft(**action, always_asks=True, schema=False) if action else None,
            context={"request": _shown(request)} if request else {},
        )
        if action:
            _check_binds(draft)
        return draft

    def _failed(self, reason: str, *, for_good: bool = False) -> Ended:
        """End a failed turn, and give up if a retry here is of no use.

        A caller retries by itself, and a broken rule (``for_good``) would be broken again. Any other
        failure is retried up to ``max_attempts`` times.
        """
        last = self._job.failures + 1 >= self._settings.max_attempts
        give_up = for_good or last or self._job.for_caller
        return Ended(
            outcome=Outcome.RETRYABLE_ERROR,
            error=reason,
            give_up=give_up,
            caller_knows=self._job.for_caller,
        )


def _check_binds(draft: AskDraft) -> None:
    """Raise BadQuestion if the action of a draft cannot be bound to an answer."""
    try:
        validation.check_draft(draft)
    except validation.BadDraft as error:
        raise BadQuestion("has an action that cannot be bound to an answer.") from error


def _shown(request: dict[str, Any]) -> dict[str, Any]:
    """Return the request as a card shows it: whole, or its first values, each truncated."""
    if len(compact_json(request)) <= SHOWN_BYTES:
        return request
    room = SHOWN_BYTES // SHOWN_VALUES // ESCAPED
    values = list(request.items())[:SHOWN_VALUES]
    return {name[: room // 2]: f"{quoted(value)[: room // 2 - 2]} …" for name, value in values}
