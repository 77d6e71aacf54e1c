from django.apps import AppConfig

PROTOCOLS = "workspace.protocols"
RUNTIMES = {
    "markers": f"{PROTOCOLS}.markers.runtime.MarkersRuntime",
    "eve": f"{PROTOCOLS}.eve.agent.runtime.EveRuntime",
    "eve-remote": f"{PROTOCOLS}.eve.client.runtime.RemoteEveRuntime",
    "leaf": f"{PROTOCOLS}.leaf.agent.runtime.LeafRuntime",
    "leaf-remote": f"{PROTOCOLS}.leaf.client.runtime.RemoteLeafRuntime",
    "responses": f"{PROTOCOLS}.responses.agent.runtime.ResponsesRuntime",
    "responses-remote": f"{PROTOCOLS}.responses.client.runtime.RemoteResponsesRuntime",
}


class WorkspaceConfig(AppConfig):
    """All interfaces: pages, sockets, protocols, commands."""

    name = "workspace"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from agents.events import listeners
        from agents.running import runtime
        from asks.ledger import credential, record_facts
        from workspace.accounts import api_keys, key_records
        from workspace.live import signals  # noqa: F401 -- connects itself
        from workspace.notify import outbox_writer
        from workspace.protocols.eve.agent import ignoring
        from workspace.protocols.leaf.server import publishing
        from workspace.protocols.responses.server import projection

        record_facts.register_facts(key_records.KINDS, key_records.UNRECORDED)
        credential.register_holder(api_keys.hold_keys)
        listeners.register_listener(outbox_writer.write_outbox)
        listeners.register_listener(ignoring.ignore_on_message)
        listeners.register_listener(publishing.publish_on_event)
        listeners.register_listener(projection.project_events)
        for key, path in RUNTIMES.items():
            runtime.register_runtime_path(key, path)
