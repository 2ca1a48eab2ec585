import torch


def top_k(logits, k):
    values, _ = torch.topk(logits, k + 1)
    floor = values[..., -1, None]
    return logits.masked_fill(logits < floor, float("-inf"))


def temperature(logits, value):
    if value == 0:
        return logits
    return logits / value


def sample(logits, k, value):
    logits = temperature(logits, value)
    logits = top_k(logits, k)
    return torch.multinomial(logits.softmax(-1), 1)
