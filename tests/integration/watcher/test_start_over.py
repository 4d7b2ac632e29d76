"""What a cluster that is another now leaves in the row for whoever leads next."""

from __future__ import annotations

from inventory.models import Cluster
from inventory.services.watching.messages import Changed, Inbox, KindState, Listed
from inventory.services.watching.writing import Writer


def test_another_cluster_right_after_one_set_back_may_lose_everything(db):
    """A server that is just starting shows lower versions before it shows its uid."""
    cluster = Cluster.objects.create(name="demo", kube_system_uid="first")
    writer = Writer(cluster, Inbox())
    writer.write([Listed("ResourceSlice", [], "900")])

    for uid in ("", "second"):
        stored = Cluster.objects.get(pk=cluster.pk)
        assert not Writer(stored, Inbox()).write([Changed(uid)])

    row = Cluster.objects.get(pk=cluster.pk)
    assert row.kube_system_uid == "second"
    entry = row.kinds["ResourceSlice"]
    assert entry["accept"] is True
    assert entry["state"] == KindState.LISTING
    assert entry["resourceVersion"] == ""
