import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../../../deploy/local/wait.ts'
import * as hurt from '../hurt.ts'
import { stopped } from '../hurt.ts'
import { inflictInTurn } from '../in-turn.ts'
import { RECOVERED } from '../recover.ts'
import type { RecommendationFault } from './plan.ts'
import type { RecommendationsSystem } from './system.ts'

/** A period in which a fault affected a part. Epoch ms. */
export interface Trouble {
  readonly from: number
  readonly to: number
}

export interface ApiTrouble extends Trouble {
  readonly api: number
  /**
   * True if the API was killed, false if it was suspended. A killed API is in trouble until it is ready again; a
   * suspended API answers its requests when it is resumed.
   */
  readonly isKilled: boolean
}

export interface Inflicted {
  readonly apis: readonly ApiTrouble[]
  readonly redis: readonly Trouble[]
  readonly kafka: readonly Trouble[]
}

export interface FaultHands {
  /** Applies the faults of a round. After each fault, the affected part is running again, but may not be ready yet. */
  inflict(faults: readonly RecommendationFault[]): Promise<Inflicted>
  /** Returns whether an API gets requests. A load balancer would notice a killed API, but not a suspended one. */
  isReady(api: number): boolean
}

/**
 * The parts that a fault needs. To add a fault of another part, such as training, add a name to this function and a
 * case to `suffer`.
 */
function partsOf({ kind, api }: RecommendationFault): string[] {
  if (kind === 'outage') return ['kafka', `api ${api}`]
  if (kind === 'outage-emptied') return ['kafka', 'redis']
  const [part] = kind.split('-')
  return [part === 'api' ? `api ${api}` : part === 'worker' ? `worker ${api}` : part]
}

export function faultHands(system: RecommendationsSystem, say: (text: string) => void): FaultHands {
  const { kafka, redis, clickhouse, apis, workers, folder } = system
  const down = new Set<number>()
  const recovering: Promise<void>[] = []
  const troubles = { apis: [] as ApiTrouble[], redis: [] as Trouble[], kafka: [] as Trouble[] }

  async function during(list: Trouble[], incident: () => Promise<unknown>): Promise<void> {
    const from = Date.now()
    await incident()
    list.push({ from, to: Date.now() })
  }

  /**
   * Does not wait until the API is ready, because an API that starts while Kafka is unavailable becomes ready only when
   * Kafka is back.
   */
  async function killApi(api: number, downMs: number): Promise<void> {
    const from = Date.now()
    down.add(api)
    await hurt.killApi(system, api, downMs, () => undefined)
    const { url, child } = apis[api]
    const isReady = async () => child.exitCode !== null || child.signalCode !== null || (await fetch(`${url}/readyz`)).ok
    const ready = waitUntil(isReady, { what: `API ${api} after its start`, ...RECOVERED }).then(() => {
      troubles.apis.push({ api, from, to: Date.now(), isKilled: true })
      if (apis[api].url === url) down.delete(api)
    })
    // The error is reported when all faults have ended.
    ready.catch(() => undefined)
    recovering.push(ready)
  }

  async function stopApi(api: number, hold: () => Promise<unknown>): Promise<void> {
    const from = Date.now()
    await stopped(apis[api].child.pid, hold)
    troubles.apis.push({ api, from, to: Date.now(), isKilled: false })
  }

  async function restartWorker(slot: number, meanwhile: () => Promise<unknown>): Promise<void> {
    await workers[slot].kill()
    await meanwhile()
    await workers[slot].restart()
  }

  async function restartKafka(hold: () => Promise<unknown>): Promise<void> {
    await kafka.kill()
    await hold()
    await kafka.start()
  }

  async function suffer({ kind, api, holdMs }: RecommendationFault): Promise<void> {
    const hold = () => delay(holdMs)
    const slot = api % workers.length
    switch (kind) {
      case 'api-killed':
        return killApi(api, holdMs)
      case 'api-stopped':
        return stopApi(api, hold)
      case 'worker-killed':
        return restartWorker(slot, hold)
      case 'worker-stopped':
        return stopped(workers[slot].child.pid, hold)
      case 'worker-emptied':
        return restartWorker(slot, async () => rmSync(join(folder.path, 'state', `worker-${slot}`), { recursive: true, force: true }))
      case 'redis-killed':
        return during(troubles.redis, async () => {
          await redis.kill()
          await hold()
          await redis.start()
        })
      case 'redis-stopped':
        return during(troubles.redis, () => stopped(redis.pid, hold))
      case 'redis-emptied':
        return during(troubles.redis, () => hurt.emptyRedis(redis.address))
      case 'kafka-killed':
        return during(troubles.kafka, () => restartKafka(hold))
      case 'kafka-stopped':
        return during(troubles.kafka, () => stopped(kafka.pid, hold))
      case 'clickhouse-killed':
        await clickhouse!.kill()
        await hold()
        await clickhouse!.start()
        return
      case 'clickhouse-stopped':
        return stopped(clickhouse!.pid, hold)
      case 'outage':
        return during(troubles.kafka, () =>
          stopped(kafka.pid, async () => {
            await hold()
            await killApi(api, 0)
            await hold()
          }),
        )
      case 'outage-emptied':
        return during(troubles.kafka, () =>
          stopped(kafka.pid, async () => {
            await hold()
            await during(troubles.redis, () => hurt.emptyRedis(redis.address))
            await hold()
          }),
        )
    }
  }

  return {
    isReady: (api) => !down.has(api),
    async inflict(faults) {
      await inflictInTurn(faults, { partsOf, suffer, say })
      await Promise.all(recovering)
      return troubles
    },
  }
}
