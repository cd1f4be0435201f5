import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../../../deploy/local/wait.ts'
import type { FraudSystem } from '../../api/fraud/system.ts'
import * as hurt from '../hurt.ts'
import { stopped } from '../hurt.ts'
import { inflictInTurn } from '../in-turn.ts'
import { type FaultHands, troubleLog } from '../troubles.ts'
import type { FraudFault } from './plan.ts'

/**
 * Time limit for the start of an API or a model process. An API normally starts within two seconds, and must start even
 * while Kafka is down.
 */
const READY = { timeoutMs: 60_000, intervalMs: 20 }
/** A slowed part is alternately suspended and resumed, each time for this long. */
const PULSE_MS = 15
const MODEL_PROCESS = 'fraud/models/process/main.ts'

function partsOf({ kind, api }: FraudFault): string[] {
  if (kind === 'outage') return ['kafka', `api ${api}`]
  if (kind === 'outage-emptied') return ['kafka', 'redis']
  const [part] = kind.split('-')
  return [part === 'api' || part === 'model' ? `api ${api}` : part]
}

/** Applies the faults of a plan. A fault that kills an API ends only when the API is ready again. */
export function faultHands(system: FraudSystem, say: (text: string) => void): FaultHands<FraudFault> {
  const { kafka, redis, clickhouse, apis } = system
  const [bulk, deciding] = system.workers
  const down = new Set<number>()
  const { troubles, apiTrouble, withoutRedis, withoutKafka } = troubleLog()

  async function killApi(api: number, downMs: number): Promise<void> {
    const from = Date.now()
    down.add(api)
    await hurt.killApi(system, api, downMs, () => undefined)
    await waitUntil(async () => (await fetch(`${apis[api].url}/readyz`)).ok, { what: `API ${api} after its start`, ...READY })
    down.delete(api)
    apiTrouble(api, from, true)
  }

  async function stopApi(api: number, work: () => Promise<unknown>): Promise<void> {
    const from = Date.now()
    await stopped(apis[api].child.pid, work)
    apiTrouble(api, from, false)
  }

  /**
   * Returns the pid of an API's model process. Waits until there is one, because the supervisor may be replacing it.
   */
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
   * Suspends a model process and resumes it. The process may be gone by then, because the supervisor kills model
   * processes that do not answer.
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

  const emptyRedis = () => withoutRedis(() => hurt.emptyRedis(redis.address))

  async function suffer({ kind, api, holdMs }: FraudFault): Promise<void> {
    const hold = () => delay(holdMs)
    switch (kind) {
      case 'api-killed':
        return killApi(api, holdMs)
      case 'api-stopped':
        return stopApi(api, hold)
      case 'bulk-killed':
        return hurt.restarted(bulk, hold)
      case 'bulk-stopped':
        return stopped(bulk.child.pid, hold)
      case 'deciding-killed':
        return hurt.restarted(deciding, hold)
      case 'deciding-stopped':
        return stopped(deciding.child.pid, hold)
      case 'redis-killed':
        return withoutRedis(() => hurt.restarted(redis, hold))
      case 'redis-stopped':
        return withoutRedis(() => stopped(redis.pid, hold))
      case 'redis-slowed':
        return withoutRedis(() => slowed(redis.pid, holdMs))
      case 'redis-emptied':
        return emptyRedis()
      case 'kafka-killed':
        return withoutKafka(() => hurt.restarted(kafka, hold))
      case 'kafka-stopped':
        return withoutKafka(() => stopped(kafka.pid, hold))
      case 'kafka-slowed':
        return withoutKafka(() => slowed(kafka.pid, holdMs))
      case 'clickhouse-stopped':
        return stopped(clickhouse!.pid, hold)
      case 'model-killed':
        process.kill(await modelOf(api), 'SIGKILL')
        return hold()
      case 'model-stopped':
        return holdModel(await modelOf(api), hold)
      case 'outage':
        return withoutKafka(() => hurt.stoppedDuring(kafka.pid, hold, () => killApi(api, 0)))
      case 'outage-emptied':
        return withoutKafka(() => hurt.stoppedDuring(kafka.pid, hold, emptyRedis))
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
