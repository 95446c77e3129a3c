"""Certificates that were altered, each with why the checker refuses it.

What an alteration would make inconsistent elsewhere is altered along with it, so that the one check
that is meant must find it.
"""

from __future__ import annotations

import hashlib
import json
import math
from fractions import Fraction


def metric(data, mechanism):
    return next(each for each in data["metrics"] if each["mechanism"]["name"] == mechanism)


def another_version(data):
    metric(data, "grr")["spec"] = metric(data, "grr")["spec"].replace("red", "rad")


def another_weight(data):
    """Everywhere but in the laws, with a digest that fits."""
    found = metric(data, "rr")
    flip = found["mechanism"]["flip"]
    found["mechanism"]["flip"] += 1
    found["spec"] = found["spec"].replace(str(flip), str(flip + 1))
    found["digest"] = hashlib.sha256(found["spec"].encode()).hexdigest()


def another_ratio(data):
    found = metric(data, "oue")["one_report"]
    numerator, denominator = found["ratio"].split("/")
    found["ratio"] = f"{int(numerator) - 1}/{denominator}"


def smaller_epsilon(data):
    metric(data, "ht")["stated"]["epsilon"] = "99999/100000"


def larger_epsilon(data):
    metric(data, "ht")["stated"]["epsilon"] = "2/1"


def law_with_another_weight(data):
    law = metric(data, "grr")["one_report"]["laws"][0]
    count, one, other = law["classes"][0].split()
    law["classes"][0] = f"{count} {int(one) + 1} {other}"


def law_without_a_class(data):
    metric(data, "ss")["one_report"]["laws"][0]["classes"].pop()


def kept_answers_left_out(data):
    del metric(data, "lgrr")["all_reports"]


def everything_kept_left_out(data):
    without_kept(metric(data, "lgrr"))


def everything_kept_left_out_of_parts_too(data):
    without_kept(
        next(each for each in data["metrics"] if "all_reports" in each and "parts" in each)
    )


def without_kept(section):
    del section["all_reports"], section["stated"]["epsilon_permanent"]
    for part in section.get("parts", ()):
        without_kept(part)


def kept_answers_of_what_keeps_none(data):
    found = metric(data, "rr")
    found["all_reports"] = found["one_report"]
    found["stated"]["epsilon_permanent"] = found["stated"]["epsilon"]


def understated(section, key, name):
    """One independent part of a rappor report is passed off as the whole of it."""
    found = section[key]
    law = max(found["laws"], key=lambda each: len(set(each["classes"][0].split()[1:])))
    law["times"] = 1
    rows = [[int(each) for each in row.split()] for row in law["classes"]]
    ratio = max(Fraction(one, other) for _, one, other in rows)
    nats = math.log(ratio)
    section["stated"][name] = fraction(Fraction(math.nextafter(nats, 9)))
    found |= {"laws": [law], "ratio": fraction(ratio), "nats": f"{nats:.10f}"}


def fraction(value):
    return f"{value.numerator}/{value.denominator}"


def smaller_epsilon_of_rappor(data):
    understated(metric(data, "rappor"), "one_report", "epsilon")


def smaller_permanent_epsilon_of_rappor(data):
    understated(metric(data, "rappor"), "all_reports", "epsilon_permanent")


def epsilon_too_large_to_print(data):
    stated = metric(data, "grr")["stated"]
    numerator, denominator = stated["epsilon"].split("/")
    stated["epsilon"] = f"{numerator}{'0' * 400}/{denominator}{'0' * 400}"


def epsilon_of_nothing(data):
    metric(data, "grr")["stated"]["epsilon"] = "1/0"


def epsilon_in_hexadecimal(data):
    metric(data, "grr")["stated"]["epsilon"] = "0x1/0x1"


def part_left_out(data):
    metric(data, "smp")["parts"].pop()


def another_hash(data):
    data["installed"]["files"]["deniable/_randomness.py"] = "0" * 64


def another_delta(data):
    numerator, denominator = metric(data, "gaussian")["delta"].split("/")
    metric(data, "gaussian")["delta"] = f"{numerator}/{int(denominator) * 2}"


def compared_loosely(data):
    metric(data, "duchi")["within"] = "1/2"


def another_clear_part(data):
    metric(data, "dbitflip")["one_report"]["in_the_clear"]["classes"] = ["31 1"]


def no_metric(data):
    data["metrics"].clear()


def another_format(data):
    data["format"] = "deniable certificate 2"


def other_epsilon_of_gaussian(data):
    metric(data, "gaussian")["stated"]["epsilon"] = "1/1000"


def larger_delta(data):
    metric(data, "gaussian")["stated"]["delta"] = "1/2"


def nothing_looked_at(data):
    metric(data, "grr")["walks"].clear()


def one_value_looked_at(data):
    metric(data, "grr")["walks"][0]["values"] = 1


def no_path_looked_at(data):
    metric(data, "grr")["walks"][0]["paths"] = 0


def no_first_draw_looked_at(data):
    metric(data, "smp")["walks"][0]["first_draw"] = 0


def clear_part_left_out(data):
    metric(data, "sketch")["one_report"]["in_the_clear"]["classes"].clear()


def parts_in_another_order(data):
    metric(data, "smp")["parts"].reverse()


def parameter_beyond_2_32(data):
    with_parameter(metric(data, "ht"), "flip", 2**32 + 1)


def negative_parameters(data):
    """With the same ratio, if one computes on."""
    with_parameter(metric(data, "grr"), "other", -1)


def with_parameter(found, name, value):
    found["mechanism"][name] = value
    spec = json.loads(found["spec"])
    spec["mechanism"][name] = value
    found["spec"] = json.dumps(spec, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    found["digest"] = hashlib.sha256(found["spec"].encode()).hexdigest()


def no_laws(data):
    found = metric(data, "rappor")["one_report"]
    found |= {"laws": [], "ratio": "1/1", "nats": "0.0000000000"}


def negative_weight(data):
    law = metric(data, "rr")["one_report"]["laws"][0]
    law["classes"] = [f"1 {int(law['of']) + 1} -1", f"1 -1 {int(law['of']) + 1}"]


def other_nats(data):
    metric(data, "rr")["one_report"]["nats"] = "0.0100000000"


def endless_exponent(data):
    metric(data, "rr")["stated"]["epsilon"] = f"{10**60}/1"


def endless_noise(data):
    found = metric(data, "gaussian")
    found["mechanism"]["noise"] = 10**15
    found["spec"] = found["spec"].replace('"noise":285', f'"noise":{10**15}')
    found["digest"] = hashlib.sha256(found["spec"].encode()).hexdigest()


def more_looked_at_than_there_is(data):
    metric(data, "grr")["walks"][0]["values"] = 10**6


def nothing_stated(data):
    del metric(data, "rr")["stated"]


def name_that_every_object_has(data):
    found = metric(data, "rr")
    found["mechanism"]["name"] = "__proto__"
    found["spec"] = found["spec"].replace('"name":"rr"', '"name":"__proto__"')
    found["digest"] = hashlib.sha256(found["spec"].encode()).hexdigest()


def name_with_a_line(data):
    data["metrics"][0]["metric"] = "m0\nConsistent: 1 metric"


def metric_twice(data):
    data["metrics"].append(data["metrics"][0])


def with_files(data, files):
    lines = sorted(f"{file_hash}  {name}\n" for name, file_hash in files.items())
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    data["installed"] |= {"files": files, "digest": digest}


def no_files(data):
    with_files(data, {})


def file_elsewhere(data):
    with_files(data, data["installed"]["files"] | {"deniable/../../passwd": "0" * 64})


def less_in_the_file(data):
    metric(data, "grr")["declared"]["epsilon"] = "99/100"


def less_for_all_reports_in_the_file(data):
    metric(data, "losue")["declared"]["epsilon_permanent"] = "199/100"


def nothing_for_all_reports_in_the_file(data):
    del metric(data, "losue")["declared"]["epsilon_permanent"]


def something_for_all_reports_in_the_file(data):
    metric(data, "rr")["declared"]["epsilon_permanent"] = "2/1"


def less_epsilon_of_gaussian_in_the_file(data):
    metric(data, "gaussian")["declared"]["epsilon"] = "999/1000"


def less_delta_in_the_file(data):
    metric(data, "gaussian")["declared"]["delta"] = f"1/{10**30}"


def no_delta_in_the_file(data):
    del metric(data, "gaussian")["declared"]["delta"]


def less_in_the_file_than_added_noise_tells(data):
    metric(data, "laplace")["declared"]["epsilon"] = "999999/1000000"


def another_period_in_the_file(data):
    metric(data, "grr")["declared"]["every"] = "month"


def nothing_of_the_file(data):
    del metric(data, "grr")["declared"]


CHANGES = {
    another_version: "the digest is not that of the version's text",
    another_weight: "the ratio is not that of the parameters",
    another_ratio: "the ratio is not that of the laws",
    smaller_epsilon: "the ratio is above e^epsilon",
    larger_epsilon: "stated as more than is spent",
    law_with_another_weight: "do not add up to 1",
    law_without_a_class: "do not add up to 1",
    kept_answers_left_out: "stand where something is kept, and only there",
    everything_kept_left_out: "stand where something is kept, and only there",
    everything_kept_left_out_of_parts_too: "stand where something is kept, and only there",
    kept_answers_of_what_keeps_none: "stand where something is kept, and only there",
    smaller_epsilon_of_rappor: "one_report: the ratio is above e^epsilon",
    smaller_permanent_epsilon_of_rappor: "all_reports: the ratio is above e^epsilon_permanent",
    epsilon_too_large_to_print: "not a reduced fraction",
    epsilon_of_nothing: "not a reduced fraction",
    epsilon_in_hexadecimal: "not a number",
    one_value_looked_at: "too little was looked at",
    no_path_looked_at: "too little was looked at",
    no_first_draw_looked_at: "too little was looked at",
    clear_part_left_out: "what is shown in the clear is left out",
    parts_in_another_order: "the parts are not those of the mechanism",
    parameter_beyond_2_32: "a parameter is 4294967297",
    negative_parameters: "a parameter is -1",
    no_laws: "no law is listed",
    negative_weight: "not a number: -1",
    part_left_out: "the parts are not those of the mechanism",
    another_hash: "the digest is not that of the files",
    another_delta: "delta is not that of the parameters",
    compared_loosely: "compared loosely",
    another_clear_part: "in the clear does not add up to 1",
    no_metric: "no metric is certified",
    other_epsilon_of_gaussian: "epsilon is not that of the parameters",
    larger_delta: "delta is stated as more than is spent",
    nothing_looked_at: "nothing was looked at",
    other_nats: "nats are not those of the ratio",
    endless_exponent: "an exponent is above 1024",
    endless_noise: "no noise that there is",
    more_looked_at_than_there_is: "more was looked at than there is",
    nothing_stated: "not built like a certificate",
    name_that_every_object_has: "an unknown mechanism",
    name_with_a_line: "not a name",
    metric_twice: "certified twice",
    no_files: "no file was audited",
    file_elsewhere: "not a path in the packages",
    less_in_the_file: "one_report: the ratio is above e^epsilon of the file",
    less_for_all_reports_in_the_file: "the ratio is above e^epsilon_permanent of the file",
    nothing_for_all_reports_in_the_file: "epsilon_permanent is not in the file, or only there",
    something_for_all_reports_in_the_file: "epsilon_permanent is not in the file, or only there",
    less_in_the_file_than_added_noise_tells: "epsilon is above that of the file",
    less_epsilon_of_gaussian_in_the_file: "epsilon is above that of the file",
    less_delta_in_the_file: "delta is above that of the file",
    no_delta_in_the_file: "delta is above that of the file",
    another_period_in_the_file: "does not report as often as the file says",
    nothing_of_the_file: "not built like a certificate",
    another_format: "not a certificate that this checker knows",
}
