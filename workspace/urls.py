from django.contrib import admin
from django.urls import path

from workspace import entry

urlpatterns = [
    path("admin/", admin.site.urls),
    path("enter/<str:token>", entry.enter, name="enter"),
]
