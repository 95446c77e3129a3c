// Which results of a search come first: documents before pages that show code or commands.
var Scorer = {
  score: ([page, , , , score]) => (/^(project|commands|api)\b/.test(page) ? score - 20 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
