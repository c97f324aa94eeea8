"""For tests of servers: play calls that ask, in both eras, see what they do, keep contracts."""

from .acting import DoneTwice, acts_once
from .contract import ContractChanged, assert_contract, contract_of
from .playing import Differs, Played, Unanswered, in_both_eras, play

__all__ = [
    "ContractChanged",
    "Differs",
    "DoneTwice",
    "Played",
    "Unanswered",
    "acts_once",
    "assert_contract",
    "contract_of",
    "in_both_eras",
    "play",
]
