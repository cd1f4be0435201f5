import type { Writable } from 'node:stream'

/**
 * Makes a stream send all that is written in one turn of the event loop together. A system call for each command would
 * cost more than everything else that a client does for it.
 */
export function joinWrites(stream: Writable): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean
  let isJoining = false

  function joined(...args: unknown[]): boolean {
    if (!isJoining) {
      isJoining = true
      stream.cork()
      setImmediate(() => {
        isJoining = false
        stream.uncork()
      })
    }
    return write(...args)
  }

  stream.write = joined as typeof stream.write
}
