// A page of the lab in a notebook: a Bokeh document that the kernel keeps, drawn here and kept alike by patches.
// The kernel sends the scripts too, once a browser page: nothing is asked of any other server.
const KEY = "__pmdviz_scripts__"

function run(text) {
  return new Promise((done, failed) => {
    const src = URL.createObjectURL(new Blob([text], { type: "text/javascript" }))
    const onload = () => { URL.revokeObjectURL(src); script.remove(); done() }
    const onerror = () => failed(new Error("a script of the lab could not be run; reload the notebook"))
    const script = make("script", { src, onload, onerror })
    document.head.append(script)
  })
}


// The notebook's own keys, such as an arrow that folds headings, are not for who works in the lab.
const keep_keys = (element) => { element.dataset.lmSuppressShortcuts = "true" }

const SHELL = "container-type: inline-size; width: 100%; min-height: 80px; outline: none; position: relative"
const WORDS = "font: 14px/1.5 system-ui, sans-serif; margin: 8px; color: inherit"

const is_dark = () =>
  document.body.dataset.jpThemeLight === "false" || document.body.classList.contains("vscode-dark") ||
  document.documentElement.getAttribute("theme") === "dark"

function render({ model, el }) {
  const id = Math.random().toString(36).slice(2)
  const words = make("p", { role: "status", style: WORDS }, "Opening the lab …"), hide = make("style")
  const host = make("div", { class: "pmdviz-notebook", tabindex: -1, style: SHELL }, words, hide)
  keep_keys(host)
  el.append(host)
  let doc = null, ready = false, waiting = [], mine = []
  const send = (message) => {
    try {
      model.send({ view: id, ...message })
    } catch {
      say("The kernel that had this lab is gone: run the cell again.")
    }
  }

  const say = (text, button, act) => {
    words.hidden = false
    words.replaceChildren(text)
    if (button) words.append(make("button", { style: "margin-left: 12px; font: inherit", onclick: act }, button))
  }
  const open = () => {
    say("Opening the lab …")
    send({ what: "open", has: Object.keys(window[KEY] ?? {}), dark: is_dark() })
  }
  const close = () => {
    ack()?.silence?.abort()
    doc?.clear()
    hide.textContent = ""
    doc = null
    ready = false
    waiting = []
  }
  const ack = () => [...(doc?._all_models.values() ?? [])].find((m) => "drawn" in m.attributes && "presses" in m.attributes)

  // Changes made here within one turn go out together.
  const changed = (event) => {
    const events = event.events ? (event.sync ? event.events : []) : [event], ours = events.filter((one) => one.sync)
    if (ours.length === 0) return
    if (mine.length === 0) queueMicrotask(() => {
      const all = mine
      mine = []
      if (doc === null) return
      const patch = doc.create_json_patch(all), { Buffer } = Bokeh.require("core/serialization")
      send({ what: "patch", patch: JSON.stringify(patch, (key, value) => value instanceof Buffer ? value.to_base64() : value) })
    })
    mine.push(...ours)
  }
  const apply = ({ patch, refs }, buffers) => {
    const bytes = buffers.map((b) => b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength))
    try {
      doc.apply_json_patch(JSON.parse(patch), new Map(refs.map((ref, k) => [ref, bytes[k]])))
    } catch (error) { // the notebook would hide it, and the page would stay half a frame behind
      console.error(error)
      say(`A change could not be shown: ${error}`, "Show the lab again", open)
    }
  }
  const build = async (message) => {
    close()
    await window[KEY]?.[message.version]
    const { Document } = Bokeh.require("document"), { add_document_standalone } = Bokeh.require("embed/standalone")
    const made = Document.from_json(JSON.parse(message.doc))
    doc = made
    made.on_change(changed)
    words.hidden = true
    hide.textContent = `[data-pmdviz="${message.name}"] { display: none }` // the picture that the saved notebook keeps
    await add_document_standalone(made, host, made.roots().map(() => host))
    if (doc !== made) return
    for (const child of host.children) keep_keys(child) // the innermost element that the notebook sees as focused
    ready = true
    for (const [late, buffers] of waiting.splice(0)) apply(late, buffers)
    send({ what: "ready" })
  }
  const take = (message, buffers) => {
    if (message.what === "scripts") { // one promise a version: several labs of a page wait for the same scripts
      const all = window[KEY] ??= {}
      const load = async () => { for (const part of buffers) await run(await unpacked(part, "gzip").text()) }
      all[message.version] ??= load().catch((error) => {
        delete all[message.version] // the next try loads them again
        throw error
      })
    }
    if (message.view !== id) {
      if (message.what === "document" && doc) {
        close()
        say("The lab is shown elsewhere in this notebook.", "Show it here", open)
      }
      return
    }
    if (message.what === "document") build(message).catch((error) => say(`The lab could not be shown: ${error}`, "Try again", open))
    else if (message.what === "lost") say("This lab is no longer there: run the cell again.")
    else if (message.what === "patch") ready ? apply(message, buffers) : waiting.push([message, buffers])
  }
  // The keys belong to the lab in which somebody has clicked or moved with the Tab key.
  const focus = (on) => { const a = ack(); if (a) a.keyboard = on }
  host.addEventListener("focusin", () => focus(true))
  host.addEventListener("focusout", (e) => { if (!host.contains(e.relatedTarget)) focus(false) })
  host.addEventListener("pointerdown", () => { if (!host.contains(document.activeElement)) host.focus({ preventScroll: true }) })

  model.on("msg:custom", take)
  open()
  return () => {
    model.off("msg:custom", take)
    send({ what: "gone" })
    close()
  }
}

export default { render }
