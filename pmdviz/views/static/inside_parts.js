// What the panel is made of.
function shape_of(step) {
  return JSON.stringify([step.kind, step.noun, step.placed, step.flat, step.sum, step.terms.map((term) => [term.title, term.formula])])
}

function panel_parts() {
  const canvas = (name, label) => made("canvas", {class: name, role: "img", "aria-label": label})
  const press = (words, attributes = {}) => made("button", {type: "button", ...attributes}, words)
  const parts = {
    note: made("p", {class: "note", role: "status"}), title: made("p", {class: "title"}),
    formula: made("div", {class: "formula", role: "group", "aria-label": "The update as a sum"}),
    about: made("p", {class: "about"}), terms: made("div", {class: "terms"}),
    number: made("input", {type: "number", min: 0, step: 1, id: "inside-particle"}), noun: made("span"),
    heavier: press("↑", {"aria-label": "One heavier"}), lighter: press("↓", {"aria-label": "One lighter"}), card: made("dl"),
    together: canvas("together", "All terms and their sum, as curves"),
    batch_canvas: canvas("batch", "The batch among all data"), batch_title: made("h4"), batch_words: made("p"),
    freeze: press("Freeze and play this step", {class: "freeze"}), again: press("Play again"),
    large: canvas("large", "One picture of the step"), picture_title: made("h4"), sentence: made("p", {role: "status"}),
    numbers: [1, 2, 3, 4].map((k) => press(String(k), {"aria-label": `Picture ${k}`})),
  }
  parts.common = made("div", {class: "common"}, made("h4", {}, "All terms and their sum (in ink)"), parts.together)
  parts.batch = made("div", {class: "of-batch"}, parts.batch_title, parts.batch_canvas, parts.batch_words)
  const label = made("label", {for: "inside-particle"}, parts.noun)
  const chosen = made("div", {class: "chosen"}, made("div", {class: "choose"}, label, parts.number, parts.heavier, parts.lighter), parts.card, parts.freeze)
  const buttons = made("div", {class: "buttons", role: "group", "aria-label": "Pictures of the step"}, ...parts.numbers, parts.again)
  parts.theatre = made("div", {class: "theatre", hidden: ""}, parts.large, made("div", {class: "beside"}, parts.picture_title, parts.sentence, buttons))
  parts.body = made("div", {class: "body", hidden: ""}, parts.title, parts.formula, parts.about, parts.terms,
    made("div", {class: "below"}, chosen, parts.common, parts.batch), parts.theatre)
  parts.root = made("div", {class: "inside"}, parts.note, parts.body)
  return parts
}

// A term in the formula and as a card; the sum has no name.
function term_cell(term, k, step) {
  const sum = term.name === "", key = sum ? "=" : term.name
  const number = made("span", {class: "number"}), value = made("span", {class: "value"}), filled = made("span", {class: "filled"})
  const part = made("span", {class: "part", "data-term": key}, made("span", {class: "symbols"}, ...typeset(term.formula)), filled, number)
  const canvas = made("canvas", {role: "img", "aria-label": `${term.title}: ${term.about}`})
  const button = made("button", {type: "button", class: "name"}, made("i", {"aria-hidden": "true"}), term.title)
  const card = made("section", {class: "term", "data-term": key}, button, made("span", {class: "symbols"}, ...typeset(term.formula)), value, canvas)
  return {key, title: term.title, about: term.about, part, card, canvas, button, number, value, filled, at: null}
}

// What the colours and lengths in the small pictures mean.
function key_words(step, look) {
  const unit = step.sum.unit ? ` ${step.sum.unit}` : ""
  const told = step.dots.row.length < step.size ? ` ${step.dots.row.length} of ${step.size.toLocaleString("en")} particles are drawn.` : ""
  if (look.by === "dots") return `Orange is above the middle particle, blue below: by ${number(look.most)}${unit} where the colour is full.${told}`
  if (look.by === "curve" && step.kind === "weights") return `Each curve less its mean under the new weights: they add up to the one in ink.${told}`
  if (look.by === "arrows") return `Arrows are drawn ${number(stretch(step, look))} times as long as the moves.${told}`
  if (look.by === "bars" && step.size > 1) return `One bar for each, in the order of the sum; the largest bar is ${number(look.most)}${unit}.${told}`
  return `The terms add up to: ${step.sum.title}.${told}`
}

// What is known of the picked particle.
function card_of(step, k) {
  const {dots, size, axes} = step, rows = []
  const share = (weight) => `${number(weight)} (${number(weight * size)} × the mean)`
  if (step.placed) rows.push(["Place", step.flat ? number(dots.x[k]) : `(${number(dots.x[k])}, ${number(dots.y[k])})`])
  if (dots.parent) rows.push(["Parent", `number ${dots.parent[k].toLocaleString("en")}, which has ${dots.children[k]} ${dots.children[k] === 1 ? "child" : "children"}`])
  if (dots.weight0) rows.push([dots.parent ? "Weight of the parent" : "Weight before", share(dots.weight0[k])])
  if (dots.weight) rows.push(["Weight after", share(dots.weight[k])])
  if (step.kind === "weights" && !step.redrawn) rows.push(["Children", "none: nothing was redrawn"])
  return rows.flatMap(([name, words]) => [made("dt", {}, name), made("dd", {}, words)])
}
