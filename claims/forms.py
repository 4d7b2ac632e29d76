"""The composer's form: a draft with its findings, ready for a template.

The draft's own rules are in `claims.domain.reading`; here each finding becomes
a sentence in the person's language, beside its field.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from typing import TYPE_CHECKING

from claims.domain.draft import (
    EXACTLY,
    PAIRS,
    alternative_field,
    config_field,
    constraint_field,
    pair_field,
    places,
    request_field,
)
from claims.domain.opaque import FORMS, Shape
from claims.domain.spec import MAX_ALTERNATIVES, Kind
from claims.form_parts import (
    EXAMPLES,
    GROUPS,
    PARAMETERS,
    Alternative,
    Capacity,
    ComposeForm,
    Config,
    Constraint,
    Field,
    Group,
    ParameterField,
    Request,
    Selector,
    Toleration,
)
from claims.services.drafting import form_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from claims.domain.draft import (
        AlternativeDraft,
        ConfigDraft,
        ConstraintDraft,
        Draft,
    )
    from claims.domain.opaque import Parameter
    from claims.services.composing import CapacityOffer, Offer
    from claims.services.expressions import Verdict


def submission_key(given: str) -> str:
    """Return the form's key as it came, or a new one where it is none."""
    return str(form_key(given))


def content_key(given: str, content: str) -> uuid.UUID:
    """Return the key of a form with this content.

    Sending it twice is one request; going back, changing it and sending it again
    is another.
    """
    return uuid.uuid5(form_key(given), content)


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
            configs=tuple(self._config(i, row) for i, row in enumerate(draft.configs)),
            groups=tuple(self._groups()),
            base=draft.base,
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

        offer = self.offers.get(row.device_class)
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
                    one(f"tolerations-{k}-seconds", each.seconds),
                    f"remove-toleration:{i}:{j}:{k}",
                )
                for k, each in enumerate(row.tolerations)
            ),
            derived=tuple(
                (
                    one(f"derived-{k}-name", name),
                    one(f"derived-{k}-expression", expression),
                    f"remove-derived:{i}:{j}:{k}",
                )
                for k, (name, expression) in enumerate(row.derived)
            ),
            together=self.verdicts.get(alternative_field(i, j, "together")),
            binding=offer.binding if offer else (),
            is_first=j == 0,
            is_last=is_last,
        )

    def _capacity(self, i: int, j: int, row: AlternativeDraft) -> Iterable[Capacity]:
        """Yield the class's own keys first, then what was asked for besides."""
        offer = self.offers.get(row.device_class)
        offered: tuple[CapacityOffer, ...] = offer.capacity if offer else ()
        published = {each.key: each for each in offered}
        asked = dict(row.capacity)
        keys = [*published, *(key for key in asked if key not in published)]
        for k, key in enumerate(keys):
            prefix = alternative_field(i, j, f"capacity-{k}")
            about = alternative_field(i, j, f"capacity-{key}")
            errors = self.sentences.get(about, ())
            self.inputs[about] = f"{prefix}-value"
            amount, offered_key = asked.get(key, ""), published.get(key)
            given = offered_key.given_for(amount) if offered_key and amount else ()
            yield Capacity(
                key=Field(f"{prefix}-key", key),
                field=Field(f"{prefix}-value", amount, tuple(errors)),
                hints=offered_key.hints if offered_key else (),
                is_published=offered_key is not None,
                is_shared=offered_key is not None and offered_key.is_shared,
                given=given,
            )

    def _bound(self, binds: tuple[str, ...]) -> tuple[tuple[str, str, bool], ...]:
        named = places(self.draft).items()
        return tuple((place, name, place in binds) for place, name in named)

    def _config(self, i: int, row: ConfigDraft) -> Config:
        known = FORMS.get(row.form)
        return Config(
            at=i,
            number=i + 1,
            driver=self._field(config_field(i, "driver"), row.driver),
            form=self._field(config_field(i, "form"), row.form),
            json=self._field(config_field(i, "json"), row.json),
            parameters=tuple(
                self._parameter(i, row, each)
                for each in (known.parameters if known else ())
            ),
            binds=self._field(config_field(i, "binds")),
            offers=self._bound(row.binds),
        )

    def _parameter(self, i: int, row: ConfigDraft, each: Parameter) -> ParameterField:
        choices = ("true", "false") if each.shape is Shape.BOOL else each.choices
        return ParameterField(
            label=PARAMETERS[each.name],
            field=self._field(
                config_field(i, f"value-{each.name}"), row.value(each.name)
            ),
            choices=choices,
            example=EXAMPLES.get(each.name, ""),
        )

    def _groups(self) -> Iterable[Group]:
        for at, (attribute, group) in enumerate(PAIRS.items()):
            rows = getattr(self.draft, attribute)
            if at >= len(PAIRS) // 2 and self.draft.kind != Kind.TEMPLATE and not rows:
                continue
            yield Group(
                at,
                GROUPS[at],
                tuple(
                    (
                        self._field(pair_field(group, k, "key"), key),
                        self._field(pair_field(group, k, "value"), value),
                        f"remove-pair:{at}:{k}",
                    )
                    for k, (key, value) in enumerate(rows)
                ),
            )

    def _constraint(self, i: int, row: ConstraintDraft) -> Constraint:
        return Constraint(
            at=i,
            number=i + 1,
            kind=self._field(constraint_field(i, "kind"), row.kind),
            attribute=self._field(constraint_field(i, "attribute"), row.attribute),
            binds=self._field(constraint_field(i, "binds")),
            offers=self._bound(row.binds),
        )
