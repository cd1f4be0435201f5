import { setTimeout as delay } from 'node:timers/promises'
import { productsIndex } from '../../../state/indexes/catalog/products-index.ts'
import { indexFamily } from '../../../state/indexes/family.ts'
import type { SearchSystem } from './system.ts'

export const SEARCH_FAULTS = [
  'search-killed',
  'worker-killed',
  'builder-killed',
  'builder-stopped',
  'broker-killed',
  'index-wiped',
  'disk-full',
] as const
export type SearchFaultKind = (typeof SEARCH_FAULTS)[number]

/**
 * How long the worker that builds the index is suspended. This exceeds the session timeout, so the worker loses its
 * partition.
 */
const STOPPED_MS = 12_000

/** Applies one fault. Resolves when the affected part is running again. */
export async function inflict(system: SearchSystem, kind: SearchFaultKind, holdMs: number): Promise<void> {
  const { search, kafka, workers, disk, client } = system
  const built = async () => workers[(await system.builder()) ?? 0]
  switch (kind) {
    case 'search-killed':
      await search.kill()
      await delay(holdMs)
      return void (await search.start())
    case 'broker-killed':
      await kafka.kill()
      await delay(holdMs)
      return void (await kafka.start())
    case 'worker-killed':
    case 'builder-killed': {
      const builder = await built()
      const worker = kind === 'builder-killed' ? builder : (workers.find((each) => each !== builder) ?? builder)
      await worker.kill()
      await delay(holdMs)
      return worker.restart()
    }
    case 'builder-stopped': {
      const { child } = await built()
      child.kill('SIGSTOP')
      await delay(STOPPED_MS)
      child.kill('SIGCONT')
      return
    }
    case 'index-wiped': {
      const current = await indexFamily(productsIndex, client).current()
      if (current !== undefined) await client.call({ method: 'DELETE', path: `/${current.name}` })
      return
    }
    case 'disk-full':
      if (disk === undefined) return
      disk.fill()
      await delay(holdMs * 3)
      return disk.free()
  }
}
