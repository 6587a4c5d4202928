"""Tables as text: what a cell says, it says in every form."""

from wakesleep.metrics.tables import Number, Table, to_csv, to_latex, to_markdown

TABLE = Table("pairwise", ("agent", "PM"), (("a_b", Number(-1.5, 0.25, "∘", "of 3")), ("50%|$x^2$", "–")))


def test_markdown():
    assert to_markdown(TABLE).splitlines()[2:] == [
        "| agent | PM |", "| --- | --- |", "| a_b | -1.50 ± 0.25 ∘ (of 3) |", r"| 50%\|$x^2$ | – |",
    ]  # fmt: skip


def test_latex():
    rows = to_latex(TABLE).splitlines()
    assert rows[5] == r"a\_b & $-1.50$ ($\pm 0.25$) $\circ$ (of 3) \\"
    assert rows[6] == r"50\%|\$x\textasciicircum{}2\$ & – \\"


def test_csv():
    assert to_csv(("a", "b"), [(0.1, None), ("x,y", 2)]) == 'a,b\n0.1,\n"x,y",2\n'
