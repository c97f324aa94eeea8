"""The nested arguments of the benchmark as pydantic models, for where pydantic is installed."""

from pydantic import BaseModel


class ItemModel(BaseModel):
    name: str
    price: int
    quantity: int
    tags: list[str]


class QueryModel(BaseModel):
    text: str
    limit: int
    items: list[ItemModel]
