"""Check that an agent could start with its settings, before they are saved.

What a runtime can check it checks here, on this machine and within seconds. What it cannot check it
says: a worker on another machine may differ.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from agents.running import runtime
from agents.running.processes import minimal_env


@dataclass(frozen=True)
class Finding:
    """What a check found about one setting. A fault prevents saving unless a person insists."""

    setting: str
    text: str
    is_fault: bool = True


class AgentUnfit(ValidationError):
    """The checks found faults. Saving all the same is possible: pass ``insist``."""


def check_agent(runtime_key: str, settings: Mapping[str, Any]) -> list[Finding]:
    """Return what the runtime finds about valid settings, faults first."""
    taker: Any = runtime.find_runtime(runtime_key)
    if not hasattr(taker, "check_settings"):
        return [Finding("", _("This runtime checks nothing before its first turn."), False)]
    found: Iterable[Finding] = taker.check_settings(dict(settings))
    return sorted(found, key=lambda one: not one.is_fault)


def refuse_faults(findings: Iterable[Finding]) -> None:
    """Raise AgentUnfit if one of the findings is a fault."""
    faults = [f"{one.setting}: {one.text}" for one in findings if one.is_fault]
    if faults:
        raise AgentUnfit({"settings": faults})


def check_command(
    argv: list[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    env_allow: Iterable[str] = (),
    setting: str = "command",
) -> list[Finding]:
    """Check that a command and its folder are on this machine, as a turn would look for them."""
    findings = check_folder("cwd", cwd)
    if not any(one.is_fault for one in findings):
        findings += _check_program(argv[0], cwd, minimal_env(env_allow, env), setting)
    missing = sorted(name for name in env_allow if name not in os.environ)
    if missing:
        words = _("Not set on this machine: {names}. The worker must have them.")
        findings.append(Finding("env_allow", words.format(names=", ".join(missing)), False))
    return findings


def _check_program(
    program: str, cwd: str | None, env: Mapping[str, str], setting: str
) -> list[Finding]:
    path = Path(program)
    if "/" in program and not path.is_absolute() and not cwd:
        words = _("{program} is relative to the folder of the turn, so it was not checked.")
        return [Finding(setting, words.format(program=program), False)]
    if "/" in program:
        path = Path(cwd or "/", program)
        if not path.exists():
            return [Finding(setting, _("There is no file {path}.").format(path=path))]
        if not path.is_file() or not os.access(path, os.X_OK):
            return [Finding(setting, _("{path} may not be executed.").format(path=path))]
        return []
    if shutil.which(program, path=env["PATH"]) is None:
        words = _("The command {program} was not found in {path}.")
        return [Finding(setting, words.format(program=program, path=env["PATH"]))]
    return []


def check_folder(setting: str, folder: str | None) -> list[Finding]:
    """Check that a folder is on this machine and may be entered; nothing to check if it is empty."""
    if not folder:
        return []
    path = Path(folder)
    try:
        if not path.is_dir():
            return [Finding(setting, _("There is no folder {path}.").format(path=folder))]
    except OSError as error:
        return [Finding(setting, f"{folder}: {error.strerror}.")]
    if not os.access(path, os.X_OK):
        return [Finding(setting, _("The folder {path} may not be entered.").format(path=folder))]
    return []
