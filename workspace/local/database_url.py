"""Parse DATABASE_URL for Django."""

import dj_database_url
from django.core.exceptions import ImproperlyConfigured


def parse_database_url(url: str) -> dict[str, object]:
    """Return Django's settings for the URL of a PostgreSQL database.

    Raises ImproperlyConfigured. Its text omits the URL, which may contain a password.
    """
    try:
        place = dj_database_url.parse(url)
    except ValueError:
        place = {}
    if place.get("ENGINE") != "django.db.backends.postgresql":
        raise ImproperlyConfigured(
            "DATABASE_URL is not the URL of a PostgreSQL database, "
            "such as postgresql://user:password@host:5432/name."
        )
    return dict(place)
