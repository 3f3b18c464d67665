// A reload, or a bookmark, brings back what is seen. In a notebook the address is not ours.
if (a.keyboard) history.replaceState(history.state, "", a.link || window.location.pathname)
