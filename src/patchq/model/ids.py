"""Ids of git objects, told apart by what they name (gitglossary, "object name")."""

from collections.abc import Iterable
from typing import NewType

ObjectId = NewType("ObjectId", str)
"""The id of any object: 40 lower-case hex digits."""

TreeId = NewType("TreeId", ObjectId)
BlobId = NewType("BlobId", ObjectId)
CommitId = NewType("CommitId", ObjectId)


def tree_id(text: str) -> TreeId:
    """``text`` that git, the lock or a file of ours gives as the id of a tree."""
    return TreeId(ObjectId(text))


def blob_id(text: str) -> BlobId:
    """The same of a blob."""
    return BlobId(ObjectId(text))


def commit_id(text: str) -> CommitId:
    """The same of a commit."""
    return CommitId(ObjectId(text))


def commit_ids(texts: Iterable[str]) -> tuple[CommitId, ...]:
    """:func:`commit_id` of each."""
    return tuple(map(commit_id, texts))
