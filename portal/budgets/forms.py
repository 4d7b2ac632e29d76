"""The forms of budgets and of quotas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from portal.budgets.models import MOST
from portal.budgets.services.editing import FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from portal.budgets.models import Budget

LABELS = {
    "vram": _("VRAM, GiB"),
    "cards": _("Whole cards"),
    "slices": _("Memory slices of partitions"),
    "hours": _("GPU-hours a month"),
}


class LimitsForm(forms.Form):
    """Eight limits; an empty one is none."""

    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    reason = forms.CharField(
        label=_("Why, for the audit trail"), max_length=500, required=False
    )

    def __init__(self, *args: Any, budget: Budget | None = None, **kwargs: Any) -> None:
        if budget is not None:
            initial = {name: getattr(budget, name) for name in FIELDS}
            kwargs["initial"] = initial | {"version": budget.version}
        super().__init__(*args, **kwargs)
        for name in FIELDS:
            self.fields[name] = forms.IntegerField(
                min_value=0,
                max_value=MOST,
                required=False,
                error_messages={
                    "invalid": _("A limit is a whole number, or empty for none.")
                },
            )
            self.fields[name].widget.attrs["class"] = "in"
        self.fields["reason"].widget.attrs["class"] = "in"

    @property
    def rows(self) -> list[tuple[Any, Any, Any]]:
        """(label, soft field, hard field) of each measure."""
        return [
            (label, self[f"{name}_soft"], self[f"{name}_hard"])
            for name, label in LABELS.items()
        ]

    @property
    def limits(self) -> dict[str, int | None]:
        """The limits of a valid form."""
        return {name: self.cleaned_data.get(name) for name in FIELDS}


class NewBudgetForm(LimitsForm):
    """The same, and what the budget is over."""

    scope = forms.ChoiceField(label=_("For"))

    def __init__(
        self, *args: Any, scopes: Iterable[tuple[str, str]] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["scope"] = forms.ChoiceField(label=_("For"), choices=list(scopes))
        self.fields["scope"].widget.attrs["class"] = "in"


class QuotaForm(forms.Form):
    """How many devices of each class a namespace may have, and how many claims."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    claims = forms.IntegerField(
        label=_("Claims"), min_value=0, max_value=MOST, required=False
    )

    def __init__(
        self,
        *args: Any,
        spaces: Iterable[tuple[str, str]] = (),
        classes: Iterable[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.classes = list(classes)
        self.fields["space"] = forms.ChoiceField(
            label=_("Namespace"), choices=list(spaces)
        )
        for name in self.classes:
            self.fields[f"class-{name}"] = forms.IntegerField(
                label=name, min_value=0, max_value=MOST, required=False
            )
        for name, field in self.fields.items():
            if name != "seen":
                field.widget.attrs["class"] = "in"

    @property
    def class_fields(self) -> list[Any]:
        """The field of each class."""
        return [self[f"class-{name}"] for name in self.classes]

    @property
    def devices(self) -> dict[str, int]:
        """Class → devices, of a valid form; classes that were left empty are left out."""
        found = {name: self.cleaned_data.get(f"class-{name}") for name in self.classes}
        return {name: count for name, count in found.items() if count is not None}
