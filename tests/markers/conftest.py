from tests.cast import agent, colleague, owner, session

__all__ = ["agent", "colleague", "owner", "session"]
