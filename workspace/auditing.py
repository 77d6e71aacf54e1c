"""The admin site: behind the product's own sign-in, and for staff only."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.apps import AdminConfig
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseRedirect
from django.utils.decorators import method_decorator
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache


class AuditSite(AdminSite):
    """Reading what happened and who decided; people's accounts are kept here too."""

    site_header = site_title = "Needs You: audit"
    index_title = "What happened and who decided"

    @method_decorator(never_cache)
    @method_decorator(login_not_required)
    def login(
        self,
        request: HttpRequest,
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> HttpResponseRedirect:
        """To the one sign-in, which throttles; whoever is signed in and not staff is refused."""
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


class AuditConfig(AdminConfig):
    """Django's admin, with our site as the only one."""

    default_site = "workspace.auditing.AuditSite"
