from lattice.cache.paged import PagedCache
from lattice.scheduler import Scheduler


def test_an_idle_scheduler_is_not_busy():
    assert not Scheduler(PagedCache(4, 16), 8).busy()
