"""Programs that use torch, with the GPU imitated."""

from __future__ import annotations

import pytest

from .conftest import Run

pytest.importorskip("torch", reason="torch is not installed")


def test_tensors_say_cuda_and_are_recorded(run: Run) -> None:
    recorded = run("""
        import torch
        x = torch.randn(64, 48, device="cuda", dtype=torch.bfloat16)
        assert x.is_cuda and not x.is_cpu and x.device == torch.device("cuda", 0) and x.get_device() == 0
        stream = torch.cuda.current_stream()
        ct.launch(stream, (4,), scale, (x[3], x.t()[5], 2, 8))
        ct.launch(stream, (4,), scale, (x[0], torch.empty_like(x[0]), 2, 8))
        ct.launch(stream, (4,), scale, (x[0], x[0], 2, 8))
    """)
    assert recorded.summary.exit_code == 0
    assert recorded.summary.failures == ()
    strided, *_ = recorded.specialisations
    first, second = strided["launches"][0]["arguments"][:2]
    assert (first["dtype"], first["shape"], first["strides"]) == ("bf16", [48], [1])
    assert second["strides"] == [48]
    assert strided["launches"][0]["overlaps"] == [{"first": "x", "second": "y", "same": False}]
    assert recorded.specialisations[-1]["launches"][-1]["overlaps"] == [{"first": "x", "second": "y", "same": True}]


def test_every_way_to_a_device_ends_on_the_cpu(run: Run) -> None:
    recorded = run("""
        import torch
        for x in (
            torch.zeros(16, device="cuda:0"),
            torch.zeros(16).cuda(),
            torch.zeros(16).to("cuda"),
            torch.zeros(16).to(torch.device("cuda", 0), torch.float32),
            torch.zeros(16).to(device=0),
            torch.tensor([1.0] * 16, device=torch.device("cuda")),
            torch.rand(16, device="cuda", generator=torch.Generator("cuda").manual_seed(1)),
            torch.zeros(16, pin_memory=True).cuda(non_blocking=True),
            torch.zeros(3, device="cuda").new_empty(16, device="cuda"),
            torch.nn.Linear(16, 16).cuda().weight[0].detach(),
            torch.nn.Linear(16, 16, device="cuda").to("cuda").bias.detach(),
        ):
            assert x.device.type == "cuda" and x.numpy().shape == (16,), x
            ct.launch(torch.cuda.current_stream(), (1,), scale, (x, torch.zeros_like(x), 2, 16))
        with torch.device("cuda"):
            assert torch.ones(3).is_cuda
        torch.set_default_device("cuda")
        assert torch.ones(3).is_cuda
        assert torch.zeros(3, device="meta").device.type == "meta"
    """)
    assert recorded.summary.exit_code == 0
    assert recorded.summary.failures == ()


def test_the_runtime_answers(run: Run) -> None:
    recorded = run(
        """
        import torch
        assert torch.cuda.is_available() and torch.cuda.device_count() == 1
        assert torch.cuda.get_device_capability() == (9, 0)
        assert "H100" in torch.cuda.get_device_name()
        assert torch.cuda.get_device_properties(0).multi_processor_count == 132
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.device(0):
            begin.record()
        torch.cuda.synchronize()
        assert begin.elapsed_time(end) > 0
        x = torch.zeros(16, device="cuda")
        ct.launch(torch.cuda.current_stream(), (1,), scale, (x, torch.zeros_like(x), 2, 16))
        """,
        capability=(9, 0),
    )
    assert recorded.summary.exit_code == 0


def test_results_that_never_came_do_not_end_the_program(run: Run) -> None:
    recorded = run("""
        import torch
        x = torch.full((64,), float("nan"), device="cuda")
        out = torch.empty(64, device="cuda")
        assert out.eq(0).all()
        torch.testing.assert_close(out, x)
        assert torch.allclose(out, x)
        ct.launch(torch.cuda.current_stream(), (4,), scale, (x, out, 2, 16))
    """)
    assert recorded.summary.exit_code == 0


def test_large_products_are_skipped_and_keep_their_gradient(run: Run) -> None:
    recorded = run("""
        import torch
        big = torch.ones(1024, 1024, device="cuda", requires_grad=True)
        assert (big @ big).eq(0).all() and torch.nn.functional.linear(big, big).shape == (1024, 1024)
        (big @ big).sum().backward()
        assert big.grad.shape == big.shape
        small = torch.ones(8, 8, device="cuda")
        assert (small @ small).eq(8).all()
        x = torch.zeros(16, device="cuda")
        ct.launch(torch.cuda.current_stream(), (1,), scale, (x, torch.zeros_like(x), 2, 16))
    """)
    assert recorded.summary.exit_code == 0


@pytest.mark.parametrize("kernels_run", [False, True])
def test_products_have_the_type_that_is_asked_for(run: Run, kernels_run: bool) -> None:
    recorded = run(
        """
        import torch
        a = torch.full((3, 4, 4), 256.0, device="cuda", dtype=torch.float16)
        wide = (
            torch.mm(a[0], a[1], out_dtype=torch.float32),
            torch.mm(a[0], a[1], torch.float32),
            torch.bmm(a, a, out_dtype=torch.float32),
            torch.addmm(torch.zeros(4, 4, device="cuda", dtype=torch.float16), a[0], a[1], out_dtype=torch.float32),
        )
        for product in wide:
            assert product.dtype == torch.float32 and product.eq(4 * 256.0 * 256.0).all()
        assert torch.mm(a[0], a[1]).dtype == torch.float16
        x = torch.zeros(16, device="cuda")
        ct.launch(torch.cuda.current_stream(), (1,), scale, (x, torch.zeros_like(x), 2, 16))
        """,
        interpret=kernels_run,
    )
    assert recorded.summary.exit_code == 0


def test_random_states_are_kept_and_set(run: Run) -> None:
    recorded = run("""
        import torch
        torch.cuda.manual_seed(5)
        state, states = torch.cuda.get_rng_state(torch.device("cuda")), torch.cuda.get_rng_state_all()
        first = torch.rand(16, device="cuda")
        torch.cuda.set_rng_state(state, 0)
        assert torch.rand(16, device="cuda").equal(first)
        torch.cuda.set_rng_state_all(states)
        assert torch.rand(16, device="cuda").equal(first)
        torch.cuda.manual_seed_all(5)
        assert torch.cuda.initial_seed() == 5 and torch.rand(16, device="cuda").equal(first)
        with torch.random.fork_rng(devices=[0]):
            torch.rand(16, device="cuda")
        generator = torch.Generator(device="cuda")
        generator.set_state(torch.cuda.default_generators[0].get_state())
        ct.launch(torch.cuda.current_stream(), (1,), scale, (first, torch.zeros_like(first), 2, 16))
    """)
    assert recorded.summary.exit_code == 0


@pytest.mark.parametrize(
    "back",
    ["y.sum().backward()", "torch.autograd.backward([y], [torch.ones_like(y)])", "torch.autograd.grad(y.sum(), x)"],
)
def test_backward_passes_see_the_imitated_gpu(run: Run, back: str) -> None:
    recorded = run(f"""
        import torch
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.device = x.device
                return 2 * x
            @staticmethod
            def backward(ctx, gradient):
                assert gradient.is_cuda and gradient.device.type == "cuda", gradient.device
                out = torch.empty(16, device=ctx.device)
                assert out.eq(0).all()
                ct.launch(torch.cuda.current_stream(), (1,), scale, (gradient.contiguous(), out, 2, 16))
                return out
        x = torch.ones(16, device="cuda").requires_grad_()
        y = Scaled.apply(x)
        {back}
        assert y.is_cuda
    """)
    assert recorded.summary.exit_code == 0
    assert recorded.summary.launches == 1


def test_tensors_larger_than_the_memory_can_be_launched_with(run: Run) -> None:
    recorded = run("""
        import torch
        @ct.kernel
        def first(x: ct.IndexedWithInt64, y):
            ct.store(y, (0,), ct.load(x, (0, 0), (1, 16)).reshape((16,)))
        x = [torch.empty(2**20, 2**11 + 16, device="cuda", dtype=torch.int8) for _ in range(40)]
        assert x[-1][-1].eq(0).all()
        ct.launch(torch.cuda.current_stream(), (1,), first, (x[0], torch.zeros(16, device="cuda", dtype=torch.int8)))
    """)
    assert recorded.summary.exit_code == 0
    assert recorded.summary.failures == ()
    x, _ = recorded.specialisations[0]["launches"][0]["arguments"]
    assert (x["shape"], x["index_bits"]) == ([2**20, 2**11 + 16], 64)


def test_questions_about_memory_have_answers(run: Run) -> None:
    recorded = run("""
        import torch
        x = torch.zeros(16, device="cuda")
        ct.launch(torch.cuda.current_stream(), (1,), scale, (x, torch.zeros_like(x), 2, 16))
        assert torch.cuda.memory_stats()["allocated_bytes.all.peak"] == torch.cuda.memory_stats()["num_ooms"] == 0
        assert "no memory" in torch.cuda.memory_summary() and "no memory" in torch.cuda.memory_summary(abbreviated=True)
        assert torch.cuda.memory_snapshot() == [] and torch.cuda.utilization() == 0
    """)
    assert recorded.summary.exit_code == 0
