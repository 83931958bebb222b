"""The first run of `ipub fit`: scaled, with the penalty of cross-validation, and with advice where bounds are wide."""

import re
import shlex

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.datasets import load_wine
from typer.testing import CliRunner

from ipub import BoundedClassifier
from ipub.app import advice, budgets, cli, fit_report, penalty_screen, predictions
from ipub.app.files.modelfile import load

N = 91


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*arguments):
    done = CliRunner().invoke(cli.app, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture
def holed():
    """A table with so many missing values of b that no prediction is certain, and few of c."""
    frame = with_holes(N)
    frame.to_csv("t.csv", index=False)
    return frame


def with_holes(n):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    frame["y"] = np.where(frame["a"] + frame["b"] + 0.5 * rng.normal(size=n) > 0.0, "yes", "no")
    frame.loc[rng.random(n) < 0.4, "b"] = np.nan
    frame.loc[rng.random(n) < 0.02, "c"] = np.nan
    return frame


# --- the penalty -----------------------------------------------------------------------------------------------------


def picked(holed, alpha="1se"):
    return BoundedClassifier(alpha=alpha, scale="standard", certificate=None).fit(holed[["a", "b", "c"]], holed["y"])


WORDS = {
    "1se": "the strongest within one standard error of the least held-out loss,",
    "min": "of the least held-out loss",
}


@pytest.mark.parametrize("rule", ["1se", "min"])
def test_the_penalty_is_picked_and_the_screen_says_so(rule, holed):
    done = run("fit", "t.csv", "--target", "y", *(["--alpha", rule] if rule == "min" else []))
    alpha = picked(holed, rule).alpha_
    assert f"alpha {alpha:g}, {WORDS[rule]} in 10-fold cross-validation (log loss); --alpha sets it" in done.stdout
    model = load("model.ipub")
    assert (model.alpha, model.alpha_, model.scale) == (rule, alpha, "standard")
    assert "Penalty: alpha 0.5, as requested" in run("fit", "t.csv", "--target", "y", "--alpha", "0.5").stdout


def rows_of_penalties(done):
    lines = [line.strip() for line in done.stdout.splitlines()]
    return [re.split(r"  +", line) for line in lines if line.startswith(("least loss", "one standard error"))]


def test_both_penalties_are_shown_with_their_price(holed):
    done = run("fit", "t.csv", "--target", "y")
    least, one_error = rows_of_penalties(done)
    choice = picked(holed).alpha_choice_
    for row, name, k in (
        (least, "least loss", choice.least),
        (one_error, "one standard error", choice.one_error),
    ):
        assert row[0] == name
        assert row[1:4] == [f"{choice.alphas[k]:g}", f"{choice.loss[k]:.4g}", f"{choice.accuracy[k]:.3f}"]
    assert float(least[5]) >= float(one_error[5])  # the width
    other = run("fit", "t.csv", "--target", "y", "--alpha", "min")
    assert [row[1:] for row in rows_of_penalties(other)] == [least[1:], one_error[1:]]


def test_the_other_penalty_is_not_tried_after_a_long_fit(holed, monkeypatch):
    monkeypatch.setattr(penalty_screen, "PATIENCE", 0.0)
    monkeypatch.delattr(penalty_screen, "clone")
    done = run("fit", "t.csv", "--target", "y")
    assert rows_of_penalties(done)[0][4:] == ["-", "-"]
    assert "The other penalty was not tried, since the fit took 0 s: --alpha min fits with it" in done.stdout


def test_without_bounds_there_is_the_loss_of_both(holed):
    rows = rows_of_penalties(run("fit", "t.csv", "--target", "y", "--certificate", "none"))
    assert [len(row) for row in rows] == [4, 4]


def test_one_penalty_is_said_to_be_the_only_one(holed, monkeypatch):
    monkeypatch.setattr("ipub.training.alpha_choice.ALPHAS", (0.1,))
    done = run("fit", "t.csv", "--target", "y")
    assert rows_of_penalties(done) == []
    assert "No stronger penalty has a held-out loss within one standard error" in done.stdout


def test_check_picks_it_too(holed):
    done = run("check", "t.csv", "--target", "y", "--draws", "3")
    alpha = picked(holed).alpha_
    assert f"alpha {alpha:g}, {WORDS['1se']} in 10-fold cross-validation (log loss); --alpha sets it" in done.stdout
    assert "cross-validation" not in run("check", "t.csv", "--target", "y", "--draws", "3", "--alpha", "1").stdout


def test_a_table_that_is_too_small_keeps_the_default(holed):
    holed[:6].assign(y=["no", "yes"] * 3).to_csv("t.csv", index=False)
    done = run("fit", "t.csv", "--target", "y")
    assert "alpha 0.1, the default; --alpha sets it" in done.stdout
    assert "there are 6, and it takes at least 20" in " ".join(done.stderr.split())


@pytest.mark.parametrize("command", ["fit", "check"])
def test_a_penalty_that_is_no_number_is_named(command, holed):
    done = CliRunner().invoke(cli.app, [command, "t.csv", "--target", "y", "--alpha", "2se"])
    assert done.exit_code == 2
    assert "'2se' is neither 1se nor min nor a number above 0" in " ".join(done.stderr.split())


# --- intervals -------------------------------------------------------------------------------------------------------


def test_the_level_of_intervals_applies_to_whole_numbers(holed):
    holed["c"] = np.where(np.arange(N) == 7, np.nan, np.arange(N) ** 2)
    holed.to_csv("t.csv", index=False)
    for level, ends in ((0.9, (0.05, 0.95)), (0.5, (0.25, 0.75)), (1.0, (0.0, 1.0))):
        done = run("fit", "t.csv", "--target", "y", "--alpha", "1", "--interval-level", level)
        low, high = np.quantile(holed["c"].dropna(), ends)
        assert re.search(rf"c +1 +{np.floor(low):.6g} +{np.ceil(high):.6g}", done.stdout)


def test_conditional_intervals_are_shown_with_their_coverage():
    rng, holed = np.random.default_rng(1), with_holes(150)
    holed["c"] = np.where(holed["c"].isna(), np.nan, holed["a"] + 0.1 * rng.normal(size=150))
    holed.to_csv("t.csv", index=False)
    done = run("fit", "t.csv", "--target", "y", "--alpha", "1", "--intervals", "conditional")
    report = load("model.ipub").interval_report_
    assert report.rules == ("conditional", "quantile", "conditional")
    assert re.search(r"c +\d +by its +row", done.stdout)
    assert "missing completely at random" in done.stdout
    covered = f"{report.coverage[2]:.3f} of {report.observed[2]}"
    assert re.search(rf"c +{covered} +{report.width[2]:.4g} +{report.quantile_width[2]:.4g}", done.stdout)
    assert "'b' have fewer than 100 observed values" in " ".join(done.stderr.split())
    run("predict", "model.ipub", "t.csv")


# --- advice ----------------------------------------------------------------------------------------------------------


def commands_in(done):
    return [shlex.split(line) for line in done.stdout.splitlines() if line.startswith("    ipub fit")]


NO_WORDS = ("duality", "gap", "row sums", "completion", "half-ball", "Trained in", "moves")
"""What no screen says."""


def test_few_certain_predictions_come_with_a_budget_columns_and_commands(holed):
    done = run("fit", "t.csv", "--target", "y", "--alpha", "0.01")
    assert "No prediction is certain: some filling might change each of them" in done.stdout
    n = int(holed[["b", "c"]].isna().sum().sum())
    kept = re.search(
        rf"at most (\d+) of the {n} missing values \([\d.]+ %\) differs? from the filled-in ones", done.stdout
    )
    assert 1 <= int(kept[1]) < n
    shares = re.search(r"most of the width, by a first estimate: b \((\d+) %\)", done.stdout)
    assert int(shares[1]) > 90
    assert 2 <= len(commands_in(done)) <= 1 + advice.MOST_LEVERS
    for word in NO_WORDS:
        assert word not in done.stdout + done.stderr


@pytest.mark.no_cover
def test_the_commands_run_and_give_what_was_said(holed):
    given = ("fit", "t.csv", "--target", "y", "--alpha", "0.01", "--drop", "c")
    budget, *levers = commands_in(done := run(*given))
    assert budget[-2] == "--budget"
    assert "--drop" in budget
    said = re.search(r"For (\d+ of \d+ predictions \(\d+ %\)) the class stays the same", done.stdout)[1]
    shown = run(*budget[1:]).stdout
    assert f"On the training rows: {said} are certain" in shown
    found = re.findall(
        r"^- .*: (\d+) % certain(?: under any filling)?(?:, accuracy [\d.]+ instead of ([\d.]+))?:$",
        done.stdout,
        re.MULTILINE,
    )
    assert len(found) == len(levers) > 0
    shares = [int(share) for share, _ in found]
    assert shares == sorted(shares, reverse=True)
    assert len({before for _, before in found if before}) == 1
    for command, share in zip(levers, shares, strict=True):
        assert f"({share} %) are certain" in run(*command[1:]).stdout


def test_commands_name_the_penalty_that_was_picked(holed):
    done = run("fit", "t.csv", "--target", "y")
    picked = f"{load('model.ipub').alpha_:g}"
    commands = commands_in(done)
    assert commands
    assert all("--alpha" in command for command in commands)
    assert commands[0][commands[0].index("--alpha") + 1] == picked


def test_a_lever_that_was_not_tried_is_not_printed(holed, monkeypatch):
    for name in ("PATIENCE", "OF_FIT"):
        monkeypatch.setattr(advice, name, 0.0)
    done = run("fit", "t.csv", "--target", "y", "--alpha", "0.01")
    assert "was tried" not in done.stdout
    assert "% certain" not in done.stdout


def test_a_file_without_rows_is_promised_what_it_holds(holed):
    done = run("fit", "t.csv", "--target", "y", "--alpha", "0.01", "--without-rows")
    said = re.search(r"[Ff]or (\d+ of \d+ predictions \(\d+ %\)) the class stays the same", done.stdout)
    assert "--without-rows" in commands_in(done)[0]
    assert f"{said[1]} are certain" in run(*commands_in(done)[0][1:]).stdout


def test_certain_predictions_need_no_advice(holed):
    holed.assign(b=holed["b"].fillna(0.0)).to_csv("t.csv", index=False)
    done = run("fit", "t.csv", "--target", "y", "--alpha", "1")
    assert "tried" not in done.stdout
    assert "filled-in" not in done.stdout


def test_where_no_budget_is_proved_a_stronger_penalty_is_named_with_one(holed):
    done = run("fit", "t.csv", "--target", "y", "--alpha", "0.00001")
    found = re.search(
        r"With alpha ([\d.e-]+) \(accuracy ([\d.]+) instead of [\d.]+\), for (\d+ of \d+ .*) the class", done.stdout
    )
    command = commands_in(done)[0]
    assert command[command.index("--alpha") + 1] == found[1]
    assert f"{found[3]} are certain" in run(*command[1:]).stdout


def test_where_no_budget_is_proved_at_all_draws_are_named_and_the_command_gives_what_was_said(holed, monkeypatch):
    monkeypatch.setattr(budgets, "_found", lambda _trials: None)
    monkeypatch.setattr(advice, "TRIED_ROWS", N)
    done = run("fit", "t.csv", "--target", "y", "--alpha", "0.001")
    sentence = r"For (\d+ of \d+ predictions \(\d+ %\)) the class stays the same under all of 37 fillings"
    said = re.search(sentence, done.stdout)[1]
    assert "With probability 99 %, for each row by itself" in done.stdout
    command = commands_in(done)[0]
    assert command[-2:] == ["--draws", "37"]
    assert f"{said} are certain" in run(*command[1:]).stdout


def test_any_filling_with_a_stronger_penalty_comes_before_a_budget():
    frame = load_wine(as_frame=True).frame.sample(frac=1.0, random_state=0)[:120].reset_index(drop=True)
    frame.loc[frame.index % 15 == 0, "hue"] = frame.loc[frame.index % 20 == 3, "ash"] = np.nan
    frame["target"] = frame["target"].map({0: "a", 1: "b", 2: "c"})
    frame.to_csv("t.csv", index=False)
    done = run("fit", "t.csv", "--target", "target", "--alpha", "0.0056")
    said = re.search(
        r"^With alpha [\d.]+ \(accuracy ([\d.]+) instead of ([\d.]+)\), (\d+ of \d+ predictions \((\d+) %\)) are "
        "certain under any filling",
        done.stdout,
        re.MULTILINE,
    )
    assert float(said[1]) >= float(said[2]) - advice.AS_ACCURATE
    assert "--budget" not in done.stdout
    assert "--draws" not in done.stdout
    assert f"{said[3]} are certain" in run(*commands_in(done)[0][1:]).stdout
    listed = re.findall(r"^- .* (\d+) % certain", done.stdout, re.MULTILINE)
    assert all(int(share) >= int(said[4]) for share in listed)


@pytest.mark.parametrize(("accuracy", "is_left"), [(0.90, True), (0.85, False)])
def test_a_promise_that_assumes_more_is_left_out_where_one_that_does_not_gives_as_much(accuracy, is_left):
    strong = advice.Lever(advice.with_alpha(0.1), 0.96, "")
    narrow = advice.Lever(advice.Change("intervals", {"intervals__level": 0.5}, {"interval_level": "0.5"}), 0.97, "")

    class Tried:
        def is_as_accurate(self, change, other):
            return {"alpha 0.1": accuracy, "intervals": 0.9}[change.words] >= 0.89

    assert advice.is_dominated(Tried(), narrow, [strong, narrow], None) == is_left
    assert not advice.is_dominated(Tried(), strong, [strong, narrow], None)
    assert not advice.is_dominated(Tried(), narrow, [narrow], None)


def test_with_the_hinge_another_loss_is_named_of_which_budgets_are_proved(holed):
    done = run("fit", "t.csv", "--target", "y", "--loss", "hinge", "--alpha", "0.03")
    assert "With --loss smoothed_hinge" in done.stdout
    command = commands_in(done)[0]
    assert command[command.index("--loss") + 1] == "smoothed_hinge"
    said = re.search(r"for (\d+ of \d+ .*) the class stays", done.stdout)[1]
    assert f"{said} are certain" in run(*command[1:]).stdout


def test_a_budget_that_is_too_large_leads_to_a_smaller_one(holed):
    done = run("fit", "t.csv", "--target", "y", "--alpha", "0.01", "--budget", "90%")
    command = commands_in(done)[0]
    assert int(command[command.index("--budget") + 1]) < 0.9 * holed.isna().sum().sum()


def test_a_regression_with_wide_bounds_names_the_spread_and_a_budget(holed):
    rng = np.random.default_rng(1)
    holed["y"] = rng.normal(size=N) + holed["a"] + 2.0 * holed["b"].fillna(pd.Series(rng.normal(size=N)))
    holed.to_csv("t.csv", index=False)
    done = run("fit", "t.csv", "--target", "y", "--alpha", "0.001")
    spread = f"{np.std(holed['y']):.4g}"
    assert f"the standard deviation of y is {spread}" in done.stdout
    assert "by a first estimate: b" in done.stdout
    width = re.search(
        rf"Bounds have a median width of ([\d.]+) \(the standard deviation of y is {spread}\) as long", done.stdout
    )[1]
    assert f"have a median width of {width};" in run(*commands_in(done)[0][1:]).stdout


def test_missing_categories_are_named_and_have_no_intervals(holed):
    holed["site"] = np.where(holed["y"] == "yes", "north", "south")
    holed.loc[: N // 2, "site"] = None
    holed.assign(b=0.0, c=0.0).drop(columns=["b", "c"]).to_csv("t.csv", index=False)
    done = run("fit", "t.csv", "--target", "y", "--alpha", "0.0001")
    assert "by a first estimate: site (100 %)" in done.stdout
    assert "--interval-level" not in done.stdout


def test_a_share_is_rounded_down_wherever_it_is_shown(monkeypatch):
    frame = with_holes(288)
    frame["b"] = frame["b"].fillna(0.0)
    frame.to_csv("t.csv", index=False)
    share = 276 / 288

    def sampled(_estimator, X, _seconds):
        certain = np.arange(X.num_rows) < share * X.num_rows
        return {
            "prediction": pa.array(np.where(np.arange(X.num_rows) % 2, "yes", "no")),
            "lower": pa.array(np.zeros(X.num_rows)),
            "upper": pa.array(np.ones(X.num_rows)),
            "certain": pa.array(certain),
        }

    for module in (penalty_screen, fit_report):
        monkeypatch.setattr(module, "sampled_predictions", sampled)
    shown = run("fit", "t.csv", "--target", "y").stdout
    assert "276 of 288 predictions (95 %)" in shown
    assert "96 %" not in shown
    assert re.search(r"one standard error .* 95 % ", shown) or re.search(r"least loss .* 95 % ", shown)


# --- one class -------------------------------------------------------------------------------------------------------


def test_certain_that_means_the_majority_is_said_to_mean_little(holed):
    holed.loc[: N - 15, "y"] = "no"
    holed.to_csv("t.csv", index=False)
    done = run("fit", "t.csv", "--target", "y", "--alpha", "100")
    assert "(100 %) are certain" in done.stdout
    assert "Note: Every prediction is no, the most frequent class" in done.stderr
    assert "most frequent class" not in run("fit", "t.csv", "--target", "y", "--alpha", "0.001").stderr


# --- the summary -----------------------------------------------------------------------------------------------------


def test_the_summary_is_of_a_sample_and_says_so(holed, monkeypatch):
    monkeypatch.setattr(predictions, "SUMMARY_ROWS", 40)
    assert f"On 40 of the {N} training rows, drawn at random:" in run("fit", "t.csv", "--target", "y").stdout


def test_the_summary_stops_when_its_time_is_over(holed, monkeypatch):
    monkeypatch.setattr(predictions, "FRACTION", 0.0)
    monkeypatch.setattr(predictions, "LEAST_SECONDS", 0.0)
    done = run("fit", "t.csv", "--target", "y")
    assert f"On {predictions.FIRST_ROWS} of the {N} training rows, drawn at random:" in done.stdout


# --- without a certificate -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_a_model_without_certificate_predicts_without_bounds(holed, loss):
    done = run("fit", "t.csv", "--target", "y", "--certificate", "none", "--loss", loss)
    assert "No bounds, as --certificate none asks for" in done.stdout
    assert "certain" not in done.stdout
    done = run("predict", "model.ipub", "t.csv", "-o", "p.csv")
    assert "without bounds, since the model was fitted without a certificate" in done.stdout
    written = pd.read_csv("p.csv")
    assert list(written) == ["prediction", "probability" if loss == "log_loss" else "score"]
    assert (written["prediction"] == load("model.ipub").predict(holed[["a", "b", "c"]])).all()
    assert "lower" not in run("predict", "model.ipub", "t.csv").stdout


def test_so_does_a_regression(holed):
    holed.assign(y=holed["a"]).to_csv("t.csv", index=False)
    run("fit", "t.csv", "--target", "y", "--certificate", "none")
    run("predict", "model.ipub", "t.csv", "-o", "p.csv")
    assert list(pd.read_csv("p.csv")) == ["prediction"]
