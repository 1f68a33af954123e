# SPDX-License-Identifier: Apache-2.0
"""PyTorch modules as models: a gradient for each record by vmap(grad)."""
import numpy as np
import torch

from ._errors import UsageError

try:  # PyTorch 2
    from torch.func import functional_call, grad, vmap
except ImportError:  # PyTorch 1.13
    functional_call = None
    from functorch import grad, make_functional_with_buffers, vmap

__all__ = ["Model"]

_MIXES_RECORDS = (torch.nn.modules.batchnorm._BatchNorm,)


class Model:
    """`module` with `loss(prediction, label)`, both of a batch; the mean of it is what is trained.

    Parameters that require gradients are in one vector, in the order of `module.named_parameters()`. At the end of a run the
    module holds the average of the agents. `device`: where to compute; `chunk`: the most records in
    one call to `loss` when a run is evaluated.
    """

    batched = True

    def __init__(self, module, loss, device=None, chunk=4096):
        for name, part in module.named_modules():
            if isinstance(part, _MIXES_RECORDS):
                raise UsageError(f"{name or 'module'}: {type(part).__name__} lets a record's gradient depend on other "
                                 "records, and what is promised about privacy would not hold; use GroupNorm")
        self.device = torch.device(device or "cpu")
        self.module = module.to(self.device)
        self._loss, self.chunk = loss, chunk
        trained = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
        if not trained:
            raise UsageError("module: it has no parameters that require gradients")
        self._names = [name for name, _ in trained]
        self._shapes = [p.shape for _, p in trained]
        self._sizes = [p.numel() for _, p in trained]
        self.dim = sum(self._sizes)
        self._call = self._functional()
        one = grad(self._loss_of)
        self._gradients = vmap(vmap(one, in_dims=(None, 0, 0), randomness="different"), in_dims=(0, 0, 0),
                               randomness="different")
        self._X = self._y = None

    def _trained(self):
        parameters = dict(self.module.named_parameters())
        return [parameters[name] for name in self._names]

    def _functional(self):
        """Of the parameters that are trained; the others stay as they are."""
        if functional_call is not None:
            return lambda parts, x: functional_call(self.module, dict(zip(self._names, parts)), (x,))
        function, _, buffers = make_functional_with_buffers(self.module)
        every = [(name, p.detach()) for name, p in self.module.named_parameters()]

        def call(parts, x):
            given = dict(zip(self._names, parts))
            return function(tuple(given.get(name, p) for name, p in every), buffers, x)
        return call

    def bind(self, train, test, classes):
        """Takes the records: those of the test set come after those that are trained on."""
        def tensor(parts, kind):
            parts = [np.asarray(part) for part in parts]
            return torch.as_tensor(np.concatenate(parts) if len(parts) > 1 else parts[0]).to(self.device, kind)
        both = [train] if test is None else [train, test]
        self._X = tensor([X for X, _ in both], torch.float32)
        # Records whose label is none of the classes count for nothing, and are never drawn.
        self._y = tensor([np.maximum(y, 0) if classes else y for _, y in both], torch.long if classes else torch.float32)

    def start(self):
        """The parameters that the module has now."""
        return torch.cat([p.detach().reshape(-1).cpu() for p in self._trained()]).double().numpy()

    def load(self, x):
        """Puts a vector of parameters into the module."""
        parts = torch.split(torch.as_tensor(np.array(x)), self._sizes)
        with torch.no_grad():
            for parameter, part in zip(self._trained(), parts):
                parameter.copy_(part.reshape(parameter.shape))

    def _split(self, X):
        X = torch.as_tensor(np.asarray(X), dtype=torch.float32).to(self.device)
        lead = X.shape[:-1]
        return tuple(part.reshape(*lead, *shape) for part, shape in zip(torch.split(X, self._sizes, -1), self._shapes))

    def _loss_of(self, parts, x, y):
        return self._loss(self._call(parts, x.unsqueeze(0)), y.unsqueeze(0))

    def _rows(self, rows):
        if self._X is None:
            raise UsageError("the model has no records; give data=(X, y) to the run")
        rows = torch.as_tensor(rows).to(self.device)
        return self._X[rows], self._y[rows]

    def gradients(self, X, rows):
        x, y = self._rows(rows)
        found = self._gradients(self._split(X), x, y)
        return torch.cat([g.reshape(*rows.shape, -1) for g in found], dim=-1).cpu().numpy()

    def _outputs(self, x, rows):
        parts = self._split(x)
        with torch.no_grad():
            for first in range(0, len(rows), self.chunk):
                records, labels = self._rows(rows[first:first + self.chunk])
                yield parts, records, labels, self._call(parts, records)

    def loss(self, x, rows):
        each = vmap(lambda p, y: self._loss(p.unsqueeze(0), y.unsqueeze(0)))
        return torch.cat([each(out, y) for _, _, y, out in self._outputs(x, rows)]).double().cpu().numpy()

    def predict(self, x, rows):
        found = torch.cat([out for *_, out in self._outputs(x, rows)])
        if self._y.dtype == torch.long:
            found = found.argmax(-1) if found.dim() > 1 and found.shape[-1] > 1 else (found.reshape(-1) > 0).long()
        return found.reshape(len(rows), -1).squeeze(-1).cpu().numpy()

    def gradient_sum(self, x, rows):
        parts = tuple(p.clone().requires_grad_() for p in self._split(x))
        total = None
        for first in range(0, len(rows), self.chunk):
            records, labels = self._rows(rows[first:first + self.chunk])
            each = vmap(lambda p, y: self._loss(p.unsqueeze(0), y.unsqueeze(0)))
            found = torch.autograd.grad(each(self._call(parts, records), labels).sum(), parts)
            flat = torch.cat([g.reshape(-1) for g in found]).double()
            total = flat if total is None else total + flat
        return total.cpu().numpy()
