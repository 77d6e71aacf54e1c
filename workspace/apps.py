from django.apps import AppConfig


class WorkspaceConfig(AppConfig):
    """Every way in and out: pages, sockets, protocols, commands."""

    name = "workspace"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from agents import announcing, runtime
        from workspace.live import signals  # noqa: F401 -- connects itself
        from workspace.notify import telling
        from workspace.protocols.markers.runtime import MarkersRuntime

        announcing.heard_by(telling.tell)
        runtime.register(MarkersRuntime())
