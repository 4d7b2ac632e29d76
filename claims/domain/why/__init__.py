"""Why a claim fits nowhere, and the smallest change that would let it fit."""
