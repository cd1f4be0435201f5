import type { Reading, Undecided } from './counter-store.ts'

/** Whoever has waited so long is let through; an answer that lies in the socket by then is read before immediates run. */
export async function within(outcome: Promise<readonly Reading[] | Undecided>, ms: number): Promise<readonly Reading[] | Undecided> {
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
