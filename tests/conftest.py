"""Choices of tests: a quick tenth of them, or all as if numba were not there."""

import signal
import sys
from collections import defaultdict

TENTH = 10
SLOW = set(
    """
    test_a_signal_in_the_midst_leaves_nothing test_arrays_cannot_be_edited test_benchmark_quick_form
    test_command_writes_figures_and_an_offline_page test_every_interval_holds_the_solution
    test_every_key_is_proved_compared_or_printed_as_declared
    test_examples_of_the_documentation test_fichera_corner test_formulas_lie_within_their_remainders
    test_heads_must_arrive_and_answers_be_read test_many_clients_and_bad_bodies test_only_refusals
    test_opaque_lifts_are_estimates test_random_formulas_lie_within_their_remainders test_three_dimensions
    test_probes_have_the_right_covariance test_quick_form_bears_out_every_claim test_random_meshes
    test_reentrant_corners_are_found test_renders_at_two_sizes test_schemathesis_finds_nothing
    test_simultaneous_coverage_over_2000_draws test_site_builds_without_a_warning
    test_studies_behind_the_tables_run_in_their_quick_form test_within_one_percent_at_100k_dofs
    """.split()
)
"""Tests that take seconds: --quick leaves them out."""


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="a tenth of the tests of every file, none of the slow ones")
    parser.addoption("--without-numba", action="store_true", help="as if numba were not installed")


def pytest_configure(config):
    if config.getoption("--without-numba"):
        sys.modules["numba"] = None  # importing it raises ImportError, and it cannot be found
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell's background job, and children would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config, items):
    """Every tenth test of a file, and one at least: the same on every machine, and new files are in at once."""
    if not config.getoption("--quick"):
        return
    by_file = defaultdict(list)
    for item in items:
        if item.originalname not in SLOW:
            by_file[item.path].append(item)
    chosen = {id(item) for tests in by_file.values() for item in tests[::TENTH]}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in chosen])
    items[:] = [item for item in items if id(item) in chosen]
