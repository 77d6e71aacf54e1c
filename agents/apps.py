from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """Agents with their sessions, runs, events and inboxes, and what wakes them."""

    name = "agents"
    default_auto_field = "django.db.models.BigAutoField"
