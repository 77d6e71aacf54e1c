"""Drive remote agents behind any server of the Responses protocol."""
