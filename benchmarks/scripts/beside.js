// The share of the window that is not the stage, in %.
() => {
  const b = pmdviz.find(".pmdviz-stage").getBoundingClientRect()
  const wide = Math.min(b.right, innerWidth) - Math.max(b.left, 0)
  const high = Math.min(b.bottom, innerHeight) - Math.max(b.top, 0)
  return 100 - 100 * wide * high / innerWidth / innerHeight
}
