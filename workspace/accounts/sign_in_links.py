"""Sign in with a link that works once.

Opening the link shows a page with a button, and only the button uses the link. Mail scanners and
link previews open links, but do not use them.
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
    """Return the secret part of a new link for ``user``; only its hash is stored."""
    token = secrets.token_urlsafe(32)
    EntryLink.objects.create(
        token_hash=_hash(token), user=user, expires_at=timezone.now() + LIFETIME
    )
    return token


def issue_path(user: User) -> str:
    """Return the path of a new link for ``user``."""
    # Not by reverse(): that loads every page, which takes a quarter of a second at each start.
    return f"/enter/{issue_token(user)}"


def use_token(token: str) -> User | None:
    """Use a link; return the person to sign in, or None if it is used, expired or unknown."""
    now = timezone.now()
    # One guarded statement: of two simultaneous clicks only one finds the link unused.
    used = _usable(token).update(used_at=now)
    if not used:
        return None
    return EntryLink.objects.select_related("user").get(token_hash=_hash(token)).user


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def enter(request: HttpRequest, token: str) -> HttpResponse:
    """GET /enter/<token>: show the person and a button. POST: sign the person in."""
    if request.method != "POST":
        link = _usable(token).select_related("user").first()
        return _page(request, link.user if link else None)
    user = use_token(token)
    if user is None:
        return _page(request, None)
    login(request, user, backend=BACKEND)
    return redirect("needs_you")


def _page(request: HttpRequest, person: User | None) -> HttpResponse:
    """Render the page before signing in, or the one for a link that does not work (410)."""
    context = {"person": person, "hours": LIFETIME.seconds // 3600}
    page = render(request, "pages/enter.html", context, status=200 if person else 410)
    page.headers["X-Robots-Tag"] = "noindex, nofollow"
    return page


def _usable(token: str) -> QuerySet[EntryLink]:
    """Select the link if it can be used, by conditions on its own row only.

    With a join, Django would update the result of a subquery, which PostgreSQL does not evaluate again
    after it waited for a simultaneous use.
    """
    return EntryLink.objects.filter(
        token_hash=_hash(token),
        used_at=None,
        expires_at__gt=timezone.now(),
        user__in=User.objects.filter(is_active=True),
    )


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
