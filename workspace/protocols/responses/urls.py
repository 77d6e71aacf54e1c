"""The URLs of the Responses protocol, without a trailing slash, as its clients call them."""

from __future__ import annotations

from django.urls import path, re_path

from workspace.protocols.responses.server import views

urlpatterns = [
    path("v1/responses", views.post_response, name="responses"),
    path("v1/responses/compact", views.refuse_unknown),
    path("v1/responses/input_tokens", views.refuse_unknown),
    path("v1/responses/<str:public_id>", views.get_or_delete_response, name="response"),
    path("v1/responses/<str:public_id>/cancel", views.post_cancel, name="response_cancel"),
    path("v1/responses/<str:public_id>/input_items", views.get_input_items, name="response_inputs"),
    re_path(r"^v1(?:/[\s\S]*)?\Z", views.refuse_unknown),
]
