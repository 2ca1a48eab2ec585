from lattice.attention.sparse import resolve_decode
from lattice.cache.paged import PagedCache
from lattice.config import Config
from lattice.model_loader import load
from lattice.sampling import sample
from lattice.scheduler import Scheduler
from lattice.speculative.draft import Drafter


class Server:
    def __init__(self, config: Config):
        self.config = config
        self.cache = PagedCache(config.pages, config.page_size)
        self.scheduler = Scheduler(self.cache, config.max_batch)
        self.decode = resolve_decode()
        self.weights = load(config.model, config.dtype)
        self.drafter = Drafter(self.weights, self.cache, config.draft_tokens)
        self.sample = sample

    def warm_up(self) -> None:
        for size in (1, 8, 64, 128):
            self.scheduler.dry_run(size)

    def serve(self, requests):
        for request in requests:
            self.scheduler.submit(request)
        while self.scheduler.busy():
            yield from self.scheduler.step()
