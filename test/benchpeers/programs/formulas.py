"""What a user of PyTorch writes for formulas that it has no operator for."""
import torch
import torch.nn.functional as F


def selective_scan(x, delta, rate, enter, leave, skip):
    keep = torch.exp(torch.einsum("nsd,dk->nsdk", delta, rate))
    more = torch.einsum("nsd,nsk,nsd->nsdk", delta, enter, x)
    state, out = torch.zeros_like(keep[:, 0]), []
    for s in range(x.shape[1]):
        state = keep[:, s] * state + more[:, s]
        out.append(torch.einsum("ndk,nk->nd", state, leave[:, s]))
    return torch.stack(out, 1) + x * skip


def wkv(key, value, decay, bonus):
    total, share, top, out = torch.zeros_like(key[0]), torch.zeros_like(key[0]), torch.full_like(key[0], -1e38), []
    for k, v in zip(key, value):
        now = bonus + k
        most = torch.maximum(top, now)
        past, weight = torch.exp(top - most), torch.exp(now - most)
        out.append((past * total + weight * v) / (past * share + weight))
        before = top - decay
        most = torch.maximum(before, k)
        past, weight = torch.exp(before - most), torch.exp(k - most)
        total, share, top = past * total + weight * v, past * share + weight, most
    return torch.stack(out)


def viterbi(x, transition):
    best, came = x[0], []
    for row in x[1:]:
        most, at = (best[:, :, None] + transition).max(1)
        best = row + most
        came.append(at)
    score, end = best.max(1)
    path = [end]
    for at in reversed(came):
        path.append(at.gather(1, path[-1][:, None])[:, 0])
    return [torch.stack(path[::-1]), score]


def retention(query, key, value, gamma):
    state, out = torch.zeros(*key.shape[:2], key.shape[3], value.shape[3]), []
    for s in range(query.shape[2]):
        state = gamma[:, None, None] * state + key[:, :, s, :, None] * value[:, :, s, None]
        out.append((query[:, :, s, None] @ state)[:, :, 0])
    return torch.stack(out, 2)


def delta_rule(query, key, value, beta):
    memory, out = torch.zeros(key.shape[0], key.shape[2], value.shape[2]), []
    for s in range(query.shape[1]):
        held = key[:, s, None] @ memory
        memory = memory + beta[:, s, None, None] * key[:, s, :, None] * (value[:, s, None] - held)
        out.append((query[:, s, None] @ memory)[:, 0])
    return torch.stack(out, 1)


def mlstm(query, key, value, enter, keep):
    cell, size, top, out = torch.zeros(key.shape[0], key.shape[2], value.shape[2]), torch.zeros_like(key[:, 0]), torch.zeros_like(keep[:, 0]), []
    for s in range(query.shape[1]):
        most = torch.maximum(keep[:, s] + top, enter[:, s])
        past, now, top = torch.exp(keep[:, s] + top - most), torch.exp(enter[:, s] - most), most
        cell = past[:, None, None] * cell + (now[:, None] * key[:, s])[:, :, None] * value[:, s, None]
        size = past[:, None] * size + now[:, None] * key[:, s]
        whole = torch.maximum((size * query[:, s]).sum(1).abs(), torch.exp(-top))
        out.append((query[:, s, None] @ cell)[:, 0] / whole[:, None])
    return torch.stack(out, 1)


def forward_backward(x, transition):
    before, behind = [x[:, 0]], [torch.zeros_like(x[:, 0])]
    for s in range(1, x.shape[1]):
        before.append(x[:, s] + torch.logsumexp(before[-1][:, :, None] + transition, 1))
    for s in range(x.shape[1] - 1, 0, -1):
        behind.append(torch.logsumexp(transition + (x[:, s] + behind[-1])[:, None], 2))
    return torch.stack(before, 1) + torch.stack(behind[::-1], 1) - torch.logsumexp(before[-1], 1)[:, None, None]


def graph_attention(x, leave, enter, source, sink):
    score = F.leaky_relu((x * leave).sum(2)[source] + (x * enter).sum(2)[sink], 0.2)
    at = sink[:, None].expand_as(score)
    top = torch.full(x.shape[:2], -torch.inf).scatter_reduce(0, at, score.detach(), "amax")
    share = torch.exp(score - top[sink])
    share = share / torch.zeros(x.shape[:2]).index_add(0, sink, share)[sink]
    return torch.zeros_like(x).index_add(0, sink, share[:, :, None] * x[source])


def newton_schulz(x, steps=5, a=3.4445, b=-4.7750, c=2.0315):
    x = x / (x.flatten(1).norm(dim=1)[:, None, None] + 1e-7)
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


def sinkhorn(cost, rounds):
    col = torch.zeros_like(cost[:, :1])
    for _ in range(rounds):
        row = torch.logsumexp(cost - col, 2, keepdim=True)
        col = torch.logsumexp(cost - row, 1, keepdim=True)
    return torch.exp(cost - row - col)


def spectral_norm(weight, u, steps):
    for _ in range(steps):
        v = F.normalize(weight.mT @ u, dim=0)
        u = F.normalize(weight @ v, dim=0)
    return weight / torch.dot(u, weight @ v)


def roi_align(x, boxes, image, height, width, samples):
    at, (h, w) = boxes - 0.5, x.shape[2:]

    def places(low, high, parts):
        return low[:, None] + (high - low)[:, None] / parts * (torch.arange(parts * samples) + 0.5) / samples

    y, z = places(at[:, 1], at[:, 3], height)[:, :, None], places(at[:, 0], at[:, 2], width)[:, None]
    inside = (y >= -1) & (y <= h) & (z >= -1) & (z <= w)
    y, z = y.clamp(0, h - 1), z.clamp(0, w - 1)
    top, left = y.long(), z.long()
    down, right = (top + 1).clamp(max=h - 1), (left + 1).clamp(max=w - 1)
    dy, dz, r = y - top, z - left, image[:, None, None]
    out = sum(x[r, :, i, j] * (inside * a * b)[..., None] for i, a in ((top, 1 - dy), (down, dy)) for j, b in ((left, 1 - dz), (right, dz)))
    return out.reshape(len(boxes), height, samples, width, samples, -1).mean((2, 4)).permute(0, 3, 1, 2)


def deformable(x, offset, weight, padding):
    n, c, h, w = x.shape
    o, _, k, l = weight.shape
    p, q = offset.shape[2:]
    offset = offset.reshape(n, k, l, 2, p, q)
    y = offset[:, :, :, 0] + torch.arange(k)[:, None, None, None] + torch.arange(p)[:, None] - padding
    z = offset[:, :, :, 1] + torch.arange(l)[:, None, None] + torch.arange(q) - padding
    top, left = y.detach().floor(), z.detach().floor()
    dy, dz, flat, patch = y - top, z - left, x.flatten(2), 0
    for i, a in ((top, 1 - dy), (top + 1, dy)):
        for j, b in ((left, 1 - dz), (left + 1, dz)):
            inside = (i >= 0) & (i < h) & (j >= 0) & (j < w)
            at = (i.clamp(0, h - 1) * w + j.clamp(0, w - 1)).long().reshape(n, 1, -1).expand(n, c, -1)
            patch = patch + flat.gather(2, at) * (a * b * inside).reshape(n, 1, -1)
    return (weight.flatten(1) @ patch.reshape(n, c * k * l, p * q)).reshape(n, o, p, q)


def nms(boxes, score, threshold):
    by = torch.argsort(score, descending=True)
    b = boxes[by]
    area = (b[:, 2:] - b[:, :2]).clamp(min=0).prod(1)
    both = (torch.minimum(b[:, None, 2:], b[None, :, 2:]) - torch.maximum(b[:, None, :2], b[None, :, :2])).clamp(min=0).prod(2)
    over = both > threshold * (area[:, None] + area - both)
    keep = torch.ones(len(b), dtype=torch.bool)
    for i in range(len(b)):
        if keep[i]:
            keep[i + 1:] &= ~over[i, i + 1:]
    return torch.empty_like(keep).scatter_(0, by, keep)


def top_p(logit, p):
    prob = F.softmax(logit, 1)
    value, at = prob.sort(1, descending=True)
    kept = torch.where(value.cumsum(1) - value < p, value, torch.zeros_like(value))
    return torch.zeros_like(prob).scatter(1, at, kept / kept.sum(1, keepdim=True))


def kan(x, weight, cells, degree):
    knot = (torch.arange(cells + 2 * degree + 1) - degree) * (2 / cells) - 1
    x = x[..., None]
    base = ((x >= knot[:-1]) & (x < knot[1:])).to(x.dtype)
    for d in range(1, degree + 1):
        base = ((x - knot[:-d - 1]) / (knot[d:-1] - knot[:-d - 1]) * base[..., :-1]
                + (knot[d + 1:] - x) / (knot[d + 1:] - knot[1:-d]) * base[..., 1:])
    return F.linear(base.flatten(1), weight.flatten(1))
