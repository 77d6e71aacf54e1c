"""Read-only admin pages, for audits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.options import InlineModelAdmin
from django.contrib.admin.views.main import ChangeList
from django.contrib.admin.widgets import AutocompleteSelect
from django.contrib.auth.models import User
from django.db.models import ForeignKey, Model, QuerySet
from django.forms import Media, ModelChoiceField
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

    AuditedAdmin = admin.ModelAdmin[Model]
    AuditedInline = InlineModelAdmin[Model, Model]
else:
    AuditedAdmin, AuditedInline = admin.ModelAdmin, InlineModelAdmin


class ReadOnly:
    """Deny adding, changing and deleting to everybody. Viewing needs the view permission."""

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:  # noqa: ARG002
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:  # noqa: ARG002
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:  # noqa: ARG002
        return False


class Audited(ReadOnly, AuditedAdmin):
    """Read-only list and detail pages. A detail page links to the lists of all rows that refer to it."""

    actions = None
    list_per_page = 50
    show_full_result_count = False
    readonly_fields = ("lists",)

    @property
    def media(self) -> Media:
        """Return the scripts and styles, including those of ``PersonFilter``."""
        return super().media + AutocompleteSelect(None, self.admin_site).media

    @admin.display(description="What belongs to it")
    def lists(self, shown: Model) -> SafeString:
        links = format_html_join(" · ", '<a href="{}">{}</a>', self._lists(shown))
        return links or SafeString("-")

    def _lists(self, shown: Model) -> Iterator[tuple[str, str]]:
        for relation in self.opts.related_objects:
            model = relation.related_model
            if not self.admin_site.is_registered(model):
                continue
            query = urlencode({f"{relation.field.name}__id__exact": shown.pk})
            label = f"{model._meta.verbose_name_plural} ({relation.field.verbose_name})"
            yield f"{_page(model, 'changelist')}?{query}", label


class AuditedTable(ReadOnly, AuditedInline):
    """A read-only table of the rows that belong to the shown row."""

    template = "admin/edit_inline/tabular.html"
    extra = 0
    can_delete = False


def linked(field: str, words: StrOrPromise = "") -> Callable[[Any], SafeString | str]:
    """Return a column that links to the target of a foreign key. List it in ``list_select_related``."""

    @admin.display(description=words or field.replace("_", " "), ordering=field)
    def column(row: Any) -> SafeString | str:  # noqa: ANN401 -- a row of whichever model has it
        target = getattr(row, field)
        return link_to(target) if target is not None else "-"

    column.__name__ = f"linked_{field}"
    return column


def link_to(target: Model) -> SafeString:
    """Return a link to the admin page of a row."""
    return format_html('<a href="{}">{}</a>', _page(type(target), "change", target.pk), target)


def _page(model: type[Model], page: str, *key: object) -> str:
    names = model._meta.app_label, model._meta.model_name
    try:
        return reverse(f"admin:{names[0]}_{names[1]}_{page}", args=key)
    except NoReverseMatch:
        return ""


class PersonFilter(admin.FieldListFilter):
    """Filter by one person. Typing the beginning of a name finds the person."""

    template = "admin/person_filter.html"
    field: ForeignKey[Any, Any]

    def expected_parameters(self) -> list[str | None]:
        return [f"{self.field_path}__id__exact"]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        filtered = super().queryset(request, queryset) if self._chosen() else None
        return queryset if filtered is None else filtered

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Yield one choice: the input field, and the list's other filters."""
        name = str(self.expected_parameters()[0])
        others = [
            (key, value)
            for key, values in changelist.filter_params.items()
            for value in values
            if key != name
        ]
        yield {
            "widget": self._widget(changelist).render(name, self._chosen()),
            "others": others,
            "everybody": changelist.get_query_string(remove=[name]),
            "chosen": self._chosen(),
        }

    def _chosen(self) -> str:
        chosen: list[Any] = list(self.used_parameters.values())
        return str(chosen[0][-1]) if chosen else ""

    def _widget(self, changelist: ChangeList) -> AutocompleteSelect:
        people: QuerySet[User] = User.objects.all()
        widget = AutocompleteSelect(
            self.field,
            changelist.model_admin.admin_site,
            attrs={"id": f"person-{self.field_path}", "aria-label": self.title},
        )
        widget.choices = ModelChoiceField(people).choices
        return widget
