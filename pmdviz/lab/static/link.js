// A reload, or a bookmark, brings back what is seen. In a notebook the address is not ours.
if (a.keyboard) {
  const address = a.link || window.location.pathname
  history.replaceState(history.state, "", window.pmdvizAddress?.(address) ?? address)
}
