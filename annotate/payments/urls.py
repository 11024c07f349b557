"""Routes of payments and ledgers."""

from django.urls import path

from annotate.payments import views

urlpatterns = [
    path("p/<slug:slug>/payments/", views.payment_list, name="payment-list"),
    path("p/<slug:slug>/payments/make/", views.payment_make, name="payment-make"),
    path("p/<slug:slug>/payments/approve/", views.payment_approve, name="payment-approve"),
    path("p/<slug:slug>/payments/panels/", views.panel_payments, name="panel-payments"),
    path("p/<slug:slug>/payments/<int:number>/", views.payment_show, name="payment-show"),
    path("p/<slug:slug>/payments/<int:number>/file/", views.payment_file, name="payment-file"),
    path("p/<slug:slug>/payments/of/<slug:pseudonym>/", views.ledger_show, name="ledger-show"),
]
