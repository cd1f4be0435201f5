import { setTimeout as delay } from 'node:timers/promises'
import { APIS } from './plan.ts'

/** Start and end of a trivial request, epoch ms. Such a request needs no process except the API. */
export interface Beat {
  readonly api: number
  readonly from: number
  readonly to: number
}

const EVERY_MS = 50
const TIMEOUT_MS = 12_000

/**
 * Repeatedly requests `/livez` from each API until `stop`. A busy machine delays these requests as much as scoring
 * requests, so their durations show the effect of the machine.
 */
export function feelPulse(urlOf: (api: number) => string): { readonly beats: readonly Beat[]; stop(): Promise<void> } {
  const beats: Beat[] = []
  let isOver = false

  async function feel(api: number): Promise<void> {
    while (!isOver) {
      const from = Date.now()
      const answer = await fetch(`${urlOf(api)}/livez`, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => undefined)
      await answer?.arrayBuffer().catch(() => undefined)
      if (answer?.ok) beats.push({ api, from, to: Date.now() })
      await delay(EVERY_MS)
    }
  }

  const feeling = Array.from({ length: APIS }, (_, api) => feel(api))
  return {
    beats,
    async stop() {
      isOver = true
      await Promise.all(feeling)
    },
  }
}
