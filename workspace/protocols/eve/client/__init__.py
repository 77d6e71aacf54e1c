"""Drive remote agents behind eve servers, of both eras of the protocol."""
