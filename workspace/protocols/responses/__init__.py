"""Hybrid agents over the OpenAI Responses protocol: served from here, or driven on another server.

A brain is a command that runs unattended and writes a question into its run directory. The runtime
around it asks the question as an item named ``request_info`` and completes the response. The answer
arrives as another request that names the paused response.
"""
