"""Which requests run in the next step."""

from collections import deque


class Scheduler:
    def __init__(self, cache, max_batch):
        self.cache = cache
        self.max_batch = max_batch
        self.waiting = deque()
        self.running = []

    def submit(self, request):
        self.waiting.append(request)

    def busy(self):
        return bool(self.waiting or self.running)

    def dry_run(self, size):
        assert size <= self.max_batch, "warm-up must fit the batch"

    def admit(self):
        while self.waiting and len(self.running) < self.max_batch:
            if not self.cache.can_hold(self.waiting[0].length):
                break
            request = self.waiting.popleft()
            request.pages = self.cache.allocate(request.length)
            self.running.append(request)

    def step(self):
        self.admit()
        done = [request for request in self.running if request.advance()]
        for request in done:
            self.running.remove(request)
            self.cache.release(request.pages)
        return done

    def drain(self):
        results = []
        while self.busy():
            results.extend(self.step())
        return results
