"""Every way to launch: tuning, hints, closures; what the JIT refuses; arrays of every kind."""

from __future__ import annotations

from .conftest import Run


def test_a_tuning_run_is_thinned_and_answered(run: Run) -> None:
    recorded = run(
        """
        from cuda.tile.tune import exhaustive_search
        x = np.zeros(64, np.float32)
        made = []
        def arguments(tile):
            made.append(tile)
            return (x, np.zeros_like(x), 3, tile)
        tiles = [2, 4, 8, 16, 32]
        result = exhaustive_search(tiles, STREAM, lambda t: (ct.cdiv(64, t),), scale, arguments, quiet=True)
        assert result.best.config == 2
        assert result.best.mean_us == 10.0
        assert made == [2, 8, 32], made
        """,
        configurations=3,
    )
    assert recorded.summary.exit_code == 0
    assert [entry["signature"][3]["value"] for entry in recorded.specialisations] == [2, 8, 32]
    assert {launch["how"] for entry in recorded.specialisations for launch in entry["launches"]} == {"tune"}


def test_a_configuration_that_does_not_compile_loses(run: Run) -> None:
    recorded = run("""
        from cuda.tile.tune import exhaustive_search
        x = np.zeros(64, np.float32)
        result = exhaustive_search(
            [3, 16], STREAM, lambda t: (ct.cdiv(64, t),), scale, lambda t: (x, np.zeros_like(x), 3, t), quiet=True
        )
        assert result.best.config == 16
        assert [config for config, *_ in result.failures] == [3]
    """)
    assert recorded.summary.exit_code == 0
    assert [failure["outcome"] for failure in recorded.summary.failures] == ["rejected"]


def test_a_timed_benchmark_is_recorded(run: Run) -> None:
    recorded = run("""
        from cuda.tile.tune import exhaustive_search
        x = np.zeros(64, np.float32)
        exhaustive_search(
            [16], STREAM, lambda t: (4,), scale, lambda t: (x, np.zeros_like(x), 3, t),
            quiet=True, single_run_timeout_sec=1.0,
        )
    """)
    assert recorded.summary.exit_code == 0
    assert recorded.summary.launches == 1


def test_the_extended_launch_is_one(run: Run) -> None:
    recorded = run("""
        from cuda.tile import _cext
        x = np.zeros(64, np.float32)
        assert _cext.launch_extended(STREAM, (4,), (128,), scale, (x, np.zeros_like(x), 3, 16)) is None
        try:
            _cext.launch_extended(STREAM, (4,), (128,), "no kernel", ())
        except TypeError:
            pass
        else:
            raise AssertionError("what is no tile kernel goes where it went before")
    """)
    assert recorded.summary.exit_code == 0
    (entry,) = recorded.specialisations
    assert [launch["grid"] for launch in entry["launches"]] == [[4, 1, 1]]
    assert recorded.summary.failures == ()


def test_hints_make_another_specialisation_and_a_closure_another_kernel(run: Run) -> None:
    recorded = run("""
        x = np.zeros(64, np.float32)
        for occupancy in (1, 2, 2):
            ct.launch(STREAM, (4,), scale.replace_hints(occupancy=occupancy), (x, np.zeros_like(x), 3, 16))
        def make(bias):
            @ct.kernel
            def shift(x):
                ct.store(x, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) + bias)
            return shift
        for bias in (1.0, 2.0, 2.0):
            ct.launch(STREAM, (4,), make(bias), (x,))
    """)
    assert [entry["source"]["name"] for entry in recorded.specialisations] == ["scale", "scale", "shift", "shift"]
    assert len({entry["bytecode_sha256"] for entry in recorded.specialisations}) == 4


def test_what_the_launch_would_refuse_is_refused(run: Run) -> None:
    recorded = run("""
        x = np.zeros(64, np.float32)
        ct.launch(STREAM, (4,), scale, (x, np.zeros_like(x), 3, 16))
        refused = 0
        for grid, tile in (((0,), 16), ((1 << 24,), 16), ((1, 1, 1, 1), 16), ((4,), 15)):
            try:
                ct.launch(STREAM, grid, scale, (x, np.zeros_like(x), 3, tile))
            except (ValueError, ct.TileError):
                refused += 1
        assert refused == 4
        try:
            ct.launch(STREAM, (4,), scale, (x, object(), 3, 16))
        except TypeError as error:
            assert "argument #1" in str(error), error
        else:
            raise AssertionError("an object is no argument")
    """)
    assert recorded.summary.exit_code == 0
    assert recorded.summary.launches == 1
    assert [failure["outcome"] for failure in recorded.summary.failures] == ["rejected"] * 5
    assert recorded.summary.failures[0]["kernel"] == "scale"


def test_arrays_behind_both_interfaces(run: Run) -> None:
    recorded = run("""
        class Cuda:
            def __init__(self, address, shape, strides=None, typestr="<f4"):
                self.__cuda_array_interface__ = {
                    "shape": shape, "strides": strides, "typestr": typestr, "data": (address, False), "version": 3
                }

        class DLPack:
            # Only what cuda.tile reads; the memory belongs to NumPy.
            def __init__(self, array):
                self.array = array
            def __dlpack__(self, **options):
                import ctypes
                capsule = self.array.__dlpack__()
                get = ctypes.pythonapi.PyCapsule_GetPointer
                get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
                ctypes.c_int32.from_address(get(capsule, b"dltensor") + 8).value = 2
                return capsule

        ct.launch(STREAM, (4,), scale, (Cuda(0x10000, (64,), (16,)), Cuda(0x20004, (64,)), 3, 16))
        ct.launch(STREAM, (4,), scale, (DLPack(np.zeros(64, np.float16)), DLPack(np.zeros(64, np.float16)), 3, 16))
    """)
    assert recorded.summary.failures == ()
    strided, packed = recorded.specialisations
    first, second = strided["launches"][0]["arguments"][:2]
    assert (first["shape"], first["strides"], second["strides"]) == ([64], [4], [1])
    assert strided["signature"][0]["base_addr_divisible_by"] == 16
    assert strided["signature"][1]["base_addr_divisible_by"] < 16
    assert packed["launches"][0]["arguments"][0]["dtype"] == "f16"


def test_the_specification_of_sizes_one_and_repeated_elements(run: Run) -> None:
    recorded = run("""
        @ct.kernel
        def rows(x, y):
            ct.store(y, (ct.bid(0), 0), ct.load(x, (ct.bid(0), 0), (1, 16)))
        x = np.zeros((1, 16), np.float32)
        expanded = np.lib.stride_tricks.as_strided(x, (4, 16), (0, 4))
        ct.launch(STREAM, (1,), rows, (x, np.zeros_like(x)))
        ct.launch(STREAM, (4,), rows, (expanded, np.zeros((4, 16), np.float32)))
    """)
    one, expanded = recorded.specialisations
    assert one["signature"][0]["shape_constant"] == [1, None]
    assert expanded["signature"][0]["may_alias_internally"] is True
    assert 'x = "f32[4, 16; strides=(0, 1)]"' in (recorded.folder / expanded["spec"]).read_text()


def test_lists_and_overlaps(run: Run) -> None:
    recorded = run("""
        @ct.kernel
        def first(xs, y, flag: ct.Constant[bool]):
            ct.store(y, (ct.bid(0),), ct.load(xs[0], (ct.bid(0),), (16,)))
        x = np.zeros(96, np.float32)
        ct.launch(STREAM, (2,), first, ([x[:32], x[32:64]], x[64:], True))
        ct.launch(STREAM, (2,), first, ([x[:32], x[32:64]], x[48:80], True))
        ct.launch(STREAM, (1,), first, ([x[:32], x[32:80]], x[80:], True))
        ct.launch(STREAM, (4,), scale, (x[::2], x[1::2], 3, 16))
        ct.launch(STREAM, (4,), scale, (x, x, 3, 16))
        ct.launch(STREAM, (1,), first, ([x[:33], x[16:49]], x[80:], True))
    """)
    texts = [
        (recorded.folder / spec).read_text().split("[[launch]]")[1:]
        for spec in dict.fromkeys(entry["spec"] for entry in recorded.specialisations)
    ]
    launches = [launch for text in texts for launch in text]
    (within,) = [launch for launch in launches if 'overlap = [["xs"]]' in launch]
    disjoint, overlapping, uneven, interleaved, same = [launch for launch in launches if launch is not within]
    assert "overlap" not in disjoint
    assert 'xs = { list = "f32[32]", length = "2" }' in disjoint
    assert 'overlap = [["xs", "y"]]' in overlapping
    assert 'xs = { list = "f32[16 * xs_size_0]", length = "2", elements = ["f32[32]", "f32[48]"] }' in uneven
    assert "overlap" not in interleaved
    assert 'x = "f32[48; strides=(2,)]"' in interleaved
    assert 'overlap = [["x", "y"]]' in same
    assert 'requires = ["x is y"]' in same


def test_sizes_in_a_list_keep_what_the_compiler_was_promised(run: Run) -> None:
    recorded = run("""
        @ct.kernel
        def rows(xs, y):
            ct.store(y, (ct.bid(0), 0), ct.load(xs[0], (ct.bid(0), 0), (1, 16)))
        y = np.zeros((4, 16), np.float32)
        for widths in ((52, 32), (52, 31)):
            ct.launch(STREAM, (4,), rows, ([np.zeros((4, w), np.float32) for w in widths], y))
    """)
    wide, odd = recorded.specialisations
    assert wide["signature"][0]["element"]["stride_divisible_by"] == [4, 1]
    for found, width, second in ((wide, "4 * xs_size_1", 32), (odd, "xs_size_1", 31)):
        listed = f'list = "f32[4, {width}]", length = "2", elements = ["f32[4, 52]", "f32[4, {second}]"]'
        assert f"xs = {{ {listed} }}" in (recorded.folder / found["spec"]).read_text()
