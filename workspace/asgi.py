"""The ASGI application: pages over HTTP, live streams over websockets."""

import os

import django
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest, HttpResponseBase

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workspace.settings")
django.setup(set_prefix=False)

from channels.routing import ProtocolTypeRouter  # noqa: E402 -- Django must be set up first

from workspace.live.routing import application as live  # noqa: E402


class InOneThread(ASGIHandler):
    """Handle a request in one thread, through middleware and view.

    Some of our middleware and nearly all views are synchronous. Django would return to the event loop
    between the two, which under load costs more than either.
    """

    # Both overrides are of undocumented methods. Django offers no setting for this: every middleware
    # and view would have to be async instead. Read both again when Django is upgraded.
    def load_middleware(self, is_async: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self.get_response, thread_sensitive=True)(request)


http = InOneThread()
application = ProtocolTypeRouter({"http": http, "websocket": live})
