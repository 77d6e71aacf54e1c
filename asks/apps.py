from django.apps import AppConfig


class AsksConfig(AppConfig):
    """What is asked, what may be answered, and what was decided."""

    name = "asks"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from agents.running import runtime
        from asks.raising import raise_asks

        runtime.register_ask_raiser(raise_asks)
