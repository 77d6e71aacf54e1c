from django.apps import AppConfig

PROTOCOLS = "workspace.protocols"
RUNTIMES = {
    "markers": f"{PROTOCOLS}.markers.runtime.MarkersRuntime",
    "eve": f"{PROTOCOLS}.eve.runtime.EveRuntime",
    "eve-remote": f"{PROTOCOLS}.eve.remote.runtime.RemoteEveRuntime",
    "leaf": f"{PROTOCOLS}.leaf.runtime.LeafRuntime",
    "leaf-remote": f"{PROTOCOLS}.leaf.remote.RemoteLeafRuntime",
    "responses": f"{PROTOCOLS}.responses.runtime.HybridRuntime",
    "responses-remote": f"{PROTOCOLS}.responses.remote.runtime.RemoteResponsesRuntime",
}


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
        from workspace.protocols.leaf import publishing
        from workspace.protocols.responses import projecting

        ledger_facts.tell_also(key_facts.KINDS, key_facts.UNRECORDED)
        announcing.heard_by(telling.tell)
        announcing.heard_by(ignoring.hear)
        announcing.heard_by(publishing.hear)
        announcing.heard_by(projecting.hear)
        for key, path in RUNTIMES.items():
            runtime.load_when_used(key, path)
