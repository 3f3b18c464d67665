// Take the columns of a frame out of one run of bytes; nothing of it goes back to the server.
if (a.parcel > 0) {
  const p = a.packed
  const bytes = ArrayBuffer.isView(p) ? p.buffer.slice(p.byteOffset, p.byteOffset + p.byteLength) : p
  for (const [k, columns] of JSON.parse(a.layout)) {
    const data = {}
    for (const [name, start, length] of columns) data[name] = new Float32Array(bytes, 4 * start, length)
    const {origin, ...own} = data
    if (origin) glide(sources[k], own, origin); else land(sources[k], own)
  }
}
