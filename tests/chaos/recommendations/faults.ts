import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../../../deploy/local/wait.ts'
import * as hurt from '../hurt.ts'
import { stopped } from '../hurt.ts'
import { inflictInTurn } from '../in-turn.ts'
import { RECOVERED } from '../recover.ts'
import { type FaultHands, troubleLog } from '../troubles.ts'
import type { RecommendationFault } from './plan.ts'
import type { RecommendationsSystem } from './system.ts'

/**
 * Returns the parts that a fault affects.
 * @param workers the number of worker processes
 */
function partsOf({ kind, api }: RecommendationFault, workers: number): string[] {
  if (kind === 'outage') return ['kafka', `api ${api}`]
  if (kind === 'outage-emptied') return ['kafka', 'redis']
  const [part] = kind.split('-')
  if (part === 'worker') return [`worker ${api % workers}`]
  return [part === 'api' ? `api ${api}` : part]
}

export function faultHands(system: RecommendationsSystem, say: (text: string) => void): FaultHands<RecommendationFault> {
  const { kafka, redis, clickhouse, apis, workers, folder } = system
  const down = new Set<number>()
  const recovering: Promise<void>[] = []
  const { troubles, apiTrouble, withoutRedis, withoutKafka } = troubleLog()

  /**
   * Kills an API and starts it again. Does not wait until it is ready, because an API that starts while Kafka is down
   * becomes ready only when Kafka is back.
   */
  async function killApi(api: number, downMs: number): Promise<void> {
    const from = Date.now()
    down.add(api)
    await hurt.killApi(system, api, downMs, () => undefined)
    const { url, child } = apis[api]
    const isReady = async () => child.exitCode !== null || child.signalCode !== null || (await fetch(`${url}/readyz`)).ok
    const ready = waitUntil(isReady, { what: `API ${api} after its start`, ...RECOVERED }).then(() => {
      apiTrouble(api, from, true)
      if (apis[api].url === url) down.delete(api)
    })
    // The error is reported when all faults have ended.
    ready.catch(() => undefined)
    recovering.push(ready)
  }

  async function stopApi(api: number, hold: () => Promise<unknown>): Promise<void> {
    const from = Date.now()
    await stopped(apis[api].child.pid, hold)
    apiTrouble(api, from, false)
  }

  const emptyRedis = () => withoutRedis(() => hurt.emptyRedis(redis.address))

  async function suffer({ kind, api, holdMs }: RecommendationFault): Promise<void> {
    const hold = () => delay(holdMs)
    const slot = api % workers.length
    switch (kind) {
      case 'api-killed':
        return killApi(api, holdMs)
      case 'api-stopped':
        return stopApi(api, hold)
      case 'worker-killed':
        return hurt.restarted(workers[slot], hold)
      case 'worker-stopped':
        return stopped(workers[slot].child.pid, hold)
      case 'worker-emptied':
        return hurt.restarted(workers[slot], async () =>
          rmSync(join(folder.path, 'state', `worker-${slot}`), { recursive: true, force: true }),
        )
      case 'redis-killed':
        return withoutRedis(() => hurt.restarted(redis, hold))
      case 'redis-stopped':
        return withoutRedis(() => stopped(redis.pid, hold))
      case 'redis-emptied':
        return emptyRedis()
      case 'kafka-killed':
        return withoutKafka(() => hurt.restarted(kafka, hold))
      case 'kafka-stopped':
        return withoutKafka(() => stopped(kafka.pid, hold))
      case 'clickhouse-killed':
        return hurt.restarted(clickhouse!, hold)
      case 'clickhouse-stopped':
        return stopped(clickhouse!.pid, hold)
      case 'outage':
        return withoutKafka(() => hurt.stoppedDuring(kafka.pid, hold, () => killApi(api, 0)))
      case 'outage-emptied':
        return withoutKafka(() => hurt.stoppedDuring(kafka.pid, hold, emptyRedis))
    }
  }

  return {
    isReady: (api) => !down.has(api),
    async inflict(faults) {
      await inflictInTurn(faults, { partsOf: (fault) => partsOf(fault, workers.length), suffer, say })
      await Promise.all(recovering)
      return troubles
    },
  }
}
