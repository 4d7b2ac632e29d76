"""A filter becomes one CEL expression that says the same."""

from __future__ import annotations

import pytest

from inventory.domain.selectors import selector_of

KEY = "gpu.nvidia.com/architecture"
ARCHITECTURE = 'device.attributes["gpu.nvidia.com"].architecture'


@pytest.mark.parametrize(
    ("driver", "attributes", "expression", "selector"),
    [
        ("", [], "", ""),
        ("gpu.nvidia.com", [], "", 'device.driver == "gpu.nvidia.com"'),
        ("", [(KEY, {"string": 'a"b'})], "", ARCHITECTURE + ' == "a\\"b"'),
        ("", [("a.b/numa", {"int": 3})], "", 'device.attributes["a.b"].numa == 3'),
        ("", [("a.b/ok", {"bool": True})], "", 'device.attributes["a.b"].ok == true'),
        (
            "",
            [("a.b/driverVersion", {"version": "580.1.0"})],
            "",
            'device.attributes["a.b"].driverVersion.compareTo(semver("580.1.0")) == 0',
        ),
        ("", [("a.b/x", {"strings": ["a"]}), ("a.b/y", None)], "true", "true"),
        ("", [("a.b/x-y", {"int": 1})], "", ""),
        ("", [], "a || b", "a || b"),
        ("d", [], "a || b", 'device.driver == "d" &&\n(a || b)'),
    ],
)
def test_selector_of(driver, attributes, expression, selector):
    assert selector_of(driver, attributes, expression) == selector
