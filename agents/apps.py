from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """Who works, what happened, and what wakes them."""

    name = "agents"
    default_auto_field = "django.db.models.BigAutoField"
