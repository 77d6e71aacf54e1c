from django.apps import AppConfig


class AsksConfig(AppConfig):
    """Asks, the answers they allow, and the decisions made."""

    name = "asks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from agents import next_run
        from agents.events import listeners
        from agents.mending import changes
        from agents.running import runtime
        from asks.actions import grant_turns
        from asks.mending.following import follow_change
        from asks.raising import raise_asks
        from asks.undo.holding import release_held

        runtime.register_ask_raiser(raise_asks)
        listeners.register_listener(grant_turns.follow_turns)
        next_run.register_releaser(release_held)
        changes.register_recorder(follow_change)
