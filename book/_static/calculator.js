/* The chapter's sums as a calculator. The arithmetic is wtlib.counting's: tests/book/test_calculator.py
   runs both on the same configurations. No dependency, no request: it also works from file://. */
(function () {
  "use strict";

  /* Bytes per parameter. Mixed-precision Adam: bf16 weight and gradient, fp32 master copy, two moments. */
  const BYTES = { fp32: 4, bf16: 2, adam_mixed: 2 + 2 + 4 + 4 + 4 };

  /** Parameters, bytes and FLOPs of a decoder-only transformer, from its shape alone. */
  function count(config) {
    const d = config.d_model;
    const queries = config.heads * config.head_dim;
    const keys = config.kv_heads * config.head_dim;
    const matrices = config.gated ? 3 : 2;
    const qkvBias = config.biases === "none" ? 0 : queries + 2 * keys;
    const allBiases = config.biases === "all";
    const norm = config.norm === "layer" ? 2 * d : d;

    const attentionWeights = 2 * d * queries + 2 * d * keys;
    const attention = attentionWeights + qkvBias + (allBiases ? d : 0);
    const mlpWeights = matrices * d * config.ffn_size;
    const mlp = mlpWeights + (allBiases ? (matrices - 1) * config.ffn_size + d : 0);
    const norms = 2 * norm + (config.qk_norm ? 2 * config.head_dim : 0);
    const block = attention + mlp + norms;

    const matrix = config.vocab_size * d;
    const positions = config.positions * d;
    const body = config.layers * block + positions + norm;
    const ifTied = matrix + body;
    const ifUntied = 2 * matrix + body;
    const total = config.tied ? ifTied : ifUntied;

    const blocksFlops = 2 * config.layers * (attentionWeights + mlpWeights);
    const headFlops = 2 * matrix;
    return {
      matrix, attention, mlp, norms, block, positions, body,
      final_norm: norm,
      total, if_tied: ifTied, if_untied: ifUntied,
      saving: matrix,
      saving_fraction: matrix / ifUntied,
      shares: {
        one_of_tied: matrix / ifTied,
        one_of_untied: matrix / ifUntied,
        two_of_untied: (2 * matrix) / ifUntied,
        two_of_tied: (2 * matrix) / ifTied,
      },
      memory: { tied: bytes(ifTied), untied: bytes(ifUntied), saved: bytes(matrix) },
      flops: {
        blocks: blocksFlops,
        head: headFlops,
        total: blocksFlops + headFlops,
        head_share: headFlops / (blocksFlops + headFlops),
      },
    };
  }

  function bytes(parameters) {
    return Object.fromEntries(
      Object.entries(BYTES).map(([kind, each]) => [kind, each * parameters])
    );
  }

  const GPT2 = { gated: false, biases: "all", norm: "layer", qk_norm: false, positions: 1024, tied: true };
  const LLAMA = { gated: true, biases: "none", norm: "rms", qk_norm: false, positions: 0, tied: true };

  function shape(name, style, V, d, L, ffn, heads, kvHeads, headDim, tied) {
    return {
      name,
      config: {
        ...style, vocab_size: V, d_model: d, layers: L, ffn_size: ffn,
        heads, kv_heads: kvHeads, head_dim: headDim, tied,
      },
    };
  }

  const QWEN3 = { ...LLAMA, qk_norm: true };
  const PRESETS = {
    "openai-community/gpt2": shape("GPT-2 small", GPT2, 50257, 768, 12, 3072, 12, 12, 64, true),
    "openai-community/gpt2-medium": shape("GPT-2 medium", GPT2, 50257, 1024, 24, 4096, 16, 16, 64, true),
    "openai-community/gpt2-large": shape("GPT-2 large", GPT2, 50257, 1280, 36, 5120, 20, 20, 64, true),
    "openai-community/gpt2-xl": shape("GPT-2 XL", GPT2, 50257, 1600, 48, 6400, 25, 25, 64, true),
    "HuggingFaceTB/SmolLM2-135M": shape("SmolLM2-135M", LLAMA, 49152, 576, 30, 1536, 9, 3, 64, true),
    "meta-llama/Llama-3.2-1B": shape("Llama-3.2-1B", LLAMA, 128256, 2048, 16, 8192, 32, 8, 64, true),
    "Qwen/Qwen3-0.6B": shape("Qwen3-0.6B", QWEN3, 151936, 1024, 28, 3072, 16, 8, 128, true),
    "Qwen/Qwen3-8B": shape("Qwen3-8B", QWEN3, 151936, 4096, 36, 12288, 32, 8, 128, false),
    "meta-llama/Llama-3.1-8B": shape("Llama-3.1-8B", LLAMA, 128256, 4096, 32, 14336, 32, 8, 128, false),
    "meta-llama/Meta-Llama-3-70B": shape("Llama-3-70B", LLAMA, 128256, 8192, 80, 28672, 64, 8, 128, false),
  };

  /** What is wrong with a configuration: {field: message}; empty when it can be counted. */
  function check(config) {
    const problems = {};
    for (const { key, label, min } of NUMBERS) {
      const value = config[key];
      if (!Number.isInteger(value) || value < min) {
        problems[key] = `${label}: a whole number, ${min} or more.`;
      } else if (value > LARGEST) {
        problems[key] = `${label}: at most ${integer(LARGEST)}.`;
      }
    }
    if (!problems.heads && !problems.kv_heads && config.heads % config.kv_heads !== 0) {
      problems.kv_heads = `Key/value heads must divide the ${config.heads} heads.`;
    }
    return problems;
  }

  /* Large enough for every model there is, small enough that every sum stays an exact integer. */
  const LARGEST = 10_000_000;

  const NUMBERS = [
    { key: "vocab_size", label: "Vocabulary V", min: 1 },
    { key: "d_model", label: "Width d", min: 1 },
    { key: "layers", label: "Layers L", min: 1 },
    { key: "ffn_size", label: "MLP width", min: 1 },
    { key: "heads", label: "Heads", min: 1 },
    { key: "kv_heads", label: "Key/value heads", min: 1 },
    { key: "head_dim", label: "Width of a head", min: 1 },
    { key: "positions", label: "Learned positions", min: 0 },
  ];
  const CHOICES = [
    { key: "biases", label: "Biases", options: { none: "none", qkv: "queries, keys, values", all: "all linear layers" } },
    { key: "norm", label: "Normalisation", options: { layer: "LayerNorm", rms: "RMSNorm" } },
  ];
  const SWITCHES = [
    { key: "gated", label: "Gated MLP (SwiGLU)" },
    { key: "qk_norm", label: "Norm on queries and keys" },
    { key: "tied", label: "Tied: one matrix for both jobs" },
  ];

  function integer(n) { return n.toLocaleString("en-GB"); }
  function percent(x) { return `${(100 * x).toFixed(2)}%`; }
  function size(n) {
    const units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let unit = 0;
    while (n >= 1000 && unit < units.length - 1) { n /= 1000; unit += 1; }
    return `${unit === 0 ? n : n.toPrecision(4)} ${units[unit]}`;
  }

  function sentence(config, result) {
    const now = config.tied ? "Tied" : "Untied";
    const verb = config.tied ? "tying saves" : "tying would save";
    return `${now}, this model has ${integer(result.total)} parameters; ${verb} ` +
      `${integer(result.saving)}, ${percent(result.saving_fraction)} of the untied total.`;
  }

  function tables(result) {
    const { shares, memory, flops } = result;
    const kinds = { fp32: "Weights, fp32", bf16: "Weights, bf16", adam_mixed: "Training state, mixed-precision Adam" };
    return [
      {
        caption: "Parameters", head: ["Part", "Parameters"],
        rows: [
          ["One vocabulary matrix", integer(result.matrix)],
          ["Attention, a block", integer(result.attention)],
          ["MLP, a block", integer(result.mlp)],
          ["Norms, a block", integer(result.norms)],
          ["Positions and final norm", integer(result.positions + result.final_norm)],
          ["Total if tied", integer(result.if_tied)],
          ["Total if untied", integer(result.if_untied)],
        ],
      },
      {
        caption: "Share of the model", head: ["Share", "Value"],
        rows: [
          ["One matrix, of the tied total", percent(shares.one_of_tied)],
          ["One matrix, of the untied total", percent(shares.one_of_untied)],
          ["Two matrices, of the untied total", percent(shares.two_of_untied)],
          ["Two matrices, of the tied total", percent(shares.two_of_tied)],
        ],
      },
      {
        caption: "Memory", head: ["What", "Tied", "Untied", "Saved"],
        rows: Object.keys(kinds).map((kind) => [
          kinds[kind], size(memory.tied[kind]), size(memory.untied[kind]), size(memory.saved[kind]),
        ]),
      },
      {
        caption: "Forward FLOPs for one token, tied or not", head: ["Part", "FLOPs"],
        rows: [
          ["Blocks", integer(flops.blocks)],
          ["Head", integer(flops.head)],
          ["The head’s share", percent(flops.head_share)],
        ],
      },
    ];
  }

  /* --- The page ------------------------------------------------------------------------------ */

  function element(tag, attributes = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    node.append(...children);
    return node;
  }

  function numberField({ key, label, min }) {
    const id = `wt-${key}`;
    return element("div", { class: "wt-field" },
      element("label", { for: id }, label),
      element("input", {
        id, name: key, type: "number", inputmode: "numeric", min, max: LARGEST, step: 1,
        "aria-describedby": `${id}-problem`, autocomplete: "off",
      }),
      element("span", { id: `${id}-problem`, class: "wt-problem" }));
  }

  function choiceField({ key, label, options }) {
    const id = `wt-${key}`;
    const select = element("select", { id, name: key });
    for (const [value, text] of Object.entries(options)) select.append(element("option", { value }, text));
    return element("div", { class: "wt-field" }, element("label", { for: id }, label), select);
  }

  function switchField({ key, label }) {
    const id = `wt-${key}`;
    return element("div", { class: "wt-switch" },
      element("input", { id, name: key, type: "checkbox" }), element("label", { for: id }, label));
  }

  function table({ caption, head, rows }) {
    const body = element("tbody");
    for (const [first, ...rest] of rows) {
      body.append(element("tr", {}, element("th", { scope: "row" }, first),
        ...rest.map((cell) => element("td", {}, cell))));
    }
    return element("div", { class: "wt-sums" }, element("table", {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, ...head.map((cell) => element("th", { scope: "col" }, cell)))),
      body));
  }

  function read(form) {
    const config = {};
    for (const { key } of NUMBERS) {
      const text = form.elements[key].value.trim();
      config[key] = text === "" ? NaN : Number(text);
    }
    for (const { key } of CHOICES) config[key] = form.elements[key].value;
    for (const { key } of SWITCHES) config[key] = form.elements[key].checked;
    return config;
  }

  function write(form, config) {
    for (const { key } of [...NUMBERS, ...CHOICES]) form.elements[key].value = config[key];
    for (const { key } of SWITCHES) form.elements[key].checked = config[key];
  }

  function showProblems(form, problems) {
    for (const { key } of NUMBERS) {
      const input = form.elements[key];
      input.setAttribute("aria-invalid", key in problems ? "true" : "false");
      document.getElementById(`${input.id}-problem`).textContent = problems[key] || "";
    }
  }

  /** Builds the calculator inside `root`, in place of the text for readers without scripts. */
  function mount(root) {
    const presets = element("select", { id: "wt-preset", name: "preset" });
    for (const [id, { name }] of Object.entries(PRESETS)) presets.append(element("option", { value: id }, name));
    presets.append(element("option", { value: "" }, "your own"));

    const form = element("form", { class: "wt-form", "aria-label": "A model’s shape" },
      element("div", { class: "wt-field wt-wide" }, element("label", { for: "wt-preset" }, "Start from"), presets),
      element("fieldset", {}, element("legend", {}, "Shape"),
        element("div", { class: "wt-grid" }, ...NUMBERS.map(numberField), ...CHOICES.map(choiceField))),
      element("fieldset", {}, element("legend", {}, "Options"),
        element("div", { class: "wt-grid" }, ...SWITCHES.map(switchField))));
    const status = element("p", { class: "wt-status", role: "status", "aria-live": "polite" });
    const results = element("div", { class: "wt-results" });
    root.replaceChildren(form, status, results);

    function update() {
      const config = read(form);
      const problems = check(config);
      showProblems(form, problems);
      const messages = Object.values(problems);
      if (messages.length > 0) {
        status.textContent = messages.join(" ");
        results.replaceChildren();
        return;
      }
      const result = count(config);
      status.textContent = sentence(config, result);
      results.replaceChildren(...tables(result).map(table));
    }

    presets.addEventListener("change", () => {
      if (presets.value !== "") { write(form, PRESETS[presets.value].config); update(); }
    });
    form.addEventListener("input", (event) => {
      if (event.target === presets) return;
      presets.value = "";
      update();
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    write(form, PRESETS[presets.value].config);
    update();
  }

  window.wtCalculator = { count, check, presets: PRESETS };
  const start = () => document.querySelectorAll(".wt-calculator").forEach(mount);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
