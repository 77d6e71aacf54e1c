from django.apps import AppConfig


class WorkspaceConfig(AppConfig):
    """Every way in and out: pages, sockets, protocols, commands."""

    name = "workspace"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from agents import announcing, runtime
        from asks import ledger_facts
        from workspace import key_facts
        from workspace.live import signals  # noqa: F401 -- connects itself
        from workspace.notify import telling
        from workspace.protocols.eve import ignoring
        from workspace.protocols.eve.remote.runtime import RemoteEveRuntime
        from workspace.protocols.eve.runtime import EveRuntime
        from workspace.protocols.leaf import publishing
        from workspace.protocols.leaf.remote import RemoteLeafRuntime
        from workspace.protocols.leaf.runtime import LeafRuntime
        from workspace.protocols.markers.runtime import MarkersRuntime
        from workspace.protocols.responses import projecting
        from workspace.protocols.responses.remote.runtime import RemoteResponsesRuntime
        from workspace.protocols.responses.runtime import HybridRuntime

        ledger_facts.tell_also(key_facts.KINDS, key_facts.UNRECORDED)
        announcing.heard_by(telling.tell)
        announcing.heard_by(ignoring.hear)
        announcing.heard_by(publishing.hear)
        announcing.heard_by(projecting.hear)
        runtime.register(MarkersRuntime())
        runtime.register(EveRuntime())
        runtime.register(RemoteEveRuntime())
        runtime.register(LeafRuntime())
        runtime.register(RemoteLeafRuntime())
        runtime.register(HybridRuntime())
        runtime.register(RemoteResponsesRuntime())
