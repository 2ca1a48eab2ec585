from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    model: str
    max_batch: int = 64
    page_size: int = 16
    pages: int = 4096
    draft_tokens: int = 4
    dtype: str = "bfloat16"
