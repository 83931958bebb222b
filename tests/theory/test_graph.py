"""What rests on what: no theorem rests on itself, and the index shows what the pages declare."""

from graphlib import TopologicalSorter

from support.theory_graph import cited_in_proofs, declared, table, written


def test_no_theorem_rests_on_itself():
    graph = {name: parts for name, (_, parts) in declared().items()}
    assert len(graph) > 40
    assert len(tuple(TopologicalSorter(graph).static_order())) >= len(graph)


def test_a_theorem_rests_on_what_comes_before_it_or_is_named_on_a_later_page():
    places = {name: place for place, name in enumerate(declared())}
    for name, (page, parts) in declared().items():
        later = [part for part in parts if part in places and places[part] > places[name]]
        assert all(declared()[part][0] != page for part in later), f"{name} rests on {later} further down its page"


def test_a_proof_cites_only_what_its_statement_rests_on():
    cited = cited_in_proofs()
    assert sum(map(len, cited.values())) > 15
    known = {name: set(parts) for name, (_, parts) in declared().items()}
    assert not {name: more for name, names in cited.items() if (more := names - known.get(name, set()))}


def test_the_index_shows_what_rests_on_what():
    assert written() == table(), "run python tests/support/theory_graph.py"
