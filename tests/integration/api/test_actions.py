"""Whatever a page does, the API does: each form's address has its twin below /api/v1.

An address that takes a form and that nobody named here fails the test. What has no twin
says why.
"""

from __future__ import annotations

import pytest

from tests.integration.api.test_permissions import TABLE

# A token must not be able to change what guards the account that it belongs to.
GUARDS_THE_ACCOUNT = frozenset(
    {
        *("accounts:sign-in", "accounts:sign-in-code", "accounts:sign-out"),
        *("accounts:set-password", "accounts:password-change"),
        *("accounts:factor", "accounts:factor-begin", "accounts:factor-off"),
        "accounts:recovery-renew",
    }
)
# Kept in the browser, for its pages alone; the API takes Accept-Language.
OF_THE_BROWSER = frozenset({"accounts:language", "accounts:theme"})
# Plays a workload where this is the demo.
OF_THE_DEMO = frozenset({"claims:request-pod"})
POST, PUT, PATCH, DELETE = "POST", "PUT", "PATCH", "DELETE"
TWINS = {
    "accounts:group-list": {"group-mapping-list": POST},
    "accounts:group-remove": {"group-mapping-detail": DELETE},
    "accounts:person-detail": {"person-detail": PUT},
    "accounts:person-link": {"person-link": POST},
    "accounts:person-list": {"person-list": POST},
    "accounts:person-reset": {"person-reset": POST},
    "accounts:service-detail": {"service-token-list": POST},
    "accounts:service-end": {"service-account-detail": DELETE},
    "accounts:service-list": {"service-account-list": POST},
    "accounts:service-revoke": {"service-token-detail": DELETE},
    "accounts:tenant-edit": {"tenant-detail": PUT},
    "accounts:tenant-new": {"tenant-list": POST},
    "accounts:tenant-remove": {"tenant-detail": DELETE},
    # A token makes no other token of a person; service accounts have theirs.
    "accounts:token-list": {"service-token-list": POST},
    "accounts:token-revoke": {"token-detail": DELETE},
    "admission:advisor": {"admission-advisor": PATCH},
    "admission:calibrate": {"admission-calibration-list": POST},
    "admission:fallback": {"admission-fallback": PATCH},
    "admission:fallback-new": {"admission-fallback-list": POST},
    "admission:fallback-switch": {"admission-fallback": PATCH},
    "admission:rule": {"admission-rule": PATCH},
    "adoption:convert": {"convert": POST},
    "adoption:mapping": {"mapping-list": POST, "mapping-preview": POST},
    "adoption:needs": {"need-answers": POST},
    "adoption:needs-ask": {"need-questions": POST},
    "adoption:plan-move": {"migration-move": POST},
    "approvals:approval-decide": {"approval-decide": POST},
    "approvals:approval-revoke": {"approval-revoke": POST},
    "approvals:extension": {"extension-list": POST, "extension-decide": POST},
    "approvals:policy-edit": {"policy": PUT, "policy-check": POST},
    "budgets:budget-edit": {"budget-detail": PUT},
    "budgets:budget-new": {"budget-list": POST},
    "budgets:budget-quota": {"quota-list": POST},
    "claims:compose": {"request-list": POST, "check": POST},
    "claims:compose-builder": {"conditions": POST},
    "claims:compose-cel": {"cel": POST},
    "claims:compose-checks": {"check": POST},
    "claims:compose-domain": {"request-list": POST, "domain-preview": POST},
    "claims:compose-given": {"conditions": POST},
    "claims:compose-keep": {"draft-list": POST, "draft": PUT},
    "claims:compose-manifest": {"check": POST},
    "claims:compose-preview": {"preview": POST},
    "claims:compose-snippets": {"workloads": POST},
    "claims:draft-discard": {"draft": DELETE},
    "claims:import": {"import": POST},
    "claims:preset-compose": {"preset-render": POST, "request-list": POST},
    "claims:preset-edit": {"preset": PUT, "preset-offer": POST},
    "claims:preset-new": {"preset-list": POST},
    "claims:request-cancel": {"request-cancel": POST},
    "claims:request-release": {"request-release": POST},
    "claims:request-retry": {"request-retry": POST},
    "claims:whatif": {"what-if": POST},
    "inventory:prometheus-set": {"cluster-detail": PATCH},
    "inventory:view-remove": {"view-detail": DELETE},
    "inventory:view-save": {"view-list": POST},
    "notices:delivery-again": {"delivery-redeliver": POST},
    "notices:notice-open": {"notice-read": POST},
    "notices:notice-read": {"notice-read": POST},
    "notices:subscription-list": {"subscription-list": POST},
    "notices:subscription-on": {"subscription-on": POST},
    "notices:subscription-remove": {"subscription-detail": DELETE},
    "notices:subscription-rotate": {"subscription-rotate": POST},
    "notices:subscription-test": {"subscription-test": POST},
}
ACTIONS = sorted(
    name
    for name, methods in TABLE.items()
    if POST in methods and not name.startswith(("api:", "admission-hooks:"))
)


@pytest.mark.parametrize("name", ACTIONS)
def test_what_a_page_does_the_api_does(name):
    if name in GUARDS_THE_ACCOUNT | OF_THE_BROWSER | OF_THE_DEMO:
        return
    assert name in TWINS, "Say which address of the API does the same, or build it."
    missing = [
        (twin, method)
        for twin, method in TWINS[name].items()
        if method not in TABLE[f"api:{twin}"]
    ]
    assert missing == []


def test_nothing_is_named_that_is_no_action_of_a_page():
    known = {*TWINS, *GUARDS_THE_ACCOUNT, *OF_THE_BROWSER, *OF_THE_DEMO}
    assert known <= set(ACTIONS)
