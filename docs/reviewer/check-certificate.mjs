// Re-reads a certificate of `deniable audit`: node check-certificate.mjs CERTIFICATE [FOLDER]
// With the folder in which the packages are installed, it also compares their files.
// It shares no code with Deniable, and needs nothing but node. Exit status 1: refused, and why.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const S = 1n << 32n; // probabilities are integers over 2^32
const ONE = 1n << 256n; // fixed point
const sha256 = (data) => createHash("sha256").update(data).digest("hex");
const fail = (reason) => { throw new Error(reason); };
const reason = ({ constructor, message }) =>
  constructor === Error ? message : `it is not built like a certificate (${message})`;
const need = (holds, reason) => holds || fail(reason);
const max = (one, other) => (one[0] * other[1] >= other[0] * one[1] ? one : other);
const same = (one, other) => one[0] * other[1] === other[0] * one[1];
const power = ([n, d], times) => {
  need(times > 0 && times <= 1 << 20, `repeated ${times} times`);
  return [n ** BigInt(times), d ** BigInt(times)];
};
const fraction = (text) => {
  need(/^\d+\/[1-9]\d*$/.test(text), `not a fraction: ${text}`);
  return text.split("/").map(BigInt);
};
const ordered = (data) => !data || typeof data !== "object" ? data // with sorted keys
  : Array.isArray(data) ? data.map(ordered)
    : Object.fromEntries(Object.keys(data).sort().map((key) => [key, ordered(data[key])]));
const sorted = (data) => JSON.stringify(ordered(data)); // to compare what two places say
const written = (data) => JSON.stringify(ordered(data), null, 1) + "\n";

function exp([n, d]) { // e^(n/d) in fixed point; below the truth by less than one part in 2^128
  need(n <= 1024n * d, "an exponent is above 1024");
  let [sum, term] = [ONE, ONE];
  const small = n * ONE / (d << 16n);
  for (let i = 1n; term; i++) sum += term = term * small / ONE / i;
  for (let i = 0; i < 16; i++) sum = sum * sum / ONE;
  return sum;
}

function delta({ steps, noise, nanonats }) { // of discrete Gaussian noise, for the ends of the range
  need(noise >= 4 && noise <= 1 << 21 && steps > 0 && steps <= 1 << 12, "no noise that there is");
  const growth = exp([BigInt(nanonats), 10n ** 9n]);
  const shrink = ONE * ONE / exp([1n, BigInt(noise)]);
  const density = [ONE]; // e^(-k^2 / (2 noise)), each from the one before
  let step = ONE * ONE / exp([1n, 2n * BigInt(noise)]);
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
  ss: ({ size, subset, own }) => [[own * (size - subset), (S - own) * subset]],
  pgr: ({ q, t, inside }) =>
    [[inside * q ** (t - 1n), (S - inside) * ((q ** (t - 1n) - 1n) / (q - 1n))]],
  sw: (m) => [window(m)],
  piecewise: (m) => [window(m)],
  hybrid: ({ inner, flip, heads }) => [heads ? max(window(inner), odds(flip)) : odds(flip)],
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
const integers = (data) => // parameters, with their integers as BigInt
  typeof data === "number" ? BigInt(data) : typeof data !== "object" ? data
    : Object.fromEntries(Object.entries(data).map(([key, each]) => [key, integers(each)]));

function checkLaws(found, walks) { // adds up the laws of the worst two values; their largest ratio
  const parts = walks.filter((w) => w.first_draw !== w.of_first_draw); // some draws were left out
  const adds = (sum, of) => sum === of ||
    parts.some((w) => sum * BigInt(w.of_first_draw) === of * BigInt(w.first_draw));
  const clear = found.in_the_clear.classes.map((each) => each.split(" ").map(BigInt));
  if (clear.length) need(adds(clear.reduce((sum, [n, w]) => sum + n * w, 0n), BigInt(found.in_the_clear.of)),
    "what is shown in the clear does not add up to 1");
  let ratio = [1n, 1n];
  for (const { times, of, classes } of found.laws) {
    const rows = classes.map((each) => each.split(" ").map(BigInt));
    for (const column of [1, 2])
      need(adds(rows.reduce((sum, row) => sum + row[0] * row[column], 0n), BigInt(of)),
        "the probabilities of reports do not add up to 1");
    need(rows.every(([n, a, b]) => n > 0n && a > 0n && b > 0n), "a report is impossible for a value");
    const worst = power(rows.map(([, a, b]) => [a, b]).reduce(max), times);
    ratio = [ratio[0] * worst[0], ratio[1] * worst[1]];
  }
  return ratio;
}

function checkWalk({ values, of_values, first_draw, of_first_draw, paths }) {
  for (const each of [values, first_draw, of_first_draw, paths])
    need(Number.isSafeInteger(each) && each >= 0, `a number of what was looked at is ${each}`);
  need(values <= BigInt(of_values ?? values) && first_draw <= of_first_draw, "more was looked at than there is");
}

const walksOf = ({ walks, parts = [] }) => [...walks, ...parts.flatMap(walksOf)];

function checkSection(section) { // a metric, or a mechanism inside another; returns both ratios, of gaussian none
  const { mechanism, stated, parts = [] } = section;
  const inside = (PARTS[mechanism.name]?.(mechanism) ?? []).map(sorted);
  need(sorted([...new Set(inside)].sort()) === sorted(parts.map((each) => sorted(each.mechanism)).sort()),
    "the parts are not those of the mechanism");
  const checked = parts.map(checkSection);
  section.walks.forEach(checkWalk);
  need(section.walks.length > 0 || mechanism.name === "ss", "nothing was looked at");
  if (mechanism.name === "gaussian") {
    const [more, total] = delta(mechanism);
    const [n, d] = fraction(section.delta);
    const [sn, sd] = fraction(stated.delta);
    need(n * sd <= sn * d, "delta is above the stated one");
    const [en, ed] = fraction(stated.epsilon); // a double, which is as good as nanonats / 10^9
    const off = en * 10n ** 9n - BigInt(mechanism.nanonats) * ed;
    need((off < 0n ? -off : off) * 10n ** 12n <= en * 10n ** 9n, "epsilon is not that of the parameters");
    const apart = n * total - more * d;
    need((apart < 0n ? -apart : apart) * 10n ** 9n <= more * d, "delta is not that of the parameters");
    need(n * sd * 10n ** 6n >= sn * d * (10n ** 6n - 1n), "delta is stated as more than is spent");
    return [];
  }
  return [["one_report", "epsilon"], ["all_reports", "epsilon_permanent"]].map(([key, name], index) => {
    need(key in section === name in stated, `${key} stands without ${name}, or the reverse`);
    if (!(key in section)) return null;
    const ratio = fraction(section[key].ratio);
    const [n, d] = fraction(section.within);
    const most = [exp(fraction(stated[name])), ONE];
    need(ratio[0] * most[1] * (d - n) <= most[0] * ratio[1] * d, `${key}: the ratio is above e^${name}`);
    const loose = mechanism.name === "rappor" || mechanism.levels === 1 || mechanism.heads === 0; // not attained by all
    need(loose || ratio[0] * most[1] * 10n ** 9n >= most[0] * ratio[1] * (10n ** 9n - 1n),
      `${key}: ${name} is stated as more than is spent`);
    const nats = exp(fraction(section[key].nats.replace(/^(\d+)\.(\d{10})$/, `$1$2/${10n ** 10n}`)));
    const apart = ratio[0] * ONE - nats * ratio[1];
    need((apart < 0n ? -apart : apart) * 10n ** 9n <= ratio[0] * ONE, `${key}: nats are not those of the ratio`);
    if (mechanism.name === "laplace") {
      need(same(max([BigInt(mechanism.steps), BigInt(mechanism.scale)], fraction(stated.epsilon)),
        fraction(stated.epsilon)), "epsilon is below steps / scale");
      need(d > n * 10n ** 12n, "it is compared too loosely");
      return [ratio[0] * (d - n), ratio[1] * d];
    }
    need(n === 0n, "it is compared loosely, though it is exact");
    need(same(checkLaws(section[key], walksOf(section)), ratio), `${key}: the ratio is not that of the laws`);
    const own = parts.length ? checked.slice(0, mechanism.levels).map((each) => each[index]).reduce(max)
      : (FORMULAS[mechanism.name] ?? fail("an unknown mechanism"))(integers(mechanism))[index];
    need(mechanism.name === "rappor" ? same(max(own, ratio), own) : same(own, ratio),
      `${key}: the ratio is not that of the parameters`);
    return own;
  });
}

function checkDeclared({ mechanism, declared, delta: found }, spec, [one, all]) { // beside the file's own numbers
  need(declared.every === spec.every, "it does not report as often as the file says");
  need(!all === !declared.epsilon_permanent, "epsilon_permanent is not in the file, or only there");
  const [n, d] = fraction(declared.epsilon);
  if (one) need(one[0] * ONE <= exp([n, d]) * one[1], "one_report: the ratio is above e^epsilon of the file");
  else {
    const [[fn, fd], [dn, dd]] = [found, declared.delta ?? "0/1"].map(fraction);
    need(BigInt(mechanism.nanonats) * d <= n * 10n ** 9n, "epsilon is above that of the file");
    need(fn * dd <= dn * fd, "delta is above that of the file");
  }
  if (all) need(all[0] * ONE <= exp(fraction(declared.epsilon_permanent)) * all[1],
    "all_reports: the ratio is above e^epsilon_permanent of the file");
}

const float = (text) => { const [n, d] = fraction(text); return Number(n) / Number(d); };
const beside = ({ stated, declared }, name) => `${float(stated[name])} (the file allows ${float(declared[name])})`;

try {
  const [path, folder] = process.argv.slice(2);
  need(path, "name a certificate: node check-certificate.mjs CERTIFICATE [FOLDER]");
  const text = readFileSync(path, "utf8");
  const certificate = JSON.parse(text);
  need(certificate.format === "deniable certificate 1", "not a certificate that this checker knows");
  need(text === written(certificate), "it is not written as deniable audit writes it, or says something twice");
  const { files, digest } = certificate.installed;
  need(Object.keys(files).length > 0, "no file was audited");
  for (const [name, hash] of Object.entries(files)) {
    need(/^deniable(_shared)?(\/(?!\.\.?(\/|$))[!-.0-~]+)+$/.test(name), `not a path in the packages: ${name}`);
    need(/^[0-9a-f]{64}$/.test(hash), `not a file with a hash: ${name}`);
  }
  const lines = Object.entries(files).map(([name, hash]) => `${hash}  ${name}\n`);
  need(sha256(lines.sort().join("")) === digest, "the digest is not that of the files");
  if (folder) for (const [name, hash] of Object.entries(files))
    need(sha256(readFileSync(join(folder, name))) === hash, `${name} is not the file that was audited`);
  const names = certificate.metrics.map((metric) => metric.metric);
  need(names.length > 0, "no metric is certified");
  need(new Set(names).size === names.length, "a metric is certified twice");
  for (const name of [certificate.application, ...names])
    need(/^[a-z][a-z0-9_]*$/.test(name), `not a name: ${JSON.stringify(name)}`);
  for (const metric of certificate.metrics) {
    try {
      const spec = JSON.parse(metric.spec);
      need(sorted(spec) === metric.spec, "its version is not written as a registry is, or says something twice");
      need(sha256(metric.spec) === metric.digest, "the digest is not that of the version's text");
      need(spec.application === certificate.application && spec.name === metric.metric, "it has another name");
      need(sorted(spec.mechanism) === sorted(metric.mechanism), "the mechanism is not that of the version");
      checkDeclared(metric, spec, checkSection(metric));
    } catch (error) { fail(`${metric.metric}: ${reason(error)}`); }
    console.log(`${metric.metric}: ${metric.mechanism.name}, epsilon at most ${beside(metric, "epsilon")}` +
      (metric.delta ? ` but for a delta of ${beside(metric, "delta")}` : "") +
      (metric.all_reports ? `, of all reports ${beside(metric, "epsilon_permanent")}` : "") +
      `, version ${metric.digest.slice(0, 16)}`);
  }
  console.log(`Consistent: ${certificate.metrics.length} metrics of ${certificate.application}; ` +
    (folder ? `${lines.length} files are those audited.` : "the installed files were not compared (name their folder)."));
} catch (error) {
  console.error(`REFUSED: ${reason(error)}`);
  process.exitCode = 1;
}
