from django.apps import AppConfig


class AsksConfig(AppConfig):
    """Asks, the answers they allow, and the decisions made."""

    name = "asks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from agents.running import runtime
        from asks.raising import raise_asks

        runtime.register_ask_raiser(raise_asks)
