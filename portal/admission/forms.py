"""Forms of the page on admission."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from inventory.models import Cluster
from portal.admission.domain.advice import AdvisorMode, Thresholds
from portal.admission.domain.guards import GuardMode

if TYPE_CHECKING:
    from portal.admission.models import Fallback


class ThresholdForm(forms.Form):
    """Three thresholds, tried on stored outcomes."""

    safe = forms.FloatField(min_value=0, max_value=1, label=_("Least P(safe)"))
    confidence = forms.FloatField(min_value=0, max_value=1, label=_("Least confidence"))
    severity = forms.FloatField(min_value=0, max_value=3, label=_("Least severity"))

    def thresholds(self) -> Thresholds:
        """Return what was entered."""
        found = self.cleaned_data
        return Thresholds(found["safe"], found["confidence"], found["severity"])


class AdvisorForm(forms.Form):
    """How far the advisor is trusted, and by which thresholds."""

    mode = forms.ChoiceField(choices=[(m.value, m.value) for m in AdvisorMode])
    source = forms.ChoiceField(
        choices=[("kept", ""), ("tried", ""), ("calibrated", "")]
    )


class CalibrateForm(forms.Form):
    """The precision that is wanted."""

    precision = forms.FloatField(min_value=0.01, max_value=1, initial=0.9)


class ModeForm(forms.Form):
    """What becomes of what a rule finds."""

    mode = forms.ChoiceField(choices=[(m.value, m.value) for m in GuardMode])
    version = forms.IntegerField(min_value=1)


class FallbackForm(forms.Form):
    """What a class may fall back to."""

    name = forms.RegexField(
        r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z",
        label=_("Name"),
        max_length=63,
        error_messages={
            "required": _("Give it a name."),
            "invalid": _("Use small letters, digits and “-” alone."),
        },
    )
    cluster = forms.ModelChoiceField(
        Cluster.objects.order_by("name"),
        label=_("Cluster"),
        required=False,
        to_field_name="name",
        empty_label=_("every cluster"),
    )
    device_class = forms.CharField(
        label=_("A claim that asks for the class"),
        max_length=253,
        error_messages={"required": _("Name the class that claims ask for.")},
    )
    alternatives = forms.JSONField(
        label=_("May have instead"),
        widget=forms.Textarea({"rows": 8, "spellcheck": "false"}),
        help_text=_(
            "A JSON list of 1 to 7 subrequests in order, each with name and"
            " deviceClassName; selectors, count, tolerations and capacity if wished."
        ),
        error_messages={
            "required": _("Say what it may have instead."),
            "invalid": _("This is no JSON: look for a missing comma or quote."),
        },
    )
    namespaces = forms.CharField(
        label=_("Only in namespaces"),
        required=False,
        max_length=2_000,
        help_text=_("Patterns such as batch-*, by comma; all where it is empty."),
    )
    needs_advice = forms.BooleanField(
        label=_("only where the advisor is for it"), required=False
    )
    is_enabled = forms.BooleanField(label=_("switched on"), required=False)
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, row: Fallback | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].disabled = row is not None
        for name in ("name", "cluster", "device_class", "alternatives", "namespaces"):
            self.fields[name].widget.attrs["class"] = "in"

    def clean_namespaces(self) -> list[str]:
        """Return the patterns."""
        return str(self.cleaned_data["namespaces"]).replace(",", " ").split()

    def columns(self) -> dict[str, Any]:
        """Return what is stored, by column, without its name and cluster."""
        names = (
            "device_class",
            "alternatives",
            "namespaces",
            "needs_advice",
            "is_enabled",
        )
        return {name: self.cleaned_data[name] for name in names}
