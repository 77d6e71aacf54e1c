"""The doors of the Responses protocol, without a slash at the end, as its clients call them."""

from __future__ import annotations

from django.urls import path

from workspace.protocols.responses.server import views

urlpatterns = [
    path("v1/responses", views.responses, name="responses"),
    path("v1/responses/<str:public_id>", views.response, name="response"),
    path("v1/responses/<str:public_id>/cancel", views.cancel, name="response_cancel"),
    path("v1/responses/<str:public_id>/input_items", views.input_items, name="response_inputs"),
]
