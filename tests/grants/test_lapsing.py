"""An approval that its turn did not use is over: what is wanted later is asked again."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from agents import messages
from tests.factories import verdict_on
from tests.grants.world import World, command_world, once, use_script

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world(owner: User, colleague: User, tmp_path: Path) -> World:
    return command_world(owner, colleague, tmp_path)


def test_an_unused_approval_does_not_outlive_its_turn_and_a_no(world: World) -> None:
    """Yes; the next turn does not use it; the owner writes not to; start: nothing runs."""
    verdict_on(world.asked, world.owner)
    use_script(world, "echo 'OUTCOME: WORK_DONE'")
    world.carry()
    use_script(world, once("rm -rf build"))
    messages.post_message(
        session_id=world.session.pk, by=world.owner, text="Do NOT delete anything."
    )
    world.carry()
    world.start()
    assert not world.acted()


def test_an_approval_is_used_by_the_turn_that_it_was_given_to(world: World) -> None:
    verdict_on(world.asked, world.owner)
    world.carry()
    assert world.acted()
