// One step from the inside: its arrays, its formula, and its numbers as words.
function made(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value)
  element.append(...children)
  return element
}

function floats_of(text) {
  return new Float32Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer)
}

// What was sent with its arrays as arrays: `f4` is base64 of 32-bit floats, `at` a place that `read` knows.
function opened(tree, read) {
  if (Array.isArray(tree)) return tree.map((part) => opened(part, read))
  if (tree === null || typeof tree !== "object") return tree
  if (typeof tree.f4 === "string") return floats_of(tree.f4)
  if (tree.at) return read(tree.at)
  return Object.fromEntries(Object.entries(tree).map(([name, part]) => [name, opened(part, read)]))
}

// "q_{t+1}^2" with what is below and above the line set so.
function typeset(text) {
  const parts = text.split(/([_^](?:\{[^}]*\}|\S))/)
  return parts.map((part, k) => k % 2 ? made(part[0] === "_" ? "sub" : "sup", {}, part.slice(1).replace(/[{}]/g, "")) : part)
}

// Decimals with which terms and sum are written: as many as give the sum three digits, if its terms are not far larger.
function decimals(total, terms) {
  const size = (value) => Number.isFinite(value) && value ? Math.floor(Math.log10(Math.abs(value))) : -9
  const largest = Math.max(size(total), ...terms.map(size))
  if (largest === -9) return 2
  const wanted = size(total) === -9 ? 2 - largest : 2 - size(total)
  return Math.min(Math.max(wanted, 0), Math.max(5 - largest, 0))
}

function written(value, places) {
  if (Number.isNaN(value)) return "unknown"
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞"
  const text = Math.abs(value).toLocaleString("en", {minimumFractionDigits: places, maximumFractionDigits: places})
  return value < 0 && /[1-9]/.test(text) ? `−${text}` : text
}

// Three significant digits, without an exponent.
function number(value) {
  if (!Number.isFinite(value)) return written(value, 0)
  if (value !== 0 && Math.abs(value) < 1e-6) return "below 0.000001"
  return Number(value.toPrecision(3)).toLocaleString("en", {maximumFractionDigits: 9}).replace("-", "−")
}

// The numbers of one row: of each term and of the sum, each as text, with one number of decimals a component.
function row_words(step, k) {
  const places = step.total.map((column, c) => decimals(column[k], step.terms.map((term) => term.values[c][k])))
  const text = (columns) => {
    const parts = columns.map((column, c) => written(column[k], places[c]))
    return parts.length > 1 ? `(${parts.join(", ")})` : parts[0]
  }
  return {terms: step.terms.map((term) => text(term.values)), total: text(step.total)}
}

// A term behind another one: "+ 1.2", "− 3.4".
function signed(text) {
  return text.startsWith("−") ? `− ${text.slice(1)}` : `+ ${text}`
}
