"""Threads: NumPy's own rest while ours work, and wake again, whoever leaves first."""

from __future__ import annotations

from threading import Barrier, Thread

from threadpoolctl import threadpool_info, threadpool_limits

from ipub.numeric.parallel import FEW_COLUMNS, in_threads, single_threaded_blas


def blas_threads() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_blas_rests_on_few_columns_and_wakes_again():
    with threadpool_limits(2, user_api="blas"):
        with single_threaded_blas(FEW_COLUMNS):
            assert blas_threads() == {1}
            with single_threaded_blas(3):
                assert blas_threads() == {1}
            assert blas_threads() == {1}
            assert list(in_threads(lambda piece: piece**2, [1, 2, 3])) == [1, 4, 9]
            assert blas_threads() == {1}
        assert blas_threads() == {2}
        with single_threaded_blas(FEW_COLUMNS + 1):
            assert blas_threads() == {2}


def test_those_who_leave_in_any_order_leave_blas_as_it_was():
    first_has_entered, second_has_entered, first_has_left = (Barrier(2) for _ in range(3))

    def first():
        with single_threaded_blas(1):
            first_has_entered.wait()
            second_has_entered.wait()
        first_has_left.wait()

    def second():
        first_has_entered.wait()
        with single_threaded_blas(1):
            second_has_entered.wait()
            first_has_left.wait()
            assert blas_threads() == {1}

    for _ in range(20):  # whether the first thread has ended when the second one leaves is a matter of chance
        before = blas_threads()
        both = [Thread(target=each) for each in (first, second)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        assert blas_threads() == before


def test_blas_wakes_again_after_an_error():
    with threadpool_limits(2, user_api="blas"):
        try:
            with single_threaded_blas(1):
                raise KeyError
        except KeyError:
            pass
        assert blas_threads() == {2}
