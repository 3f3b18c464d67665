// The server is gone, or the network: say so over the page, and offer to open it again once there is an answer.
if (!document.querySelector(".pmdviz-lost")) {
  const box = document.createElement("div")
  box.className = "pmdviz-lost"
  box.setAttribute("role", "alert")
  box.style.cssText = `position:fixed;top:0;left:0;right:0;z-index:99999;padding:10px 16px;display:flex;gap:16px;
    align-items:center;justify-content:center;background:#b00020;color:#fff;font:16px/1.4 system-ui,sans-serif`
  const words = document.createElement("span")
  words.textContent = "The connection to the server is lost. The run stands still at what you see."
  const again = document.createElement("button")
  again.textContent = "Waiting for the server …"
  again.disabled = true
  again.style.cssText = "min-height:40px;padding:0 16px;font:inherit;border-radius:4px;border:1px solid #fff;background:#fff;color:#b00020"
  again.onclick = () => { // the address follows a run that plays only now and then: go to what is seen
    const url = new URL(location)
    const seen = Bokeh.documents[0].get_model_by_name("acknowledge")?.words.match(/iteration ([\d,]+)/)
    if (seen && url.searchParams.has("run")) {
      url.searchParams.set("at", seen[1].replaceAll(",", ""))
      url.searchParams.delete("frame")
      history.replaceState(null, "", url)
    }
    location.reload()
  }
  box.append(words, again)
  document.body.appendChild(box)
  const look = () => fetch("static/js/bokeh.min.js", { method: "HEAD", cache: "no-store" }).then(
    (answer) => {
      if (!answer.ok) throw new Error()
      again.textContent = "Open again"
      again.disabled = false
    }).catch(() => setTimeout(look, 1000))
  look()
}
