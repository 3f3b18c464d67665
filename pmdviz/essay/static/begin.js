// Before anything is laid out: sliders are there only where a script can answer them.
document.documentElement.classList.add("scripted")
