"""An expert for birds: it asks what was seen, and tells which bird that was.

The knowledge is that of the bird expert in Dennis Merritt's «Building Expert Systems in Prolog». A
rule asks for all of its conditions at once; what was answered is not asked again; whoever declines
to answer says no.

    python -m toolhaft run examples/birds.py
"""

from typing import Any, Literal

from toolhaft import Accepted, Context, Elicit, Server

server = Server("birds", version="1.0.0")

Facts = dict[str, str]

# Attributes with several values are asked for by a menu, all others by yes or no.
MENUS = {
    "size": Literal["large", "plump", "medium", "small"],
    "flight": Literal["ponderous", "powerful", "agile", "flap_glide"],
    "flight_profile": Literal["flat", "v_shaped"],
    "tail": Literal["narrow_at_tip", "forked", "long_rusty", "square"],
}
ORDERS: dict[str, Facts] = {
    "tubenose": {"nostrils": "external_tubular", "live": "at_sea", "bill": "hooked"},
    "waterfowl": {"feet": "webbed", "bill": "flat"},
    "falconiforms": {"eats": "meat", "feet": "curved_talons", "bill": "sharp_hooked"},
    "passerformes": {"feet": "one_long_backward_toe"},
}
FAMILIES: dict[str, tuple[str, Facts]] = {
    "albatross": ("tubenose", {"size": "large", "wings": "long_narrow"}),
    "petrel": ("tubenose", {"size": "medium", "flight": "flap_glide"}),
    "swan": ("waterfowl", {"neck": "long", "color": "white", "flight": "ponderous"}),
    "goose": ("waterfowl", {"size": "plump", "flight": "powerful"}),
    "duck": ("waterfowl", {"feed": "on_water_surface", "flight": "agile"}),
    "vulture": ("falconiforms", {"feed": "scavenge", "wings": "broad"}),
    "falcon": (
        "falconiforms",
        {"wings": "long_pointed", "head": "large", "tail": "narrow_at_tip"},
    ),
    "flycatcher": ("passerformes", {"bill": "flat", "eats": "flying_insects"}),
    "swallow": ("passerformes", {"wings": "long_pointed", "bill": "short"}),
}
BIRDS: dict[str, tuple[str, Facts]] = {
    "laysan_albatross": ("albatross", {"color": "white"}),
    "black_footed_albatross": ("albatross", {"color": "dark"}),
    "fulmar": ("petrel", {}),
    "whistling_swan": ("swan", {"voice": "muffled_musical_whistle"}),
    "trumpeter_swan": ("swan", {"voice": "loud_trumpeting"}),
    "canada_goose": ("goose", {"head": "black", "cheek": "white"}),
    "snow_goose": ("goose", {"color": "white"}),
    "mallard": ("duck", {"voice": "quack"}),
    "pintail": ("duck", {"voice": "short_whistle"}),
    "turkey_vulture": ("vulture", {"flight_profile": "v_shaped"}),
    "california_condor": ("vulture", {"flight_profile": "flat"}),
    "sparrow_hawk": ("falcon", {"eats": "insects"}),
    "peregrine_falcon": ("falcon", {"eats": "birds"}),
    "great_crested_flycatcher": ("flycatcher", {"tail": "long_rusty"}),
    "ash_throated_flycatcher": ("flycatcher", {"throat": "white"}),
    "barn_swallow": ("swallow", {"tail": "forked"}),
    "cliff_swallow": ("swallow", {"tail": "square"}),
    "purple_martin": ("swallow", {"color": "dark"}),
}


class Expert:
    """Knows what was answered in this call."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._known: Facts = {}

    async def holds(self, conditions: Facts) -> bool:
        """Do all of these hold? What is not known yet is asked, in one go."""
        questions: dict[str, Elicit[Any]] = {}
        for attribute, value in conditions.items():
            key = _key(attribute, value)
            if key not in self._known:
                questions[key] = _question(attribute, value)
        if questions:
            for key, answer in (await self._ctx.ask(**questions)).items():
                self._known[key] = str(answer.value) if isinstance(answer, Accepted) else "no"
        return all(
            self._known[_key(attribute, value)] == (value if attribute in MENUS else "yes")
            for attribute, value in conditions.items()
        )

    async def first(self, rules: dict[str, Facts]) -> str | None:
        """The first thing whose conditions hold."""
        for name, conditions in rules.items():
            if await self.holds(conditions):
                return name
        return None


def _key(attribute: str, value: str) -> str:
    return attribute if attribute in MENUS else f"{attribute}_{value}"


def _question(attribute: str, value: str) -> Elicit[Any]:
    if attribute in MENUS:
        return Elicit(f"What is the value for {attribute}?", MENUS[attribute])
    return Elicit(f"{attribute}: {value}?", Literal["yes", "no"])


def _of(kind: str | None, rules: dict[str, tuple[str, Facts]]) -> dict[str, Facts]:
    return {name: conditions for name, (parent, conditions) in rules.items() if parent == kind}


@server.tool(read_only=True)
async def identify_bird(ctx: Context) -> str:
    """Identify a bird by asking about what was seen."""
    expert = Expert(ctx)
    order = await expert.first(ORDERS)
    family = await expert.first(_of(order, FAMILIES))
    bird = await expert.first(_of(family, BIRDS))
    if bird is None:
        return "No bird could be identified from the given characteristics."
    return f"Identified bird: {bird}"


if __name__ == "__main__":
    server.run()
