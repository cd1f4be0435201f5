/** The output of `npm start`: plain lines that look the same in a terminal and in a file. */
export interface Progress {
  say(text: string): void
  /** Runs a step and prints how long it took. `describe` adds details of the result. */
  step<T>(what: string, work: () => Promise<T>, describe?: (result: T) => string): Promise<T>
}

const NAME_WIDTH = 12
const SLOW_AFTER_MS = 10_000
const MS_PER_SECOND = 1_000

export function progress(write: (text: string) => void, now: () => number = Date.now): Progress {
  function say(text: string): void {
    write(`${text}\n`)
  }

  async function step<T>(what: string, work: () => Promise<T>, describe?: (result: T) => string): Promise<T> {
    const start = now()
    // Shows that a slow step is still running.
    const timer = setInterval(() => say(`  ${what.padEnd(NAME_WIDTH)} still running after ${seconds(now() - start)}`), SLOW_AFTER_MS)
    try {
      const result = await work()
      say(`  ${what.padEnd(NAME_WIDTH)} ${seconds(now() - start).padStart(7)}   ${describe?.(result) ?? ''}`.trimEnd())
      return result
    } finally {
      clearInterval(timer)
    }
  }

  return { say, step }
}

function seconds(ms: number): string {
  return `${(ms / MS_PER_SECOND).toFixed(1)} s`
}
