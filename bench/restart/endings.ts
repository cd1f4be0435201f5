import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** Functions that end a process of the benchmark. */
export interface Endings {
  /** Sends SIGTERM and waits until the process has ended. */
  stop(): Promise<void>
  /** Sends SIGKILL and waits until the process has ended. */
  kill(): Promise<void>
  readonly hasEnded: boolean
}

export function endings(child: ChildProcess): Endings {
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (hasEnded()) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  return {
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    get hasEnded() {
      return hasEnded()
    },
  }
}
