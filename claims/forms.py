"""The composer's form: a draft with its findings, ready for a template.

The draft's own rules are in `claims.domain.reading`; here each finding becomes
a sentence in the person's language, beside its field.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from claims.domain.draft import (
    EXACTLY,
    alternative_field,
    constraint_field,
    places,
    request_field,
)
from claims.domain.spec import MAX_ALTERNATIVES, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from claims.domain.draft import AlternativeDraft, ConstraintDraft, Draft
    from claims.services.composing import Offer
    from claims.services.expressions import Verdict

OPERATORS = (("Exists", _("exists")), ("Equal", _("equals")))
EFFECTS = (
    ("", _("any effect")),
    ("NoSchedule", "NoSchedule"),
    ("NoExecute", "NoExecute"),
    ("None", "None"),
)


@dataclass(frozen=True, slots=True)
class Field:
    """One input: its name, what was typed, and what is wrong with it."""

    name: str
    value: str = ""
    errors: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the input."""
        return f"f-{self.name}"

    @property
    def error_id(self) -> str:
        """The id of the sentences about it."""
        return f"{self.id}-error"


@dataclass(frozen=True, slots=True)
class Selector:
    """A CEL field with the verdict on it, or None where it was not judged."""

    field: Field
    verdict: Verdict | None
    remove: str


@dataclass(frozen=True, slots=True)
class Capacity:
    """A capacity request: the key's hidden field, the quantity's, and a hint."""

    key: Field
    field: Field
    hints: tuple[str, ...]
    is_published: bool
    is_shared: bool

    @property
    def is_plain(self) -> bool:
        """Whether it stands among the first fields, not among the further ones."""
        return self.is_shared or not self.is_published


@dataclass(frozen=True, slots=True)
class Toleration:
    """One toleration's fields."""

    key: Field
    operator: Field
    value: Field
    effect: Field
    remove: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """One alternative with its fields; `place` is "request:alternative"."""

    place: str
    number: int
    name: Field
    device_class: Field
    mode: Field
    count: Field
    admin: Field
    admin_is_on: bool
    selectors: tuple[Selector, ...]
    capacity: tuple[Capacity, ...]
    tolerations: tuple[Toleration, ...]
    together: Verdict | None
    is_first: bool
    is_last: bool

    @property
    def further(self) -> int:
        """How many capacity keys are hidden at first: no amount of them is shared."""
        return sum(not each.is_plain for each in self.capacity)

    @property
    def further_is_open(self) -> bool:
        """Whether one of those was asked for, or has something wrong with it."""
        return any(
            each.field.value or each.field.errors
            for each in self.capacity
            if not each.is_plain
        )


@dataclass(frozen=True, slots=True)
class Request:
    """One request with its alternatives."""

    at: int
    number: int
    name: Field
    mode: Field
    alternatives: tuple[Alternative, ...]
    is_list: bool
    is_full: bool


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint; `offers` are (position, name, is bound)."""

    at: int
    number: int
    kind: Field
    attribute: Field
    binds: Field
    offers: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True, slots=True)
class ComposeForm:
    """The whole form as a template shows it."""

    submission_key: str
    kind: Field
    namespace: Field
    name: Field
    requests: tuple[Request, ...]
    constraints: tuple[Constraint, ...]
    justification: Field
    hours: Field
    is_justified: bool  # whether reason and length are asked
    problems: tuple[tuple[str, str], ...]  # (id of the input, sentence)
    focus: str = ""
    kinds: tuple[str, ...] = field(default=tuple(kind.value for kind in Kind))
    operators: tuple[tuple[str, object], ...] = OPERATORS
    effects: tuple[tuple[str, object], ...] = EFFECTS


def submission_key(given: str) -> str:
    """Return the form's key as it came, or a new one where it is none."""
    try:
        return str(uuid.UUID(given))
    except ValueError:
        return str(uuid.uuid4())


class FormBuilder:
    """Puts together draft, sentences, verdicts and what the cluster offers."""

    def __init__(
        self,
        draft: Draft,
        *,
        sentences: Iterable[tuple[str, str]],
        verdicts: Mapping[str, Verdict],
        offers: Mapping[str, Offer],
    ) -> None:
        self.draft = draft
        self.verdicts = verdicts
        self.offers = offers
        self.sentences: dict[str, list[str]] = defaultdict(list)
        # A finding names a capacity by its key; its input has a number.
        self.inputs: dict[str, str] = {}
        for name, text in sentences:
            self.sentences[name].append(text)

    def build(self, *, key: str, focus: str = "") -> ComposeForm:
        """Return the form; `focus` names the field that gets the cursor."""
        draft = self.draft
        requests = tuple(self._request(i) for i in range(len(draft.requests)))
        return ComposeForm(
            submission_key=submission_key(key),
            kind=self._field("kind", draft.kind),
            namespace=self._field("namespace", draft.namespace),
            name=self._field("name", draft.name),
            requests=requests,
            justification=self._field("justification", draft.justification),
            hours=self._field("hours", draft.lasting),
            is_justified=draft.is_privileged
            or draft.hours is not None
            or "justification" in self.sentences
            or "hours" in self.sentences,
            constraints=tuple(
                self._constraint(i, row) for i, row in enumerate(draft.constraints)
            ),
            problems=tuple(
                (f"f-{self.inputs.get(name, name)}", text)
                for name, texts in self.sentences.items()
                for text in texts
            ),
            focus=f"f-{focus}" if focus else "",
        )

    def _field(self, name: str, value: str = "") -> Field:
        return Field(name, value, tuple(self.sentences.get(name, ())))

    def _request(self, i: int) -> Request:
        row = self.draft.requests[i]
        last = len(row.alternatives) - 1
        return Request(
            at=i,
            number=i + 1,
            name=self._field(request_field(i, "name"), row.name),
            mode=self._field(request_field(i, "mode"), row.mode),
            alternatives=tuple(
                self._alternative(i, j, alternative, is_last=j == last)
                for j, alternative in enumerate(row.alternatives)
            ),
            is_list=row.mode != EXACTLY or last > 0,
            is_full=last + 1 >= MAX_ALTERNATIVES,
        )

    def _alternative(
        self, i: int, j: int, row: AlternativeDraft, *, is_last: bool
    ) -> Alternative:
        def one(part: str, value: str = "") -> Field:
            return self._field(alternative_field(i, j, part), value)

        return Alternative(
            place=f"{i}:{j}",
            number=j + 1,
            name=one("name", row.name),
            device_class=one("class", row.device_class),
            mode=one("mode", row.allocation_mode),
            count=one("count", row.count),
            admin=one("admin"),
            admin_is_on=row.admin_access,
            selectors=tuple(
                Selector(
                    one(f"selectors-{k}", text),
                    self.verdicts.get(alternative_field(i, j, f"selectors-{k}")),
                    f"remove-selector:{i}:{j}:{k}",
                )
                for k, text in enumerate(row.selectors)
            ),
            capacity=tuple(self._capacity(i, j, row)),
            tolerations=tuple(
                Toleration(
                    one(f"tolerations-{k}-key", each.key),
                    one(f"tolerations-{k}-operator", each.operator),
                    one(f"tolerations-{k}-value", each.value),
                    one(f"tolerations-{k}-effect", each.effect),
                    f"remove-toleration:{i}:{j}:{k}",
                )
                for k, each in enumerate(row.tolerations)
            ),
            together=self.verdicts.get(alternative_field(i, j, "together")),
            is_first=j == 0,
            is_last=is_last,
        )

    def _capacity(self, i: int, j: int, row: AlternativeDraft) -> Iterable[Capacity]:
        """Yield the class's own keys first, then what was asked for besides."""
        offer = self.offers.get(row.device_class)
        published = {each.key: each for each in offer.capacity} if offer else {}
        asked = dict(row.capacity)
        keys = [*published, *(key for key in asked if key not in published)]
        for k, key in enumerate(keys):
            prefix = alternative_field(i, j, f"capacity-{k}")
            about = alternative_field(i, j, f"capacity-{key}")
            errors = self.sentences.get(about, ())
            self.inputs[about] = f"{prefix}-value"
            yield Capacity(
                key=Field(f"{prefix}-key", key),
                field=Field(f"{prefix}-value", asked.get(key, ""), tuple(errors)),
                hints=published[key].hints if key in published else (),
                is_published=key in published,
                is_shared=key in published and published[key].is_shared,
            )

    def _constraint(self, i: int, row: ConstraintDraft) -> Constraint:
        return Constraint(
            at=i,
            number=i + 1,
            kind=self._field(constraint_field(i, "kind"), row.kind),
            attribute=self._field(constraint_field(i, "attribute"), row.attribute),
            binds=self._field(constraint_field(i, "binds")),
            offers=tuple(
                (place, name, place in row.binds)
                for place, name in places(self.draft).items()
            ),
        )
