// Search over search-index.js, an array of [address, page, heading, text], which is loaded
// when somebody first wants to search.
(() => {
  "use strict";
  const root = document.currentScript.dataset.root;
  const form = document.getElementById("search");
  const input = form.querySelector("input");
  const hits = document.getElementById("hits");
  const most = 30;
  let sections; // with lower-case copies of what is searched
  form.hidden = false;

  function load() {
    load = () => {};
    const script = document.createElement("script");
    script.src = root + "search-index.js";
    script.onload = () => {
      sections = window.searchIndex.map(([to, page, heading, text]) =>
        ({to, page, heading, text, low: [page, heading, text].map(s => s.toLowerCase())}));
      search();
    };
    document.head.append(script);
  }

  // score is 0 unless the section has every term; headings count more than text.
  function score(section, terms) {
    let sum = 0;
    for (const term of terms) {
      const [page, heading, text] = section.low;
      const found = 8 * heading.includes(term) + 4 * page.includes(term) + Math.min(text.split(term).length - 1, 3);
      if (found === 0) return 0;
      sum += found;
    }
    return sum;
  }

  // marked returns nodes of the text around the first term, with every term marked.
  function marked(text, terms) {
    const at = Math.min(...terms.map(t => text.toLowerCase().indexOf(t)).filter(i => i >= 0), text.length);
    const start = Math.max(0, at === text.length ? 0 : at - 60);
    const piece = (start > 0 ? "…" : "") + text.slice(start, start + 180) + (start + 180 < text.length ? "…" : "");
    const pattern = new RegExp("(" + terms.map(t => t.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|") + ")", "i");
    return piece.split(pattern).map((part, i) => {
      if (i % 2 === 0) return part;
      const mark = document.createElement("mark");
      mark.textContent = part;
      return mark;
    });
  }

  function search() {
    const terms = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    hits.hidden = terms.length === 0 || !sections;
    if (hits.hidden) return;
    const found = sections.map(s => [score(s, terms), s]).filter(([n]) => n > 0).sort((a, b) => b[0] - a[0]);
    hits.replaceChildren(...found.slice(0, most).map(([, s]) => {
      const item = document.createElement("li"), a = document.createElement("a"), name = document.createElement("b"), text = document.createElement("small");
      a.href = root + s.to;
      name.append(s.heading && s.heading !== s.page ? s.page + " › " + s.heading : s.page);
      text.append(...marked(s.text, terms));
      a.append(name, text);
      item.append(a);
      return item;
    }));
    if (found.length === 0 || found.length > most) {
      const item = document.createElement("li"), note = document.createElement("small");
      note.append(found.length === 0 ? "Nothing has all of these words." : `${found.length - most} more; add a word`);
      item.append(note);
      hits.append(item);
    }
  }

  input.addEventListener("focus", () => load());
  input.addEventListener("input", () => { load(); search(); });
  form.addEventListener("submit", e => {
    e.preventDefault();
    const first = hits.querySelector("a");
    if (!hits.hidden && first) location.href = first.href;
  });
  document.addEventListener("keydown", e => {
    if (e.key === "/" && document.activeElement !== input && !e.ctrlKey && !e.metaKey) { e.preventDefault(); input.focus(); }
    if (e.key === "Escape") hits.hidden = true;
  });
  hits.addEventListener("click", () => { hits.hidden = true; });
  document.addEventListener("click", e => { if (!hits.contains(e.target) && !form.contains(e.target)) hits.hidden = true; });
  // A link with ?q= opens with its hits.
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) { input.value = asked; load(); }
})();
