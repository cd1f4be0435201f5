/**
 * Returns the row with each field of bytes in separate memory. Node takes small buffers from shared blocks of 64 KiB,
 * so a row that is kept for a long time would prevent the release of whole blocks.
 */
export function withOwnBytes<Row extends object>(row: Row): Row {
  let own = row
  for (const [name, value] of Object.entries(row)) {
    if (!(value instanceof Uint8Array) || value.byteLength === value.buffer.byteLength) continue
    if (own === row) own = { ...row }
    Object.assign(own, { [name]: ownBytes(value) })
  }
  return own
}

/** Copies bytes into separate memory. */
export function ownBytes(bytes: Uint8Array): Buffer {
  return Buffer.from(Uint8Array.from(bytes).buffer)
}
