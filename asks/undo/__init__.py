"""Take an answer back for some seconds: hold a verdict, and retract it or let it take effect."""
