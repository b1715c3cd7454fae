"""Calls from Python that cannot be meant so: each is answered by a sentence of ours, never by an error from inside."""

import numpy as np
import pytest

import gfscore

RNG, Y = np.random.default_rng(0), np.arange(60) % 3
L = RNG.normal(0, 1, (60, 3)) + 2 * np.eye(3)[Y]
X = RNG.random((60, 1, 2, 2)).astype(np.float32)


@pytest.fixture(scope="module")
def names():
    """What the calls below are about: a network, arrays, samples and results."""
    nn = pytest.importorskip("torch").nn
    audit = gfscore.audit(L, Y, permutations=0)
    return {
        **{name: getattr(gfscore, name) for name in gfscore.__all__},
        "np": np,
        "nn": nn,
        "L": L,
        "X": X,
        "Y": Y,
        "S": gfscore.Samples.of(L, Y),
        "A": audit,
        "net": nn.Sequential(nn.Flatten(), nn.Linear(4, 3)),
        "G": gfscore.gate(audit, wcr=0.1),
        "C": gfscore.compare(audit, audit),
    }


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ("audit(5)", "int is neither logits nor a model. Give arrays, files, or a model and data."),
        ("audit(None)", "there is nothing to audit. Name logits files, a --model and --data, or a"),
        ("audit({})", "there is nothing to audit. Name logits files, a --model and --data, or a"),
        ("audit(object())", "object is neither logits nor a model. Give arrays, files, or a model and"),
        ("audit(net)", "--model is given without --data. Running a model takes both."),
        ("audit(net, 5)", "data is int. Give (images, labels), a loader or a data set of such pairs,"),
        ("audit(net, object())", "data is object. Give (images, labels), a loader or a data set of such"),
        ("audit(net, X)", "data is ndarray, without labels. Give (images, labels), a loader or a data"),
        ('audit(net, "nothing.npz")', "nothing.npz: does not exist. Check the path."),
        ("audit(net, (X, Y[:5]))", "data holds 60 inputs and labels of shape (5,). Give one label each."),
        ("audit(net, (X, Y+7))", "model gives 3 logits but the data has label 9. Use the data set the model"),
        ("audit(net, (X, -Y))", "label -1 in row 1 is negative: no class. Give data with known classes."),
        ('audit(net, (X, ["a"]*60))', "labels are names ('a'). Give class_names in the order of the model's"),
        ("audit(net, (X, np.eye(3)[Y]))", "labels have shape (60, 3); they must be one class index per image. If they"),
        ("audit(net, (np.zeros((0,1,2,2)), []))", "data holds no input. Give at least one of each of two classes."),
        ("audit(net, (X*np.nan, Y))", "arrays: images hold NaN or infinity. Look for the division that made it."),
        ("audit(net, [])", "--model is given without --data. Running a model takes both."),
        (
            'audit(net, {"a": X, "labels": Y})',
            "dict has no images: it holds 'a', 'labels'. Call them 'image' and 'label',",
        ),
        ("audit(net, S)", "data is Samples. Give images with their labels."),
        ("audit(net, A)", "data is Audit. Give images with their labels."),
        ("audit(net, net)", "data gives Flatten alone, without labels. Give (images, labels), a loader"),
        ("audit(net, iter([]))", "list_iterator holds no image. Give at least one of each of two classes."),
        ("audit(nn.Linear(5,3), (X, Y))", "model: cannot run on inputs of shape (12, 1, 2, 2) (mat1 and mat2 shapes"),
        ("audit(nn.Linear, (X, Y))", "the model is the class Linear. Give an instance: Linear(...)."),
        ('audit(lambda x: "no", (X, Y))', "model: returned shape () for 12 inputs; logits have shape (12, classes)."),
        ("audit(lambda x: 1/0, (X, Y))", "model: cannot run on inputs of shape (12, 1, 2, 2) (division by zero)."),
        (
            "audit(lambda x: x.shape, (X, Y))",
            "model: returned shape (4,) for 12 inputs; logits have shape (12, classes).",
        ),
        ("audit(lambda x: x[:1], (X, Y))", "model: returned shape (1, 1, 2, 2) for 12 inputs; logits have shape (12,"),
        ("audit(X, net)", "ndarray comes before the model. Give the model first, then its data."),
        ("audit(L[0], Y)", "logits have shape (3,); they must be (samples, classes). Reshape them."),
        ("audit(L)", "logits in memory need their labels beside them. Give both arrays, Samples,"),
        ("audit(L, 3)", "labels have shape (); they must be one class index per sample."),
        ("audit(L, L)", "labels have shape (60, 3); they must be one class index per sample. If they"),
        ("audit(L, Y, data=(X, Y))", "--data is given without --model. Running a model takes both."),
        ("audit(S, Y)", "Samples has labels of its own. Give no others beside it."),
        ("audit(A)", "Audit is a result. gate and compare take an Audit; else give logits, or a"),
        ("audit(A, Y)", "Audit is a result: it needs no labels. Give it alone."),
        ('audit("net.npz", Y)', "net.npz is a file of logits, which has its labels in it. Give no others"),
        ("audit(L, Y, model=net)", "arrays are given beside a model. Give them as its data: data=(images,"),
        (
            "audit(net, (X, Y), model=net)",
            "two models are given: one first, and one by the name model. Give several in",
        ),
        (
            "audit(net, (X, Y), data=(X, Y))",
            "data are given twice: after the model, and by the name data. Give them once.",
        ),
        ("audit(net, (X, Y), name=5)", "name is int. Give text."),
        (
            'audit(net, (X, Y), mean="a", std="b")',
            "mean is 'a'. Give numbers separated by commas, such as 0.49,0.48,0.45.",
        ),
        ("audit(net, (X, Y), mean=object(), std=1)", "mean is object. Give text."),
        ('audit(net, (X, Y), batch_size="many")', "batch_size is str. Give a whole number."),
        (
            'audit(net, (X, Y), engine="ray")',
            "a model or data in memory cannot be opened by the workers of a cluster",
        ),
        ('audit(L, Y, delta="small")', "delta is str. Give a number."),
        ("audit(L, Y, seed=1.5)", "seed is float. Give a whole number."),
        ("audit(L, Y, class_names=5)", "class names are a int, which has no fixed order. Give a list."),
        ("audit(L, Y, groups=5)", "groups have shape () for 60 samples. Give one per sample."),
        ("audit(L, Y, sample_ids=5)", "sample ids have shape () for 60 samples. Give one per sample."),
        ('audit(L, Y, class_sizes="a")', "class sizes of shape (): give one whole number for each of 3 classes."),
        ("audit(L, Y, tempreature=2)", "audit() got an unexpected keyword argument 'tempreature'. Did you mean"),
        ('audit(L, Y, "third")', "audit() too many positional arguments. See help(gfscore.audit)."),
        ("audit(L, Y, seen=5)", "seen is int. Give a function."),
        ('audit(L, Y, options={"delta": 0.1})', "options is dict. Give Options, or its words one by one."),
        ("audit(L, Y, calibrate=5)", "objective 5 is not known. Choose one of: models, classes, stability, given."),
        ("audit([net, 5], (X, Y))", "one of several models is int. Give a path or spec such as 'net.onnx' or"),
        (
            'audit({"a": net, "b": 5}, (X, Y))',
            "one of several models is int. Give a path or spec such as 'net.onnx' or",
        ),
        ("gate(5, wcr=0.1)", "int is neither logits nor a model. Give arrays, files, or a model and data."),
        ("gate(net, wcr=0.1)", "--model is given without --data. Running a model takes both."),
        ("gate(A)", "the policy has no rule. Give at least one, such as --wcr 0.1."),
        ("gate(A, Y, wcr=0.1)", "Audit is a result: it needs no labels. Give it alone."),
        ("gate(A, wcr=[1])", "wcr is list. Give a number."),
        ("gate(G, wcr=0.1)", "GateResult is a result. gate and compare take an Audit; else give logits,"),
        ("gate(C, wcr=0.1)", "Comparison is a result. gate and compare take an Audit; else give logits,"),
        ("gate(L, Y, baseline=5, wcr=0.1)", "the baseline is int. Give a file, Samples, or an audit."),
        ('gate(L, Y, policy="none.toml")', "gate() multiple values for argument 'policy'. See help(gfscore.gate)."),
        ("gate(S, 5)", "Samples has labels of its own. Give no others beside it."),
        ("gate(S, class_=5)", "class_ is int. Give a list of texts."),
        ("gate(S, wcr=0.1, allow=5)", "allow is int. Give a list of texts."),
        (
            'gate(net, (X, Y), wcr=0.1, adaptive=True, score="zzz")',
            "score 'zzz' is not known. Choose great or first-order.",
        ),
        ("compare(A)", "compare() missing a required argument: 'new'. See help(gfscore.compare)."),
        ("compare(5, 6)", "a version is int. Give a file, (logits, labels), Samples, a result of"),
        ("compare(A, S)", "one version is an audit, and the other has samples. Give logits for both,"),
        ("compare(net, net)", "a version is a model, without data. Give them: --data IMAGES (data=...)."),
        ("compare(L, L)", "a version is ndarray. Give a file, (logits, labels), Samples, a result of"),
        ("compare(L, L, labels=Y[:3])", "logits have 60 rows but there are 3 labels. They look transposed: give"),
        ("compare((L, Y), (L, Y, Y))", "a version is tuple. Give a file, (logits, labels), Samples, a result of"),
        ("compare(A, G)", "a version is GateResult. Give a file, (logits, labels), Samples, a result"),
        ("compare(S, S, names=5)", "names are 5. Give two: of the old version, and of the new one."),
        ('compare(S, S, tolerance="x")', "tolerance is str. Give a number."),
        (
            'certify(A, method="lipschitz", lipschitz=3)',
            "Audit is a result. gate and compare take an Audit; else give logits, or a",
        ),
        ("certify(net, (X, Y))", "certify() missing a required argument: 'method'. See help(gfscore.certify)."),
        (
            'certify(5, method="given", radii=[1])',
            "int is neither logits nor a model. Give arrays, files, or a model and data.",
        ),
        ('certify(L, Y, method="given", radii=5)', "radii have shape () for 60 samples. Give one per sample."),
        (
            'certify(L, Y, method="lipschitz")',
            "logits do not show their network. Give --lipschitz for pixels, or --model",
        ),
        ("check()", "--data is given without --model. Running a model takes both."),
        ("check(A)", "the model is Audit. Give a path or spec such as 'net.onnx' or"),
        ("check(5, 6)", "the model is int. Give a path or spec such as 'net.onnx' or"),
        ("check(net)", "--model is given without --data. Running a model takes both."),
        ("check(net, (X*9-4, Y))", "model: the images reach from "),
        ("check(net, (X, Y), method=5)", "method is int. Give a list of texts."),
        ('calibrate(A, "models")', "Audit is a result. gate and compare take an Audit; else give logits, or a"),
        ('calibrate(5, "models")', "int is neither logits nor a model. Give arrays, files, or a model and data."),
        ('calibrate(net, "models")', "--model is given without --data. Running a model takes both."),
        ("calibrate(S)", "no objective is given. Say what to maximise: models, classes, stability or"),
        ("calibrate(S, 5)", "objective 5 is not known. Choose one of: models, classes, stability, given."),
        ('calibrate(S, "models", run=5)', "run is int. Give RunOptions, or its words one by one."),
        ("samples_of(5)", "logits in memory need their labels beside them. Give both arrays, or"),
        ("samples_of(net)", "the model comes without data. Give (inputs, labels), a data spec, or the"),
        ('plan(half_width="x")', "half_width is str. Give a number."),
        ("audit_models(5)", "there is no model to audit. Give at least one set of samples, by the name"),
    ],
)
def test_a_wrong_call_is_answered_in_a_sentence(call, answer, names):
    with pytest.raises(gfscore.GFScoreError) as caught:
        eval(call, names)
    told = str(caught.value)
    assert told.startswith(answer)
    assert told.endswith((".", "?"))
    assert "\n" not in told


ABOUT = {
    "labels_from=1": "--labels-from is about logits files",
    "label_names=['a', 'b', 'c']": "--label-names is about logits files",
    "label_column='y'": "--label-column is about tables (.csv, .tsv or .parquet)",
    "ignore_columns=['id']": "--ignore-columns is about tables (.csv, .tsv or .parquet)",
}
IN_MEMORY, AN_AUDIT = "samples in memory have", "an audit has"


@pytest.mark.parametrize("word", ABOUT)
@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("audit(S, {})", IN_MEMORY),
        ("audit({{'a': S, 'b': S}}, {})", IN_MEMORY),
        ("gate(S, wcr=0.1, {})", IN_MEMORY),
        ("gate([S, S], wcr=0.1, {})", IN_MEMORY),
        ("gate(A, wcr=0.1, {})", AN_AUDIT),
        ("gate('audit.json', wcr=0.1, {})", AN_AUDIT),
        ("gate(S, wcr=0.1, baseline=S, {})", IN_MEMORY),
        ("compare(S, S, {})", IN_MEMORY),
        ("compare(A, A, {})", AN_AUDIT),
        ("compare('old.json', 'new.json', {})", AN_AUDIT),
        ("calibrate({{'a': S}}, 'stability', {})", IN_MEMORY),
        ("certify(S, method='lipschitz', lipschitz=1, {})", IN_MEMORY),
    ],
)
def test_what_is_said_of_files_is_refused_where_none_is_read(call, what, word, names):
    with pytest.raises(gfscore.GFScoreError) as refused:
        eval(call.format(word), names)
    of_labels = word.startswith(("labels_from", "label_names"))
    assert (
        str(refused.value)
        == f"{ABOUT[word]}, and {what} {'classes already' if of_labels else 'no columns'}. Leave it out."
    )


@pytest.mark.parametrize("word", ["labels_from=1", "label_names=['a', 'b', 'c']"])
@pytest.mark.parametrize(
    ("call", "whose"),
    [
        ("audit(net, (X, Y), {})", "the labels of --data are its own"),
        ("gate(net, (X, Y), wcr=0.1, {})", "the labels of --data are its own"),
        ("audit(lambda x: x @ np.eye(3), (L, Y), {})", "the labels of data are its own"),
        ("gate(lambda x: x @ np.eye(3), (L, Y), wcr=0.1, {})", "the labels of data are its own"),
        ("compare(lambda x: x, lambda x: x, data=(L, Y), {})", "the labels of data are its own"),
    ],
)
def test_what_is_said_of_the_labels_of_files_is_refused_for_data(call, whose, word, names):
    with pytest.raises(gfscore.GFScoreError) as refused:
        eval(call.format(word), names)
    assert str(refused.value).endswith(f"{ABOUT[word]}, and {whose}. Leave it out.")


def test_labels_of_arrays_are_counted_as_it_is_said(names):
    """Beside arrays the words are about their labels, and are used."""
    for call in ("audit(L, Y + 1, labels_from=1)", "gate(L, Y + 1, wcr=0.1, labels_from=1)"):
        found = eval(call, names)
        assert (
            found.models[0].accuracy == eval(call.replace(" + 1", "").replace("=1)", "=0)"), names).models[0].accuracy
        )
