import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../../../deploy/local/wait.ts'
import type { FraudSystem } from '../../api/fraud/system.ts'
import * as hurt from '../hurt.ts'
import { stopped } from '../hurt.ts'
import { inflictInTurn } from '../in-turn.ts'
import type { FraudFault } from './plan.ts'

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
  /**
   * Applies the faults of a round. After each fault, the affected part is running again. Only an API is certain to be
   * ready then.
   */
  inflict(faults: readonly FraudFault[]): Promise<Inflicted>
  /** Returns whether an API gets requests. A load balancer would notice a killed API, but not a suspended one. */
  isReady(api: number): boolean
}

/** Time limit for the start of an API, which takes a second or two and must not need Kafka. */
const READY = { timeoutMs: 60_000, intervalMs: 20 }
/** A slow part is suspended half of the time. */
const PULSE_MS = 15
const MODEL_PROCESS = 'fraud/models/process/main.ts'

function partsOf({ kind, api }: FraudFault): string[] {
  if (kind === 'outage') return ['kafka', `api ${api}`]
  if (kind === 'outage-emptied') return ['kafka', 'redis']
  const [part] = kind.split('-')
  return [part === 'api' || part === 'model' ? `api ${api}` : part]
}

export function faultHands(system: FraudSystem, say: (text: string) => void): FaultHands {
  const { kafka, redis, clickhouse, apis } = system
  const [bulk, deciding] = system.workers
  const down = new Set<number>()
  const troubles = { apis: [] as ApiTrouble[], redis: [] as Trouble[], kafka: [] as Trouble[] }

  async function during(list: Trouble[], incident: () => Promise<unknown>): Promise<void> {
    const from = Date.now()
    await incident()
    list.push({ from, to: Date.now() })
  }

  async function killApi(api: number, downMs: number): Promise<void> {
    const from = Date.now()
    down.add(api)
    await hurt.killApi(system, api, downMs, () => undefined)
    await waitUntil(async () => (await fetch(`${apis[api].url}/readyz`)).ok, { what: `API ${api} after its start`, ...READY })
    down.delete(api)
    troubles.apis.push({ api, from, to: Date.now(), isKilled: true })
  }

  async function stopApi(api: number, work: () => Promise<unknown>): Promise<void> {
    const from = Date.now()
    await stopped(apis[api].child.pid, work)
    troubles.apis.push({ api, from, to: Date.now(), isKilled: false })
  }

  /** A supervisor may be replacing the process. */
  async function modelOf(api: number): Promise<number> {
    let pid = 0
    const find = async () => {
      pid = hurt.childOf(apis[api].child.pid, MODEL_PROCESS)
      return true
    }
    await waitUntil(find, { what: `the model process of API ${api}`, ...READY })
    return pid
  }

  /**
   * Suspends a process that computes the models. The supervisor may have killed the process by the time it is to be
   * resumed, because it kills processes that do not answer.
   */
  async function holdModel(pid: number, hold: () => Promise<unknown>): Promise<void> {
    process.kill(pid, 'SIGSTOP')
    await hold()
    try {
      process.kill(pid, 'SIGCONT')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }

  async function slowed(pid: number | undefined, holdMs: number): Promise<void> {
    const until = Date.now() + holdMs
    while (Date.now() < until) {
      await stopped(pid, () => delay(PULSE_MS))
      await delay(PULSE_MS)
    }
  }

  async function restart(worker: typeof bulk, hold: () => Promise<unknown>): Promise<void> {
    await worker.kill()
    await hold()
    await worker.restart()
  }

  async function suffer({ kind, api, holdMs }: FraudFault): Promise<void> {
    const hold = () => delay(holdMs)
    switch (kind) {
      case 'api-killed':
        return killApi(api, holdMs)
      case 'api-stopped':
        return stopApi(api, hold)
      case 'bulk-killed':
        return restart(bulk, hold)
      case 'bulk-stopped':
        return stopped(bulk.child.pid, hold)
      case 'deciding-killed':
        return restart(deciding, hold)
      case 'deciding-stopped':
        return stopped(deciding.child.pid, hold)
      case 'redis-killed':
        return during(troubles.redis, async () => {
          await redis.kill()
          await hold()
          await redis.start()
        })
      case 'redis-stopped':
        return during(troubles.redis, () => stopped(redis.pid, hold))
      case 'redis-slowed':
        return during(troubles.redis, () => slowed(redis.pid, holdMs))
      case 'redis-emptied':
        return during(troubles.redis, () => hurt.emptyRedis(redis.address))
      case 'kafka-killed':
        return during(troubles.kafka, async () => {
          await kafka.kill()
          await hold()
          await kafka.start()
        })
      case 'kafka-stopped':
        return during(troubles.kafka, () => stopped(kafka.pid, hold))
      case 'kafka-slowed':
        return during(troubles.kafka, () => slowed(kafka.pid, holdMs))
      case 'clickhouse-stopped':
        return stopped(clickhouse!.pid, hold)
      case 'model-killed':
        process.kill(await modelOf(api), 'SIGKILL')
        return hold()
      case 'model-stopped':
        return holdModel(await modelOf(api), hold)
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
      return troubles
    },
  }
}
