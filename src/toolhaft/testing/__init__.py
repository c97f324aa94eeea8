"""For tests of servers: play calls that ask, in both eras, and see what they do."""

from .acting import DoneTwice, acts_once
from .playing import Differs, Played, Unanswered, in_both_eras, play

__all__ = ["Differs", "DoneTwice", "Played", "Unanswered", "acts_once", "in_both_eras", "play"]
