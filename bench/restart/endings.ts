import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** How a process of the benchmark is ended. */
export interface Endings {
  /** SIGTERM, and waits for its end. */
  stop(): Promise<void>
  /** SIGKILL, and waits for its end. */
  kill(): Promise<void>
}

export function endings(child: ChildProcess): Endings {
  async function end(signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  return { stop: () => end('SIGTERM'), kill: () => end('SIGKILL') }
}
