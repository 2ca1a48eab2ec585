"""Propose tokens with a small model, keep those the large one agrees with."""


class Drafter:
    def __init__(self, model, cache, tokens):
        self.model = model
        self.cache = cache
        self.tokens = tokens

    def propose(self, request):
        count = self.tokens
        proposal = []
        for _ in range(count):
            proposal.append(self.model.next(request, proposal))
        return proposal

    def accept(self, request, proposal, logits):
        accepted = []
        for token, row in zip(proposal, logits):
            if int(row.argmax()) != token:
                break
            accepted.append(token)
        request.tokens.extend(accepted)
        return accepted

    def rollback(self, request, proposal, accepted):
        rejected = len(proposal) - len(accepted)
        request.length -= rejected
        return rejected
