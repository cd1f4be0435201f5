import type { Outcome, Undecided } from './counter.ts'

/**
 * Waits for an outcome for at most `ms`. After this time, the outcome is undecided. An answer that has reached the
 * socket by then is still used, because Node reads sockets before it runs `setImmediate` callbacks.
 */
export async function withTimeout(outcome: Promise<Outcome>, ms: number): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Undecided>((resolve) => {
    timer = setTimeout(() => setImmediate(resolve, { undecided: 'timeout' }), Math.max(0, ms))
  })
  try {
    return await Promise.race([outcome, late])
  } finally {
    clearTimeout(timer)
  }
}
