"""Hybrid agents over the OpenAI Responses protocol: run here and served, or driven elsewhere.

A brain is a command that runs unattended and writes a question into its run directory; the shell
around it asks the question as an item named ``request_info`` and completes the response. The answer
comes back as a request of its own that names the paused response.
"""
