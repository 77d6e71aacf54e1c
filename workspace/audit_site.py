"""The admin site, behind the product's own sign-in and for staff only."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.template.response import SimpleTemplateResponse
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache

from workspace.text.visible import visible

V = TypeVar("V", bound=Callable[..., Any])


class AuditSite(AdminSite):
    """Shows events and decisions, and manages the accounts of people."""

    site_header = site_title = "Needs You: audit"
    index_title = "What happened and who decided"

    def admin_view(self, view: V, cacheable: bool = False) -> V:  # noqa: FBT001, FBT002
        """Wrap a view so that hidden characters in texts of agents become visible."""
        # The whole page is rewritten, not each column: every model admin would have to wrap every
        # field it lists, and the one that is forgotten would show a hidden character as nothing.
        inner = super().admin_view(view, cacheable)

        @wraps(inner)
        def shown(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            response: HttpResponseBase = inner(request, *args, **kwargs)
            if isinstance(response, SimpleTemplateResponse) and not _is_of_accounts(response):
                response.add_post_render_callback(_with_hidden_shown)
            return response

        return cast("V", shown)

    @method_decorator(never_cache)
    @method_decorator(login_not_required)
    def login(
        self,
        request: HttpRequest,
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> HttpResponseRedirect:
        """Redirect to the product's sign-in, which throttles; refuse signed-in users without staff."""
        from django.contrib.auth.views import redirect_to_login
        from django.urls import reverse

        wanted = request.GET.get(REDIRECT_FIELD_NAME, "")
        if not url_has_allowed_host_and_scheme(wanted, {request.get_host()}):
            wanted = reverse("admin:index")
        if self.has_permission(request):
            return HttpResponseRedirect(wanted)
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(wanted)


def _is_of_accounts(page: SimpleTemplateResponse) -> bool:
    """Return whether a page edits accounts: its forms must return their values unchanged."""
    about = (page.context_data or {}).get("opts")
    return about is not None and about.app_label == "auth"


def _with_hidden_shown(page: SimpleTemplateResponse) -> None:
    page.content = visible(page.content.decode()).encode()


class AuditConfig(AdminConfig):
    """Django's admin, with our site as the only one."""

    default_site = "workspace.audit_site.AuditSite"
