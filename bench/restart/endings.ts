import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** Ways to end a process of the benchmark. */
export interface Endings {
  /** Sends SIGTERM and waits until the process has ended. */
  stop(): Promise<void>
  /** Sends SIGKILL and waits until the process has ended. */
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
