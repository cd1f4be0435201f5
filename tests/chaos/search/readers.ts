import { setTimeout as delay } from 'node:timers/promises'
import { PRODUCTS_INDEX } from '../../../state/indexes/catalog/products.ts'
import type { SearchClient } from '../../../state/indexes/client.ts'
import { indexReader, NOT_COMPLETE } from '../../../state/indexes/reader.ts'
import { TargetUnavailableError } from '../../../state/unavailable.ts'
import { ANCHORS, isAnchor, isGhost } from './products.ts'

const PAUSE_MS = 20
const MOST_HITS = 1_000

export interface Readings {
  whole: number
  notComplete: number
  unavailable: number
  readonly faults: string[]
}

/** Searches repeatedly, as the API does. Judges every complete answer, and counts the others. */
export function startReader(client: SearchClient) {
  const reader = indexReader(client)
  const readings: Readings = { whole: 0, notComplete: 0, unavailable: 0, faults: [] }
  let isStopped = false

  async function readOnce(): Promise<void> {
    const body = { query: { bool: { filter: { term: { is_public: true } } } }, size: MOST_HITS, _source: ['product_id'] }
    const answer = await reader.search(PRODUCTS_INDEX, body)
    if (answer === NOT_COMPLETE) {
      readings.notComplete++
      return
    }
    const ids = (answer.hits.hits as { _id: string }[]).map(({ _id }) => Number(_id))
    const anchors = ids.filter(isAnchor).length
    const ghosts = ids.filter(isGhost)
    if (anchors !== ANCHORS) readings.faults.push(`an answer had ${anchors} of ${ANCHORS} products that are always there`)
    if (ghosts.length > 0) readings.faults.push(`an answer had the deleted products ${ghosts.join()}`)
    readings.whole++
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      await readOnce().catch((error: Error) => {
        if (error instanceof TargetUnavailableError) readings.unavailable++
        else readings.faults.push(error.message)
      })
      await delay(PAUSE_MS)
    }
  }

  const running = run()
  return {
    readings,
    async stop() {
      isStopped = true
      await running
    },
  }
}
