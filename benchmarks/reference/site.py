"""The views of the reference site, with which the rating page is compared.

A cycle is one POST and one GET, with eleven queries:

POST  1 session  2 user  3 assignment, locked  4 ten judgments in one insert  5 assignment closed
      6 a free HIT claimed (UPDATE of a SELECT … SKIP LOCKED)  7 assignment inserted
GET   8 session  9 user  10 assignment with its HIT  11 items
"""

from django.contrib.auth.decorators import login_required
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import path

from benchmarks.reference.models import Assignment, Item, Judgment

CLAIM = """
UPDATE reference_hit SET places_open = places_open - 1 WHERE id = (
    SELECT h.id FROM reference_hit h WHERE h.places_open > 0
      AND NOT EXISTS (SELECT 1 FROM reference_assignment a WHERE a.hit_id = h.id AND a.user_id = %s OFFSET 0)
    ORDER BY h.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) RETURNING id
"""


@login_required
def start(request: HttpRequest) -> HttpResponse:
    with transaction.atomic():
        return _claim(request.user.pk)


@login_required
def work(request: HttpRequest, pk: int) -> HttpResponse:
    if request.method == "POST":
        with transaction.atomic():
            assignment = get_object_or_404(
                Assignment.objects.select_for_update(), pk=pk, user=request.user, is_open=True
            )
            Judgment.objects.bulk_create(
                Judgment(assignment=assignment, item_id=int(key[1:]), value=int(value))
                for key, value in request.POST.items()
                if key.startswith("a")
            )
            Assignment.objects.filter(pk=pk).update(is_open=False)
            return _claim(request.user.pk)
    assignment = get_object_or_404(Assignment.objects.select_related("hit"), pk=pk, user=request.user)
    items = Item.objects.filter(hit=assignment.hit_id)
    return render(request, "page.html", {"hit": assignment.hit, "items": items, "points": range(1, 6)})


def _claim(user_id: int) -> HttpResponse:
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, [user_id])
        row = cursor.fetchone()
    if row is None:
        return HttpResponse("nothing left")
    assignment = Assignment.objects.create(hit_id=row[0], user_id=user_id)
    return HttpResponseRedirect(f"/work/{assignment.pk}/")


urlpatterns = [path("work/", start), path("work/<int:pk>/", work)]
