// The longest time in seconds without a new iteration, until two seconds after the live run has taken over.
async () => {
  let longest = 0, last = pmdviz.iteration(), at = performance.now(), live = null
  for (;;) {
    await new Promise(requestAnimationFrame)
    const now = performance.now(), iteration = pmdviz.iteration()
    if (iteration !== last || iteration >= 200) { longest = Math.max(longest, now - at); last = iteration; at = now }
    if (!pmdviz.model("acknowledge").recorded) live ??= now
    if (live && now - live > 2000) return longest / 1000
  }
}
