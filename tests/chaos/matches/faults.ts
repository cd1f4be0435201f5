import { setTimeout as delay } from 'node:timers/promises'
import type { MatchesSystem } from '../../api/matches/system.ts'
import * as hurt from '../hurt.ts'
import { stopped } from '../hurt.ts'
import { inflictInTurn } from '../in-turn.ts'
import type { MatchFault } from './plan.ts'

/** A period in which Redis did not respond or lost all data. Times are epoch ms. */
export interface RedisTrouble {
  readonly from: number
  readonly to: number
  readonly isEmptied: boolean
}

export interface Inflicted {
  /** The periods in which faults affected Redis. */
  readonly redis: readonly RedisTrouble[]
  /** Number of API processes that were killed. */
  readonly apisKilled: number
  /** The restarts of killed APIs. `at` is the time just before the new process starts, epoch ms. */
  readonly apiStarts: readonly { readonly api: number; readonly at: number }[]
}

/** @param workers the number of worker processes */
function partsOf({ kind, api }: MatchFault, workers: number): string[] {
  if (kind === 'outage') return ['kafka', `api ${api}`]
  if (kind === 'outage-emptied') return ['kafka', 'redis']
  const [part] = kind.split('-')
  if (part === 'worker') return [`worker ${api % workers}`]
  return [part === 'api' ? `api ${api}` : part]
}

/** Applies the faults of a round. After each fault, the affected part is running again, but may not be ready yet. */
export async function inflict(system: MatchesSystem, faults: readonly MatchFault[], say: (text: string) => void): Promise<Inflicted> {
  const { kafka, redis, workers, apis } = system
  const troubles: RedisTrouble[] = []
  const apiStarts: { api: number; at: number }[] = []
  let apisKilled = 0

  async function killApi(api: number, downMs: number): Promise<void> {
    apisKilled++
    await hurt.killApi(system, api, downMs, () => apiStarts.push({ api, at: Date.now() }))
  }

  async function withoutRedis(incident: () => Promise<void>): Promise<void> {
    const from = Date.now()
    await incident()
    troubles.push({ from, to: Date.now(), isEmptied: false })
  }

  async function emptyRedis(): Promise<void> {
    const from = Date.now()
    await hurt.emptyRedis(redis.address)
    troubles.push({ from, to: Date.now(), isEmptied: true })
  }

  async function suffer({ kind, api, holdMs }: MatchFault): Promise<void> {
    const hold = () => delay(holdMs)
    const worker = workers[api % workers.length]
    switch (kind) {
      case 'api-killed':
        return killApi(api, holdMs)
      case 'api-stopped':
        return stopped(apis[api].child.pid, hold)
      case 'worker-killed':
        return hurt.restarted(worker, hold)
      case 'worker-stopped':
        return stopped(worker.child.pid, hold)
      case 'redis-killed':
        return withoutRedis(() => hurt.restarted(redis, hold))
      case 'redis-stopped':
        return withoutRedis(() => stopped(redis.pid, hold))
      case 'redis-emptied':
        return emptyRedis()
      case 'kafka-killed':
        return hurt.restarted(kafka, hold)
      case 'kafka-stopped':
        return stopped(kafka.pid, hold)
      case 'outage':
        return hurt.stoppedDuring(kafka.pid, hold, () => killApi(api, 0))
      case 'outage-emptied':
        return hurt.stoppedDuring(kafka.pid, hold, emptyRedis)
    }
  }

  await inflictInTurn(faults, { partsOf: (fault) => partsOf(fault, workers.length), suffer, say })
  return { redis: troubles, apisKilled, apiStarts }
}
