// Which results of a search come first: those with the very words in their heading, then those
// that have them most often; documents before pages that show code or commands.
const searched = (new URLSearchParams(location.search).get("q") ?? "").trim().toLowerCase();
const timesIn = (text) => text.toLowerCase().split(searched).length - 1;
var Scorer = {
  score: ([page, heading, , , score]) =>
    score +
    30 * Math.min(timesIn(heading), 1) +
    Math.min(timesIn(PAGE_TEXTS[`${page}.html`] ?? ""), 20) -
    (/^(project|commands|api)\b|\.\w+$/.test(page) ? 20 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
