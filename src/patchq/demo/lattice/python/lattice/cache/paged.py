"""A cache of fixed pages; a sequence owns a list of them."""

import torch


class PagedCache:
    def __init__(self, pages, page_size):
        self.page_size = page_size
        self.free = list(range(pages))
        self.table = torch.empty(pages, dtype=torch.int32)

    def pages_for(self, length):
        return -(-length // self.page_size)

    def can_hold(self, length):
        return self.pages_for(length) <= len(self.free)

    def allocate(self, length):
        count = self.pages_for(length)
        taken, self.free = self.free[:count], self.free[count:]
        return taken

    def release(self, pages):
        self.free.extend(pages)

    def slots(self, pages, length):
        first = torch.tensor(pages, dtype=torch.int32) * self.page_size
        inside = torch.arange(self.page_size)
        return (first[:, None] + inside).flatten()[:length]
