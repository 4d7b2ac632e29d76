"""Slips of other languages in CEL, put right between strings alone."""

from __future__ import annotations

import pytest

from claims.domain.checks.syntax import mended
from inventory.domain.quantity import is_quantity, normal_quantity


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("device.driver = 'x'", "device.driver == 'x'"),
        ("device.driver === 'x'", "device.driver == 'x'"),
        ("a == 'x' and not b OR c <> 1", "a == 'x' && !b || c != 1"),
        ("a == True & b | c", "a == true && b || c"),
        ("a == “x and y”", 'a == "x and y"'),
        (
            "device.attributes['gpu.amd.com/productName'] = 'a = b'",
            "device.attributes['gpu.amd.com'].productName == 'a = b'",
        ),
        (
            'device.capacity["d"].memory >= quantity("1Gi")',
            'device.capacity["d"].memory.compareTo(quantity("1Gi")) >= 0',
        ),
    ],
)
def test_a_slip_is_put_right(written, meant):
    assert mended(written) == meant


@pytest.mark.parametrize(
    "sound",
    [
        "a <= b && c >= d || e != f",
        "'and' in x || x == 'or = | &'",
        "device.attributes['a.b'].order == 1",
    ],
)
def test_what_is_sound_is_left(sound):
    assert mended(sound) is None


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("16GB", "16G"),
        ("16 gib", "16Gi"),
        ("1.5gi", "1.5Gi"),
        ("16KB", "16k"),
        ("512mb", "512M"),
        ("5 m", None),
        ("sixteen", None),
        ("", None),
    ],
)
def test_a_size_as_people_write_it(written, meant):
    assert not is_quantity(written)
    assert normal_quantity(written) == meant
    assert meant is None or is_quantity(meant)
