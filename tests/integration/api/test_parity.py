"""Everything that a page does, the API does: each form's address and its operations."""

from __future__ import annotations

import orjson
import pytest

from portal.api.document import openapi_document
from tests.integration.api.test_permissions import TABLE

# What only a person in a browser does, and why.
PAGES_ALONE = {
    **dict.fromkeys(
        [
            "accounts:sign-in",
            "accounts:sign-in-code",
            "accounts:sign-out",
            "accounts:set-password",
            "accounts:password-change",
            "accounts:factor",
            "accounts:factor-begin",
            "accounts:factor-off",
            "accounts:recovery-renew",
        ],
        "a token is no password",
    ),
    "accounts:token-list": "a stolen token must not make others",
    "accounts:language": "of a browser; the API has Accept-Language",
    "accounts:theme": "of a browser",
    "claims:request-pod": "of the demo",
}
DOES = {
    "admission:advisor": "setAdvisor",
    "admission:calibrate": "createCalibration",
    "admission:rule": "changeGuardRule",
    "admission:fallback-new": "createFallback",
    "admission:fallback": "changeFallback deleteFallback",
    "admission:fallback-switch": "changeFallback",
    "accounts:person-list": "createPerson",
    "accounts:person-detail": "changePerson",
    "accounts:person-link": "createPasswordLink",
    "accounts:person-reset": "resetSecondFactor",
    "accounts:tenant-new": "createTenant",
    "accounts:tenant-edit": "changeTenant",
    "accounts:tenant-remove": "deleteTenant",
    "accounts:group-list": "createGroupMapping",
    "accounts:group-remove": "deleteGroupMapping",
    "accounts:token-revoke": "revokeToken",
    "accounts:service-list": "createServiceAccount",
    "accounts:service-detail": "createServiceAccountToken",
    "accounts:service-end": "endServiceAccount",
    "accounts:service-revoke": "revokeServiceAccountToken",
    "notices:notice-read": "markNoticesRead",
    "notices:notice-open": "markNoticesRead",
    "notices:subscription-list": "createSubscription",
    "notices:subscription-rotate": "rotateSubscriptionSecret",
    "notices:subscription-test": "testSubscription",
    "notices:subscription-on": "switchOnSubscription",
    "notices:subscription-remove": "deleteSubscription",
    "notices:delivery-again": "redeliver",
    "inventory:view-save": "saveView",
    "inventory:view-remove": "removeSavedView",
    "inventory:prometheus-set": "setCluster",
    "claims:compose": "createClaimRequest",
    "claims:compose-domain": "createClaimRequest previewComputeDomain",
    "claims:compose-keep": "createDraft changeDraft",
    "claims:compose-given": "buildCondition",
    "claims:compose-builder": "buildCondition listSelectorKeys",
    "claims:compose-cel": "judgeExpression",
    "claims:compose-checks": "checkManifests",
    "claims:compose-manifest": "importManifests",
    "claims:compose-preview": "previewManifests",
    "claims:compose-snippets": "composeWorkloads",
    "claims:draft-discard": "discardDraft",
    "claims:whatif": "whatIf",
    "claims:import": "importManifests",
    "claims:request-release": "releaseClaimRequest",
    "claims:request-cancel": "cancelClaimRequest",
    "claims:request-retry": "retryClaimRequest",
    "claims:preset-compose": "renderPreset",
    "claims:preset-new": "createPreset",
    "claims:preset-edit": "changePreset offerPreset",
    "approvals:approval-decide": "decideApproval",
    "approvals:approval-revoke": "revokeApproval",
    "approvals:extension": "askForExtension decideExtension",
    "approvals:policy-edit": "putPolicy checkPolicy",
    "adoption:plan-move": "moveMigrationPlan",
    "adoption:convert": "convertWorkloads",
    "adoption:mapping": "applyMapping previewMapping",
    "adoption:needs": "tellWorkloadNeed",
    "adoption:needs-ask": "askWorkloadNeeds",
    "budgets:budget-new": "createBudget",
    "budgets:budget-edit": "changeBudget",
    "budgets:budget-quota": "applyQuota previewQuota",
}
FORMS = {
    name
    for name, methods in TABLE.items()
    if set(methods) - {"GET"} and not name.startswith("api:")
}


def test_every_form_has_its_operation_or_a_reason():
    assert FORMS - set(DOES) - set(PAGES_ALONE) == set(), (
        "Give the form an operation of the API, and name it in DOES."
    )
    assert (set(DOES) | set(PAGES_ALONE)) - FORMS == set()


@pytest.mark.parametrize("form", sorted(DOES))
def test_the_operations_are_there(form):
    document = orjson.loads(openapi_document())
    known = {
        operation["operationId"]
        for operations in document["paths"].values()
        for operation in operations.values()
    }
    assert set(DOES[form].split()) <= known
