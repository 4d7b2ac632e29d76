"""Forms of the page on admission."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.admission.domain.advice import AdvisorMode, Thresholds
from portal.admission.domain.guards import GuardMode


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
