"""Search for Chinese pages: runs of Han characters are indexed, and asked for, as overlapping pairs.

A dictionary would not help: the browser cannot segment the query. 集合通信 is found as 集合, 合通, 通信, on one page.
"""

import re

from sphinx.search import SearchLanguage

_RUNS = re.compile(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+")


class Bigrams(SearchLanguage):
    lang, language_name = "zh", "Chinese"
    stopwords: set[str] = set()
    js_stemmer_code = "var Stemmer = function () { this.stemWord = (word) => word; };"
    js_splitter_code = r"""
var splitQuery = function (query) {
  const terms = [];
  for (const run of query.match(/[\u3400-\u9fff]+|[\p{L}\p{N}_]+/gu) || []) {
    for (const part of run.match(/[\u3400-\u9fff]+|[^\u3400-\u9fff]+/gu)) {
      if (!/[\u3400-\u9fff]/.test(part) || part.length < 2) { terms.push(part); continue; }
      for (let i = 0; i + 2 <= part.length; i++) terms.push(part.slice(i, i + 2));
    }
  }
  return terms;
};
"""

    def split(self, input: str) -> list[str]:
        """The words of a text: identifiers whole (`device_put`), Han runs as pairs (a single character as itself)."""
        words = []
        for run in _RUNS.findall(input):
            han = "\u3400" <= run[0] <= "\u9fff" and len(run) > 1
            words += [run[i : i + 2] for i in range(len(run) - 1)] if han else [run]
        return words

    def stem(self, word: str) -> str:
        return word.lower()

    def word_filter(self, word: str) -> bool:
        return bool(word)
