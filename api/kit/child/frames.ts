/**
 * A message between a process and its child, on a pipe. A frame consists of the number of bytes that follow (4 bytes),
 * a kind (1), the number of the request that the frame belongs to (4), and a body. Numbers are big-endian.
 */
export interface Frame {
  readonly kind: number
  readonly id: number
  readonly body: Buffer
}

const LENGTH_BYTES = 4
const HEAD_BYTES = 5
const KIND_AT = LENGTH_BYTES
const ID_AT = KIND_AT + 1
const BODY_AT = LENGTH_BYTES + HEAD_BYTES
/** Maximum length of a frame. A larger frame means that the two processes no longer agree on where a frame begins. */
const MOST_BYTES = 64 * 1024 * 1024

export function encodeFrame({ kind, id, body }: Frame): Buffer {
  const frame = Buffer.allocUnsafe(BODY_AT + body.length)
  frame.writeUInt32BE(HEAD_BYTES + body.length, 0)
  frame.writeUInt8(kind, KIND_AT)
  frame.writeUInt32BE(id, ID_AT)
  body.copy(frame, BODY_AT)
  return frame
}

/**
 * Returns a function that receives the bytes of the pipe and calls `onFrame` for each whole frame.
 * @throws RangeError, from the returned function, for a frame whose length is invalid
 */
export function frameReader(onFrame: (frame: Frame) => void): (chunk: Buffer) => void {
  let chunks: Buffer[] = []
  let waiting = 0
  let needed = LENGTH_BYTES
  return function read(chunk) {
    chunks.push(chunk)
    waiting += chunk.length
    if (waiting < needed) return
    let rest = chunks.length === 1 ? chunk : Buffer.concat(chunks)
    needed = LENGTH_BYTES
    while (rest.length >= LENGTH_BYTES) {
      const length = rest.readUInt32BE(0)
      if (length < HEAD_BYTES || length > MOST_BYTES) throw new RangeError(`invalid frame length: ${length} bytes`)
      needed = LENGTH_BYTES + length
      if (rest.length < needed) break
      onFrame({ kind: rest.readUInt8(KIND_AT), id: rest.readUInt32BE(ID_AT), body: rest.subarray(BODY_AT, needed) })
      rest = rest.subarray(needed)
      needed = LENGTH_BYTES
    }
    chunks = rest.length === 0 ? [] : [rest]
    waiting = rest.length
  }
}
