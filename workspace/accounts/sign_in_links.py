"""Signing in by a link that works once.

Opening the link shows a page with a button; only pressing it uses the link up, so mail scanners and
link previews, which open what they see, consume nothing.
"""

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from workspace.models import EntryLink

LIFETIME = timedelta(hours=8)
BACKEND = "django.contrib.auth.backends.ModelBackend"


def issue_token(user: User) -> str:
    """Return the secret part of a new link for ``user``; it is stored nowhere."""
    token = secrets.token_urlsafe(32)
    EntryLink.objects.create(
        token_hash=_hash(token), user=user, expires_at=timezone.now() + LIFETIME
    )
    return token


def issue_path(user: User) -> str:
    """The path of a new link for ``user``.

    Written out: to ask the URLs for it is to load every page, a quarter of a second of each start.
    """
    return f"/enter/{issue_token(user)}"


def use_token(token: str) -> User | None:
    """Use a link up and return whom it signs in, or None when it is used, expired or unknown."""
    now = timezone.now()
    # One guarded statement: of two clicks at the same time only one finds the link unused.
    used = _usable(token).update(used_at=now)
    if not used:
        return None
    return EntryLink.objects.select_related("user").get(token_hash=_hash(token)).user


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def enter(request: HttpRequest, token: str) -> HttpResponse:
    """GET /enter/<token>: who would be signed in, and a button. POST: sign them in."""
    if request.method != "POST":
        link = _usable(token).select_related("user").first()
        return _page(request, link.user if link else None)
    user = use_token(token)
    if user is None:
        return _page(request, None)
    login(request, user, backend=BACKEND)
    return redirect("needs_you")


def _page(request: HttpRequest, person: User | None) -> HttpResponse:
    """The page before signing in, or the one that says why a link does not work (410)."""
    context = {"person": person, "hours": LIFETIME.seconds // 3600}
    page = render(request, "pages/enter.html", context, status=200 if person else 410)
    page.headers["X-Robots-Tag"] = "noindex, nofollow"
    return page


def _usable(token: str) -> QuerySet[EntryLink]:
    """The link, by conditions on its own row: through a join Django would update what a subquery
    found, and of two uses at once the second would not look again after it has waited.
    """
    return EntryLink.objects.filter(
        token_hash=_hash(token),
        used_at=None,
        expires_at__gt=timezone.now(),
        user__in=User.objects.filter(is_active=True),
    )


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
