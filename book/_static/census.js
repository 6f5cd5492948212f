/* The census's table, searchable and sortable. Without scripts the table is whole as it stands.
   No dependency, no request: it also works from file://. */
(function () {
  "use strict";

  const COLLATOR = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const FILTERS = [
    { key: "tie", label: "Weights", options: { "": "tied and untied", tied: "tied", untied: "untied" } },
    {
      key: "kind", label: "Kind",
      options: { "": "every kind", causal: "causal", "encoder-decoder": "encoder-decoder", masked: "masked" },
    },
    { key: "verified", label: "Evidence", options: { "": "all", yes: "verified", no: "not verified" } },
  ];

  function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  /** Whether a row passes the filters and holds every word of the search, in any order. */
  function matches(row, words, chosen) {
    return FILTERS.every(({ key }) => !chosen[key] || row.dataset[key] === chosen[key]) &&
      words.every((word) => row.dataset.search.includes(word));
  }

  function sentence(rows, all) {
    if (rows.length === 0) return `No model matches. Clear the search to see all ${all}.`;
    const tied = rows.filter((row) => row.dataset.tie === "tied").length;
    const shown = rows.length === all ? `All ${all} models` : `${rows.length} of ${all} models`;
    return `${shown}: ${tied} tied, ${rows.length - tied} untied.`;
  }

  function compare(column, direction) {
    const key = (row) => row.cells[column].dataset.sort;
    const numeric = (text) => text !== "" && !Number.isNaN(Number(text));
    return (one, other) => {
      const a = key(one), b = key(other);
      const order = numeric(a) && numeric(b) ? Number(a) - Number(b) : COLLATOR.compare(a, b);
      return direction === "ascending" ? order : -order;
    };
  }

  function enhance(census, index) {
    const region = census.querySelector(".wt-table");
    const table = region.querySelector("table");
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const heads = Array.from(table.tHead.rows[0].cells);
    const id = (name) => `wt-census-${index}-${name}`;

    const search = element("input", {
      id: id("search"), type: "search", autocomplete: "off", spellcheck: "false",
      placeholder: "name, family or year",
    });
    const field = (name, label, control) =>
      element("div", { class: "wt-field" }, element("label", { for: id(name) }, label), control);
    const selects = FILTERS.map(({ key, label, options }) => {
      const select = element("select", { id: id(key), name: key });
      for (const [value, text] of Object.entries(options)) select.append(element("option", { value }, text));
      return [field(key, label, select), select];
    });
    const clear = element("button", { type: "reset" }, "Clear");
    const form = element("form", { role: "search", "aria-label": "Search the census" },
      field("search", "Search", search), ...selects.map(([node]) => node), clear);
    const status = element("p", { role: "status", "aria-live": "polite" });

    function show() {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const chosen = Object.fromEntries(selects.map(([, select]) => [select.name, select.value]));
      const shown = rows.filter((row) => {
        row.hidden = !matches(row, words, chosen);
        return !row.hidden;
      });
      const text = sentence(shown, rows.length);
      if (status.textContent !== text) status.textContent = text;
    }

    function sortBy(column) {
      const head = heads[column];
      const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", direction);
      rows.sort(compare(column, direction));
      body.append(...rows);
    }

    heads.forEach((head, column) => {
      if (!("sort" in (rows[0]?.cells[column]?.dataset ?? {}))) return;
      const button = element("button", { type: "button" }, ...head.childNodes);
      button.addEventListener("click", () => sortBy(column));
      head.append(button);
    });
    form.addEventListener("input", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => {
      setTimeout(() => { show(); search.focus(); });  // the fields are emptied after this event
    });

    census.classList.add("wt-live");
    census.prepend(form, status);
    show();
  }

  function start() {
    document.querySelectorAll(".wt-census").forEach(enhance);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
