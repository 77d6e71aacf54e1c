"""The web process: pages over HTTP, live streams over websockets."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "workspace.settings")
http = get_asgi_application()

from channels.routing import ProtocolTypeRouter  # noqa: E402 -- Django must be set up first

from workspace.live.routing import application as live  # noqa: E402

application = ProtocolTypeRouter({"http": http, "websocket": live})
