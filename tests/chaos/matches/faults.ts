import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { startApiProcess } from '../../api/api-process.ts'
import type { MatchesSystem } from '../../api/matches/system.ts'
import { flushTestRedis } from '../../stack/flush-redis.ts'
import type { PlannedFault } from './plan.ts'

/** A time in which Redis did not answer, or at which it lost everything. Epoch ms. */
export interface RedisTrouble {
  readonly from: number
  readonly to: number
  readonly isEmptied: boolean
}

export interface Inflicted {
  /** What happened to Redis. */
  readonly redis: readonly RedisTrouble[]
  /** Number of API processes that were killed. */
  readonly apisKilled: number
  /** When an API was started again, epoch ms. */
  readonly apiStarts: readonly { readonly api: number; readonly at: number }[]
}

/** The parts that a fault needs. Faults of one part wait for each other. */
function partsOf({ kind, api }: PlannedFault): string[] {
  if (kind === 'outage') return ['kafka', `api ${api}`]
  if (kind === 'outage-emptied') return ['kafka', 'redis']
  const [part] = kind.split('-')
  return [part === 'api' ? `api ${api}` : part]
}

/**
 * Applies the faults of a round, one after another unless they overlap. Each ends with the part running again, but not
 * ready yet.
 */
export async function inflict(system: MatchesSystem, faults: readonly PlannedFault[], say: (text: string) => void): Promise<Inflicted> {
  const { kafka, redis, worker, apis, env, folder } = system
  const troubles: RedisTrouble[] = []
  const apiStarts: { api: number; at: number }[] = []
  let apisKilled = 0

  async function stopped(pid: number | undefined, whileStopped: () => Promise<unknown>): Promise<void> {
    process.kill(pid as number, 'SIGSTOP')
    try {
      await whileStopped()
    } finally {
      process.kill(pid as number, 'SIGCONT')
    }
  }

  async function killApi(api: number, downMs: number): Promise<void> {
    const exited = once(apis[api].child, 'close')
    apis[api].child.kill('SIGKILL')
    apisKilled++
    await exited
    await delay(downMs)
    apiStarts.push({ api, at: Date.now() })
    apis[api] = await startApiProcess(folder.path, env)
  }

  async function withoutRedis(incident: () => Promise<void>): Promise<void> {
    const from = Date.now()
    await incident()
    troubles.push({ from, to: Date.now(), isEmptied: false })
  }

  async function emptyRedis(): Promise<void> {
    const client = new Redis(redis.address)
    const from = Date.now()
    try {
      await flushTestRedis(client)
    } finally {
      client.disconnect()
    }
    troubles.push({ from, to: Date.now(), isEmptied: true })
  }

  async function suffer({ kind, api, holdMs }: PlannedFault): Promise<void> {
    const hold = () => delay(holdMs)
    switch (kind) {
      case 'api-killed':
        return killApi(api, holdMs)
      case 'api-stopped':
        return stopped(apis[api].child.pid, hold)
      case 'worker-killed':
        await worker.kill()
        await hold()
        return worker.restart()
      case 'worker-stopped':
        return stopped(worker.child.pid, hold)
      case 'redis-killed':
        return withoutRedis(async () => {
          await redis.kill()
          await hold()
          await redis.start()
        })
      case 'redis-stopped':
        return withoutRedis(() => stopped(redis.pid, hold))
      case 'redis-emptied':
        return emptyRedis()
      case 'kafka-killed':
        await kafka.kill()
        await hold()
        await kafka.start()
        return
      case 'kafka-stopped':
        return stopped(kafka.pid, hold)
      case 'outage':
        return stopped(kafka.pid, async () => {
          await hold()
          await killApi(api, 0)
          await hold()
        })
      case 'outage-emptied':
        return stopped(kafka.pid, async () => {
          await hold()
          await emptyRedis()
          await hold()
        })
    }
  }

  const turns = new Map<string, Promise<unknown>>()

  function inTurn(fault: PlannedFault): Promise<void> {
    const parts = partsOf(fault)
    const turn = Promise.all(parts.map((part) => turns.get(part))).then(async () => {
      const startedAt = Date.now()
      await suffer(fault)
      say(`${fault.kind} of ${fault.holdMs} ms at API ${fault.api} took ${Date.now() - startedAt} ms`)
    })
    for (const part of parts) turns.set(part, turn)
    // The error is reported below, even if another fault fails first.
    turn.catch(() => undefined)
    return turn
  }

  const inflicted: Promise<void>[] = []
  for (const fault of faults) {
    if (!fault.overlaps) await Promise.all(inflicted)
    await delay(fault.gapMs)
    inflicted.push(inTurn(fault))
  }
  await Promise.all(inflicted)
  return { redis: troubles, apisKilled, apiStarts }
}
