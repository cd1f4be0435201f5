import type { Writable } from 'node:stream'

/**
 * Makes a stream collect everything that is written before the next callback of `process.nextTick`, and then send it in
 * a single write. Five scripts in one write take half the CPU time of five writes, in this process and in Redis
 * (measured: 110 instead of 230 µs in this process). The write happens before the event loop runs its next callback, so
 * it is not delayed in a busy process.
 */
export function joinWrites(stream: Writable): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean
  let isJoining = false

  function joined(...args: unknown[]): boolean {
    if (!isJoining) {
      isJoining = true
      stream.cork()
      process.nextTick(() => {
        isJoining = false
        stream.uncork()
      })
    }
    return write(...args)
  }

  stream.write = joined as typeof stream.write
}
