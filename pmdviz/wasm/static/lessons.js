// A lesson: its steps with their questions and goals. Its numbers equal the same run in Python, which a step replays.

let lesson = null, step = null, answered = {}

/** Elements of texts and of [tag, attributes, inside], which Python wrote; links and buttons are plain words. */
const PLAIN = ["p", "em", "strong", "code", "pre", "ul", "ol", "li", "br", "table", "thead", "tbody", "tr", "th", "td", "blockquote"]
const written = (nodes) => nodes.map((node) => typeof node === "string" ? node : make(PLAIN.includes(node[0]) ? node[0] : "span", {}, ...written(node[2])))

const OPERATORS = {
  "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b, "**": (a, b) => a ** b, negative: (a) => -a,
  "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b, "==": (a, b) => a === b, "!=": (a, b) => a !== b,
  and: (...all) => all.every(Boolean), or: (...all) => all.some(Boolean), not: (a) => !a,
  min: Math.min, max: Math.max, abs: Math.abs, sqrt: Math.sqrt, log: Math.log, exp: Math.exp,
}

/** The value of a tree of Python's: [operator, ...], ["name", name], ["value", value]; NaN where a name has no value yet. */
function valueOf([head, ...inside], {frame, floor}) {
  if (head === "value") return inside[0]
  if (head !== "name") return OPERATORS[head](...inside.map((each) => valueOf(each, {frame, floor})))
  const {tv, kl, ess, particles, iteration, visited, knobs, options} = frame, [name] = inside
  const now = {tv, kl_forward: kl, floor_tv: floor?.tv, floor_kl: floor?.kl, ess, ess_fraction: ess / particles,
    iteration, visited}
  return now[name] ?? knobs[name] ?? options[name] ?? NaN
}

function openLesson(name) {
  lesson = given.lessons[name]
  answered = {}
  find("lessons").value = name
  find("lesson").hidden = false
  openStep(0)
}

function leaveLesson() {
  lesson = step = null
  find("lesson").hidden = true
  find("lessons").value = ""
}

function openStep(k) {
  step = {...lesson.steps[k], k, reached: false, judged: {}}
  if (step.run) show(given.runs[step.run], step.controls)
  document.title = find("title").textContent = lesson.title
  find("question").textContent = lesson.question
  listStep()
}

function listStep() {
  const {k, title, text, goal, hints, reveal, question, after} = step, {steps} = lesson
  const fold = (words, nodes) => make("details", {}, make("summary", {}, words), ...written(nodes))
  const turn = (words, to, shown) => make("button", {hidden: !shown, onclick: () => openStep(to)}, words)
  const next = k + 1 < steps.length ? question?.options.find((one) => one.letter === answered[`${k} question`])?.to ?? step.to : steps.length
  find("lesson").replaceChildren(
    make("h2", {}, `${k + 1} of ${steps.length}: ${title}`),
    ...(k ? [] : written(lesson.text)), ...written(text),
    ...(question ? [form("question", question)] : []),
    ...(goal ? [make("p", {id: "goal"}, `Goal: ${goal.words}.`)] : []),
    ...(after && step.judged.question ? [form("after", after)] : []),
    ...hints.map((hint, h) => fold(`Hint ${h + 1}`, hint)),
    ...(reveal.length ? [fold("What happened", reveal)] : []),
    make("p", {class: "turns"}, turn("Back", k - 1, k > 0), turn("Next", next, next < steps.length)),
  )
}

/** A question with its options or its number; its verdict comes when the run is over. */
function form(part, ask) {
  const key = `${step.k} ${part}`, verdict = make("p", {class: "verdict", role: "status"})
  const option = ({letter, say}) => {
    const input = make("input", {type: "radio", name: part, value: letter, checked: answered[key] === letter})
    return make("label", {}, input, ...written(say))
  }
  const number = make("input", {type: "number", step: "any", name: part, value: answered[key] ?? ""})
  const made = make("form", {class: "ask"}, make("div", {}, ...written(ask.text)),
    ...(ask.number ? [make("label", {}, number, ` ${ask.number.unit}`)] : ask.options.map(option)),
    make("button", {type: "submit"}, "Answer"), verdict)
  made.onsubmit = (event) => {
    event.preventDefault()
    const value = new FormData(made).get(part)
    if (value === null || value === "") return
    answered[key] = value
    if (part === "after" || runs[0]?.over) judge(part, ask, verdict)
    else verdict.textContent = "Press Play to see."
    wanted = true
  }
  if (step.judged[part]) judge(part, ask, verdict)
  return made
}

function judge(part, ask, verdict) {
  const value = answered[`${step.k} ${part}`]
  step.judged[part] = true
  if (ask.number) {
    const {right, tolerance, scale, close, low, high} = ask.number, isRight = Math.abs(value - right) <= tolerance * (scale || Math.abs(right))
    verdict.replaceChildren(isRight ? "Right. " : "No. ", ...written(isRight ? close : value < right ? low : high))
  } else {
    const {right, because} = ask.options.find(({letter}) => letter === value)
    verdict.replaceChildren(right ? "Right. " : "No. ", ...written(because))
  }
}

/** After each frame: the goal, and the verdict of a question that waits for the end of the run. */
function follow(run) {
  if (!step) return
  if (step.goal && !step.reached && valueOf(step.goal.tree, run) === true) {
    step.reached = true
    find("goal").textContent = `Goal reached at iteration ${whole(run.frame.iteration)}: ${step.goal.words}.`
  }
  if (run.over && step.question && !step.judged.question && answered[`${step.k} question`]) {
    step.judged.question = true
    listStep()
  }
}
