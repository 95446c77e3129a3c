// Re-reads a certificate of `deniable audit`: node check-certificate.mjs CERTIFICATE [FOLDER]
// With the folder in which the packages are installed, it also compares their files.
// It shares no code with Deniable, and needs nothing but node. Exit status 1: refused, and why.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const S = 1n << 32n; // probabilities are integers over 2^32
const ONE = 1n << 256n; // fixed point
const BILLION = 10n ** 9n;
const sha256 = (data) => createHash("sha256").update(data).digest("hex");

// Refusals: whatever is thrown refuses the certificate.
const fail = (reason) => { throw new Error(reason); };
const need = (holds, reason) => holds || fail(reason);
const reason = ({ constructor, message }) =>
  constructor === Error ? message : `it is not built like a certificate (${message})`;

// JSON with sorted keys: to compare what two places say, and as deniable audit writes it.
const ordered = (data) => !data || typeof data !== "object" ? data
  : Array.isArray(data) ? data.map(ordered)
    : Object.fromEntries(Object.keys(data).sort().map((key) => [key, ordered(data[key])]));
const sorted = (data) => JSON.stringify(ordered(data));
const written = (data) => JSON.stringify(ordered(data), null, 1) + "\n";

// Numbers: a fraction is [numerator, denominator], and nothing is computed in floating point.
const gcd = (one, other) => { while (other) [one, other] = [other, one % other]; return one; };
const natural = (text) => {
  need(/^(0|[1-9]\d*)$/.test(text), `not a number: ${text}`);
  return BigInt(text);
};
const fraction = (text) => {
  const [n, d, ...more] = text.split("/").map(natural);
  need(d > 0n && !more.length && gcd(n, d) === 1n, `not a reduced fraction: ${text}`);
  return [n, d];
};
const below = (one, other) => one[0] * other[1] <= other[0] * one[1]; // or equal
const same = (one, other) => one[0] * other[1] === other[0] * one[1];
const max = (one, other) => (below(other, one) ? one : other);
const near = (one, other, parts = BILLION) => { // within one part of so many
  const apart = one[0] * other[1] - other[0] * one[1];
  return (apart < 0n ? -apart : apart) * parts <= other[0] * one[1];
};
const power = ([n, d], times) => {
  need(times > 0 && times <= 1 << 20, `repeated ${times} times`);
  return [n ** BigInt(times), d ** BigInt(times)];
};
const decimal = ([n, d]) => { // with ten digits after the point, rounded up
  const digits = `${(n * 10n ** 10n + d - 1n) / d}`.padStart(11, "0");
  return `${digits.slice(0, -10)}.${digits.slice(-10)}`;
};

function exp([n, d]) { // e^(n/d) in fixed point; below the truth by less than one part in 2^128
  need(n <= 1024n * d, "an exponent is above 1024");
  let [sum, term] = [ONE, ONE];
  const small = n * ONE / (d << 16n);
  for (let i = 1n; term; i++) sum += term = term * small / ONE / i;
  for (let i = 0; i < 16; i++) sum = sum * sum / ONE;
  return [sum, ONE];
}

function deltaOf({ steps, noise }, epsilon) { // of discrete Gaussian noise, for the ends of the range
  need(noise >= 4 && noise <= 1 << 21 && steps > 0 && steps <= 1 << 12, "no noise that there is");
  const [growth] = exp(epsilon);
  const shrink = ONE * ONE / exp([1n, BigInt(noise)])[0];
  const density = [ONE]; // e^(-k^2 / (2 noise)), each from the one before
  let step = ONE * ONE / exp([1n, 2n * BigInt(noise)])[0];
  for (const reach = 20 * Math.sqrt(noise) + steps; density.length < reach; step = step * shrink / ONE)
    density.push(density.at(-1) * step / ONE);
  const at = (k) => density[Math.abs(k)] ?? 0n;
  let [more, total] = [0n, 0n];
  for (let k = 1 - density.length; k < density.length; k++) {
    const difference = at(k) - growth * at(k + steps) / ONE;
    if (difference > 0n) more += difference;
    total += at(k);
  }
  return [more, total];
}

// The largest ratio of one report, [0], and of all reports of a value, [1], from the parameters.
const odds = (flip, of = S) => [of - flip, flip];
const twice = (one, two) => odds(one * (S - two) + (S - one) * two, S * S); // flipped two times
const grr = (k, other) => [S - (k - 1n) * other, other];
const window = ({ size, window, inside }) => [inside * (size - 1n), (S - inside) * window];
const unary = ({ own, other }) => [own * (S - other), (S - own) * other];
const FORMULAS = {
  __proto__: null,
  rr: ({ flip }) => [odds(flip)],
  ht: ({ flip }) => [odds(flip)],
  duchi: ({ flip }) => [odds(flip)],
  grr: ({ size, other }) => [grr(size, other)],
  olh: ({ buckets, other }) => [grr(buckets, other)],
  rhr: ({ bits, other }) => [grr(1n << bits, other)],
  oue: (m) => [unary(m)],
  sue: (m) => [unary(m)],
  privset: ({ size, most, inside }) => [[inside * (size + (size > most ? 1n : 0n)), (S - inside) * most]],
  wheel: ({ buckets, most, own }) => [[own * (buckets - most), S - most * own]],
  ss: ({ size, subset, own }) => [[own * (size - subset), (S - own) * subset]],
  pgr: ({ q, t, inside }) =>
    [[inside * q ** (t - 1n), (S - inside) * ((q ** (t - 1n) - 1n) / (q - 1n))]],
  sw: (m) => [window(m)],
  piecewise: (m) => [window(m)],
  hybrid: (m) => [noHeads(m) ? odds(m.flip) : max(window(m.inner), odds(m.flip))],
  dbitflip: ({ buckets, flip }) => [power(odds(flip), buckets > 1n ? 2 : 1)],
  pairs: ({ inner }) => [odds(inner.flip)],
  lgrr: ({ size: k, permanent_other: o, other: p }) => {
    const [[own], [again]] = [grr(k, o), grr(k, p)];
    return [[own * again + (k - 1n) * o * p, own * p + o * again + (k - 2n) * o * p], [own, o]];
  },
  losue: ({ permanent_other, flip }) => [twice(permanent_other, flip), odds(permanent_other)],
  lduchi: ({ permanent, flip }) => [twice(permanent, flip), odds(permanent)],
  ldbitflip: ({ buckets, permanent, flip }) =>
    [twice(permanent, flip), odds(permanent)].map((each) => power(each, buckets > 1n ? 2 : 1)),
  rappor: ({ hashes, flip, p, q }) => {
    const [unset, set] = [(S - flip) * p + flip * q, (S - flip) * q + flip * p];
    return [power([set * (S * S - unset), unset * (S * S - set)], hashes), power(odds(flip), 2n * hashes)];
  },
};
const PARTS = { __proto__: null, sketch: (m) => [m.inner], smp: (m) => m.inner, trie: (m) => [m.first, m.deeper] };
const integers = (data) => { // parameters, with their integers as BigInt
  if (data && typeof data === "object")
    return Object.fromEntries(Object.entries(data).map(([key, each]) => [key, integers(each)]));
  if (typeof data !== "number") return data;
  need(data >= 0 && data <= 2 ** 32, `a parameter is ${data}`);
  return BigInt(data);
};

const oneLevel = ({ name, levels }) => name === "trie" && levels === 1; // it never uses the deeper oracle
const noHeads = ({ name, heads }) => name === "hybrid" && Number(heads) === 0; // it never uses piecewise

function ratiosOf(mechanism, inside) { // by the parameters; of several randomizers inside the worst
  if (!inside.length) return (FORMULAS[mechanism.name] ?? fail("an unknown mechanism"))(integers(mechanism));
  const used = oneLevel(mechanism) ? inside.slice(0, 1) : inside;
  return [0, 1].filter((index) => used.every((each) => each[index]))
    .map((index) => used.map((each) => each[index]).reduce(max));
}

const classesOf = (classes) => classes.map((each) => each.split(" ").map(natural));
const walksOf = ({ walks, parts = [] }) => [...walks, ...parts.flatMap(walksOf)];

function checkWalk({ values, of_values, first_draw, of_first_draw, paths }) {
  for (const each of [values, first_draw, of_first_draw, paths])
    need(Number.isSafeInteger(each) && each >= 0, `a number of what was looked at is ${each}`);
  need(values > 1 && paths > 1 && (first_draw > 0 || of_first_draw === 0), "too little was looked at");
  need((of_values === null || values <= natural(of_values)) && first_draw <= of_first_draw,
    "more was looked at than there is");
}

function ratioOfLaws({ in_the_clear, laws }, section) { // adds up the laws of the worst two values
  const partly = walksOf(section).filter((walk) => walk.first_draw !== walk.of_first_draw);
  const adds = (sum, of) => sum === of || // or to the part of the draws that was looked at
    partly.some((walk) => sum * BigInt(walk.of_first_draw) === of * BigInt(walk.first_draw));
  const clear = classesOf(in_the_clear.classes);
  need(clear.length || !section.parts, "what is shown in the clear is left out");
  need(!clear.length || adds(clear.reduce((sum, [n, w]) => sum + n * w, 0n), natural(in_the_clear.of)),
    "what is shown in the clear does not add up to 1");
  need(laws.length > 0, "no law is listed");
  return laws.map(({ times, of, classes }) => {
    const rows = classesOf(classes);
    need(rows.every(([n, one, other]) => n && one && other), "a report is impossible for a value");
    for (const column of [1, 2])
      need(adds(rows.reduce((sum, row) => sum + row[0] * row[column], 0n), natural(of)),
        "the probabilities of reports do not add up to 1");
    return power(rows.map(([, one, other]) => [one, other]).reduce(max), times);
  }).reduce((all, each) => [all[0] * each[0], all[1] * each[1]], [1n, 1n]);
}

function checkNats({ nats, ratio }) {
  need(/^\d+\.\d{10}$/.test(nats), `not nats: ${nats}`);
  need(near(exp([BigInt(nats.replace(".", "")), 10n ** 10n]), fraction(ratio)), "nats are not those of the ratio");
}

function checkGaussian(mechanism, { stated, delta }) {
  const [epsilon, most, found] = [stated.epsilon, stated.delta, delta].map(fraction);
  need(near(epsilon, ADDED.gaussian(mechanism), 10n ** 12n), "epsilon is not that of the parameters");
  const own = deltaOf(mechanism, epsilon);
  need(near(found, own), "delta is not that of the parameters");
  need(below(found, most) && below(own, most), "delta is above the stated one");
  need(near(most, own, 10n ** 6n), "delta is stated as more than is spent");
}

const ADDED = { // epsilon of added noise, in nats
  laplace: ({ steps, scale }) => [BigInt(steps), BigInt(scale)],
  gaussian: ({ nanonats }) => [BigInt(nanonats), BILLION],
};

function checkLaplace(mechanism, { stated, one_report, within }) {
  const [epsilon, own] = [fraction(stated.epsilon), ADDED.laplace(mechanism)];
  need(below(own, epsilon), "epsilon is below steps / scale");
  need(near(epsilon, own), "epsilon is stated as more than is spent");
  need(near(fraction(one_report.ratio), exp(own)), "the ratio is not that of the parameters");
  need(fraction(within)[0] * 10n ** 12n < fraction(within)[1], "it is compared too loosely");
  checkNats(one_report);
}

function checkExact(section, own, key, name) { // enumeration, formula and e^epsilon against each other
  const { mechanism, stated, within, [key]: found } = section;
  const [ratio, most] = [fraction(found.ratio), exp(fraction(stated[name]))];
  need(own[1] > 0n && own[0] >= own[1], `${key}: the parameters are no probabilities`);
  need(within === "0/1", "it is compared loosely, though it is exact");
  need(same(ratioOfLaws(found, section), ratio), `${key}: the ratio is not that of the laws`);
  need(mechanism.name === "rappor" ? below(ratio, own) : same(ratio, own), // filters of strings may overlap
    `${key}: the ratio is not that of the parameters`);
  need(below(own, most), `${key}: the ratio is above e^${name}`);
  need(oneLevel(mechanism) || noHeads(mechanism) || near(most, own), `${key}: ${name} is stated as more than is spent`);
  checkNats(found);
}

function checkSection(section) { // a metric, or a mechanism inside another; its ratios by the parameters
  const { mechanism, stated, walks, parts = [] } = section;
  const inside = (PARTS[mechanism.name]?.(mechanism) ?? []).map(sorted);
  need(sorted([...new Set(inside)]) === sorted(parts.map((each) => sorted(each.mechanism))),
    "the parts are not those of the mechanism");
  const checked = parts.map(checkSection);
  walks.forEach(checkWalk);
  need(walks.length > 0 || mechanism.name === "ss", "nothing was looked at");
  const added = { __proto__: null, gaussian: checkGaussian, laplace: checkLaplace }[mechanism.name];
  const ratios = added ? [] : ratiosOf(mechanism, checked);
  for (const holds of ["all_reports" in section, "epsilon_permanent" in stated])
    need(holds === ratios.length > 1, "all_reports and epsilon_permanent stand where something is kept, and only there");
  added?.(mechanism, section);
  if (ratios.length > 0) checkExact(section, ratios[0], "one_report", "epsilon");
  if (ratios.length > 1) checkExact(section, ratios[1], "all_reports", "epsilon_permanent");
  return ratios;
}

function checkMetric(metric, application) {
  const spec = JSON.parse(metric.spec);
  need(sorted(spec) === metric.spec, "its version is not written as a registry is, or says something twice");
  need(sha256(metric.spec) === metric.digest, "the digest is not that of the version's text");
  need(spec.application === application && spec.name === metric.metric, "it has another name");
  need(sorted(spec.mechanism) === sorted(metric.mechanism), "the mechanism is not that of the version");
  checkDeclared(metric, spec, checkSection(metric));
}

function checkDeclared({ mechanism, declared, delta }, { every }, [one, all]) { // beside the file's own numbers
  need(declared.every === every, "it does not report as often as the file says");
  need(!all === !declared.epsilon_permanent, "epsilon_permanent is not in the file, or only there");
  const most = fraction(declared.epsilon);
  if (one) need(below(one, exp(most)), "one_report: the ratio is above e^epsilon of the file");
  else need(below(ADDED[mechanism.name](mechanism), most), "epsilon is above that of the file");
  if (delta) need(below(fraction(delta), fraction(declared.delta ?? "0/1")), "delta is above that of the file");
  if (all) need(below(all, exp(fraction(declared.epsilon_permanent))),
    "all_reports: the ratio is above e^epsilon_permanent of the file");
}

const filesIn = (folder, path) => // but for bytecode; what is no folder counts as a file
  readdirSync(join(folder, path), { withFileTypes: true }).filter(({ name }) => name !== "__pycache__")
    .flatMap((each) => each.isDirectory() ? filesIn(folder, `${path}/${each.name}`) : `${path}/${each.name}`);

function checkFiles({ files, digest }, folder) { // returns how many
  need(Object.keys(files).length > 0, "no file was audited");
  for (const [name, hash] of Object.entries(files)) {
    need(/^deniable(_shared)?(\/(?!\.\.?(\/|$))[!-.0-~]+)+$/.test(name), `not a path in the packages: ${name}`);
    need(/^[0-9a-f]{64}$/.test(hash), `not a file with a hash: ${name}`);
  }
  const lines = Object.entries(files).map(([name, hash]) => `${hash}  ${name}\n`);
  need(sha256(lines.sort().join("")) === digest, "the digest is not that of the files");
  if (folder) for (const name of ["deniable", "deniable_shared"].flatMap((each) => filesIn(folder, each)))
    need(Object.hasOwn(files, name), `${JSON.stringify(name)} is installed, and was not audited`);
  if (folder) for (const [name, hash] of Object.entries(files))
    need(sha256(readFileSync(join(folder, name))) === hash, `${name} is not the file that was audited`);
  return lines.length;
}

const beside = ({ stated, declared }, name) => // what is stated, rounded up, beside the file's own number
  `at most ${decimal(fraction(stated[name]))} (the file allows ${decimal(fraction(declared[name])).replace(/\.?0+$/, "")})`;

function said(metric) { // of one that was checked
  const { mechanism, stated, digest } = metric;
  let epsilon = `epsilon ${beside(metric, "epsilon")}`;
  if (stated.epsilon_permanent)
    epsilon = `epsilon: one report ${beside(metric, "epsilon")}, ` +
      `all reports of a value ${beside(metric, "epsilon_permanent")}`;
  if (mechanism.name === "gaussian") {
    const [n, d] = fraction(stated.delta);
    epsilon += ` except with probability delta = 1/${d / n}`; // rounded up
  }
  return `${metric.metric}: ${mechanism.name}, ${epsilon}, version ${digest.slice(0, 16)}`;
}

try {
  const [path, folder] = process.argv.slice(2);
  need(path, "name a certificate: node check-certificate.mjs CERTIFICATE [FOLDER]");
  const text = readFileSync(path, "utf8");
  const certificate = JSON.parse(text);
  const { format, application, installed, metrics } = certificate;
  need(format === "deniable certificate 1", "not a certificate that this checker knows");
  need(text === written(certificate), "it is not written as deniable audit writes it, or says something twice");
  const files = checkFiles(installed, folder);
  const names = metrics.map((metric) => metric.metric);
  need(names.length > 0, "no metric is certified");
  need(new Set(names).size === names.length, "a metric is certified twice");
  for (const name of [application, ...names]) need(/^[a-z][a-z0-9_]*$/.test(name), `not a name: ${JSON.stringify(name)}`);
  for (const metric of metrics) {
    try { checkMetric(metric, application); } catch (error) { fail(`${metric.metric}: ${reason(error)}`); }
    console.log(said(metric));
  }
  console.log(`Consistent: ${names.length} ${names.length === 1 ? "metric" : "metrics"} of ${application}; ` +
    (folder ? `${files} files are those audited (bytecode in __pycache__ is not looked at).`
      : "the installed files were not compared (name their folder)."));
} catch (error) {
  console.error(`REFUSED: ${reason(error)}`);
  process.exitCode = 1;
}
