"""What the advisor is asked: constants, in Korean and in English.

No value of a claim or of a cluster ever enters them: facts go into the state, rules
stand here. The criteria of a score are a list, whose order is the score.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ACTION = "allocation_action"
SEVERITY = "fragmentation_severity"
SAFE = "is_topology_safe"
ADMIT, MUTATE, REJECT = "admit_primary", "mutate_to_fallback", "reject_claim"
ACTIONS = (ADMIT, MUTATE, REJECT)
LANGUAGES = ("ko", "en")

_KO: dict[str, Any] = {
    ACTION: {
        "type": "choice",
        "instructions": "실시간 ResourceSlice 가용 상태와 유입된 ResourceClaim 사양을 대조하여 어드미션 처리 방식을 판정하시오.",
        "criteria": {
            ADMIT: "요청된 용량과 개수를 즉시 수용할 수 있는 연속 가용 ResourceSlice가 충분하며 adminAccess 위반이 없는 상태.",
            MUTATE: "1순위 요청 용량을 수용할 연속 슬라이스가 부족하나, 가용한 하위 슬라이스 또는 MIG 풀로 폴백 규칙 주입이 가능한 오프라인/배치 워크로드 상태.",
            REJECT: "클러스터 가용 용량을 초과하고 대체 가능한 폴백 풀이 전무하거나, 비특권 네임스페이스에서 adminAccess를 요청한 상태.",
        },
    },
    SEVERITY: {
        "type": "score",
        "instructions": "대상 DeviceClass 풀의 현재 VRAM 슬라이스 단편화 수준을 평가하시오.",
        "criteria": [
            "전체 물리 GPU 중 50% 이상이 40GiB 이상의 연속 여유 VRAM을 보유하여 대형 단일 클레임 즉시 수용 가능.",
            "40GiB 이상 여유 GPU는 50% 미만이나 16GiB~32GiB 연속 여유 슬라이스가 요청 수량 이상 존재하여 중형 클레임 수용 가능.",
            "16GiB 이상 연속 여유 슬라이스가 고갈되고 8GiB 이하 소형 조각이나 MIG 잔여분만 존재하여 대형 클레임 진입 시 스케줄링 교착 발생.",
            "가용 VRAM 슬라이스와 대체 MIG 인스턴스가 모두 고갈되어 신규 클레임 수용이 불가능한 포화 상태.",
        ],
    },
    SAFE: {
        "type": "noul",
        "instructions": "해당 클레임이 멀티노드 NVLink IMEX 도메인 충돌이나 비인가 adminAccess 권한 상승 위험 없이 안전하게 스케줄링 가능한가?",
    },
}
_EN: dict[str, Any] = {
    ACTION: {
        "type": "choice",
        "instructions": "Compare what the ResourceSlices have free now with what the incoming ResourceClaim asks for, and judge how admission should treat it.",
        "criteria": {
            ADMIT: "Enough contiguous free ResourceSlices can take the requested capacity and count at once, and adminAccess is not violated.",
            MUTATE: "Too few contiguous slices can take the capacity that is asked for first, but it is an offline or batch workload and a fallback rule to smaller free slices or a MIG pool can be injected.",
            REJECT: "It exceeds the cluster's free capacity and there is no pool to fall back to, or adminAccess is asked for in a namespace that is not privileged.",
        },
    },
    SEVERITY: {
        "type": "score",
        "instructions": "Rate how fragmented the VRAM slices of the target DeviceClass's pool are now.",
        "criteria": [
            "At least 50% of all physical GPUs have at least 40GiB of contiguous free VRAM, so that a large single claim can be taken at once.",
            "Fewer than 50% of the GPUs have 40GiB free, but contiguous free slices of 16GiB to 32GiB exist in at least the requested number, so that a medium claim can be taken.",
            "Contiguous free slices of 16GiB or more are used up and only small pieces of 8GiB or less or MIG remainders exist, so that a large claim would deadlock scheduling.",
            "Free VRAM slices and alternative MIG instances are all used up; no new claim can be taken.",
        ],
    },
    SAFE: {
        "type": "noul",
        "instructions": "Can this claim be scheduled safely, without risk of a conflict between multi-node NVLink IMEX domains or of an unauthorised escalation by adminAccess?",
    },
}
QUESTIONS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"ko": MappingProxyType(_KO), "en": MappingProxyType(_EN)}
)
SCORE_LEVELS = len(_KO[SEVERITY]["criteria"])
