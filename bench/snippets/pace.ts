/**
 * Results of tasks. Each task starts on schedule even if earlier tasks are still running, so that a slow response does
 * not delay later tasks.
 */
export interface Paced {
  /** Latencies of the successful tasks in ms, in ascending order, measured from the time at which each task was due. */
  readonly latencies: number[]
  /** Number of failed tasks by error message. */
  readonly failures: Map<string, number>
}

/**
 * Calls `work` at a fixed rate for `seconds`, and waits until all calls have ended. Returns their latencies and
 * failures.
 */
export async function paced(perSecond: number, seconds: number, work: () => Promise<void>): Promise<Paced> {
  const latencies: number[] = []
  const failures = new Map<string, number>()
  const start = performance.now()
  const running = new Set<Promise<void>>()

  async function one(due: number): Promise<void> {
    try {
      await work()
      latencies.push(performance.now() - due)
    } catch (error) {
      const { message } = error as Error
      failures.set(message, (failures.get(message) ?? 0) + 1)
    }
  }

  const count = perSecond * seconds
  for (let index = 0; index < count; index++) {
    const due = start + (index * 1_000) / perSecond
    const wait = due - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    const task: Promise<void> = one(due).finally(() => running.delete(task))
    running.add(task)
  }
  await Promise.all(running)
  latencies.sort((a, b) => a - b)
  return { latencies, failures }
}
