from typing import Annotated

from pydantic import BaseModel, Field, field_validator

from toolhaft import Server

server = Server("guests", version="1.0.0")


class Guest(BaseModel):
    name: str = Field(min_length=2, description="as it shall stand on the card")
    seats: int = Field(default=1, le=4)

    @field_validator("name")
    @classmethod
    def known(cls, name: str) -> str:
        if name.islower():
            raise ValueError("a name begins with a capital letter")
        return name


@server.tool
def invite(guest: Guest, table: Annotated[int, Field(ge=1, description="its number")] = 1) -> Guest:
    """Models are parameters and results; `Field` works without a model as well."""
    return guest
