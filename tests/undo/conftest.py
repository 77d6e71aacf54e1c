from tests.cast import agent, colleague, owner, session, stranger

__all__ = ["agent", "colleague", "owner", "session", "stranger"]
