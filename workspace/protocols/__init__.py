"""The agent protocols, one package each. Protocols do not import each other.

``eve``, ``responses`` and ``leaf`` share one anatomy:

- ``wire``: the shapes and names of the protocol's messages.
- ``settings``: the settings of an agent that uses the protocol.
- ``errors``: the errors of the protocol and their status codes.
- ``urls``, ``models``: its routes and its tables, where it has any.
- ``server/``: clients of the protocol call us.
- ``agent/``: we run the agent.
- ``client/``: we call an agent that runs on another server.

``markers`` reads the output of a command-line program. ``common`` is shared by all of them.
"""
