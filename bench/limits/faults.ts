import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { counterStore } from '../../api/limits/core/counter-store.ts'
import { connectLimiterRedis } from '../../api/limits/core/redis-connection.ts'
import type { Component } from '../../deploy/local/component.ts'
import { LOOPBACK } from '../../deploy/local/ports.ts'
import { startServers } from '../harness/servers.ts'
import { type DelayingProxy, delayingProxy } from './answer-proxy.ts'

const PER_SECOND = 2_000
const HEALTHY_MS = 1_000
const FAULT_MS = 3_000
const HEALED_MS = 3_000
const SLOW_MS = 20

interface Sample {
  /** When the request started, as a `performance.now()` time. */
  readonly at: number
  readonly latencyMs: number
  readonly undecided: boolean
}

interface Fault {
  readonly name: string
  begin(redis: Component, proxy: DelayingProxy): Promise<unknown> | unknown
  end(redis: Component, proxy: DelayingProxy): Promise<unknown> | unknown
}

async function admin<T>(redis: Component, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(redis.address)
  client.on('error', () => undefined)
  try {
    return await work(client)
  } finally {
    client.disconnect()
  }
}

const LOOP = 'for turn = 1, tonumber(ARGV[1]) do end'
const BLOCKED_MS = 1_000
/** Number of loop iterations for the calibration: enough for a useful measurement, but fast on any machine. */
const TRIED_TURNS = 5_000_000

/**
 * Blocks the single thread of Redis for about BLOCKED_MS with a script. The script's number of iterations is calibrated
 * on this machine. Does not wait for the end of the script.
 */
async function block(redis: Component): Promise<void> {
  const startedAt = performance.now()
  await admin(redis, (client) => client.eval(LOOP, 0, TRIED_TURNS))
  const turns = Math.round((TRIED_TURNS * BLOCKED_MS) / (performance.now() - startedAt))
  void admin(redis, (client) => client.eval(LOOP, 0, turns)).catch(() => undefined)
}

const FAULTS: readonly Fault[] = [
  { name: 'none', begin: () => undefined, end: () => undefined },
  { name: 'killed (connection refused)', begin: (redis) => redis.kill(), end: (redis) => redis.start() },
  {
    name: 'suspended (SIGSTOP)',
    begin: (redis) => process.kill(redis.pid!, 'SIGSTOP'),
    end: (redis) => process.kill(redis.pid!, 'SIGCONT'),
  },
  {
    name: `slow (replies ${SLOW_MS} ms late)`,
    begin: (_redis, proxy) => {
      proxy.delayMs = SLOW_MS
    },
    end: (_redis, proxy) => {
      proxy.delayMs = 0
    },
  },
  {
    name: 'demoted to a replica (READONLY)',
    begin: (redis) => admin(redis, (client) => client.replicaof(LOOPBACK, 1)),
    end: (redis) => admin(redis, (client) => client.replicaof('NO', 'ONE')),
  },
  {
    name: 'out of memory (OOM)',
    begin: (redis) => admin(redis, (client) => client.config('SET', 'maxmemory', '1')),
    end: (redis) => admin(redis, (client) => client.config('SET', 'maxmemory', '0')),
  },
  {
    name: 'blocked by a script for about 1 s',
    begin: block,
    end: () => undefined,
  },
]

/**
 * Measures the counter store during each fault of Redis, at 2,000 requests per second: how long it takes to answer, how
 * many requests it leaves undecided, and how soon it decides again afterwards. An API instance would decide the
 * undecided requests by its own counts, which are not part of this measurement.
 */
export async function faultTable(folder: string, say: (text: string) => void): Promise<void> {
  say(`\n### Faults of Redis at ${PER_SECOND} requests per second; each row covers ${FAULT_MS / 1_000} s from the beginning of the fault`)
  say(
    '\n| Redis | requests during the fault | undecided | P50 ms | P99 ms | max ms | waited > 1 ms | limits restored after ms |\n|---|---|---|---|---|---|---|---|',
  )
  for (const [index, fault] of FAULTS.entries()) {
    const servers = await startServers(join(folder, `fault-${index}`), { names: ['redis'] })
    const { redis } = servers.components
    const proxy = await delayingProxy(redis.address)
    const samples = await underLoad(proxy.url, async () => {
      await fault.begin(redis, proxy)
      const from = performance.now()
      await delay(FAULT_MS)
      const to = performance.now()
      await fault.end(redis, proxy)
      return { from, to }
    })
    say(row(fault.name, samples))
    proxy.close()
    await servers.stop()
  }
}

async function underLoad(url: string, fail: () => Promise<{ from: number; to: number }>) {
  const connection = connectLimiterRedis({ url, cluster: false })
  const store = counterStore({ scripts: connection.scripts, monotonic: () => performance.now() })
  const samples: Sample[] = []
  const open = new Set<Promise<unknown>>()
  let isRunning = true

  function ask(): void {
    const at = performance.now()
    const tag = `c${Math.floor(Math.random() * 1_000)}`
    const outcome = store.decide([
      { mode: 'hard', counter: { key: `limits:{${tag}}:r`, tag, limit: { limit: 1_000_000, windowSeconds: 60, burst: 0 } }, units: 1 },
    ])
    const waiting = Promise.resolve(outcome).then((result) => {
      samples.push({ at, latencyMs: performance.now() - at, undecided: 'undecided' in result })
      open.delete(waiting)
    })
    open.add(waiting)
  }

  async function arrivals(): Promise<void> {
    const began = performance.now()
    for (let sent = 0; isRunning; ) {
      for (const due = ((performance.now() - began) * PER_SECOND) / 1_000; sent < due; sent++) ask()
      await delay(1)
    }
  }

  const load = arrivals()
  await delay(HEALTHY_MS)
  const { from, to } = await fail()
  await delay(HEALED_MS)
  isRunning = false
  await load
  await Promise.all(open)
  connection.close()
  return { inFault: samples.filter(({ at }) => at >= from && at < to), after: samples.filter(({ at }) => at >= to), to }
}

function row(name: string, { inFault, after, to }: { inFault: readonly Sample[]; after: readonly Sample[]; to: number }): string {
  const latencies = inFault.map(({ latencyMs }) => latencyMs).sort((one, other) => one - other)
  const at = (part: number) => latencies[Math.min(latencies.length - 1, Math.floor(part * latencies.length))].toFixed(2)
  const undecided = inFault.filter((sample) => sample.undecided).length
  const waited = latencies.filter((latency) => latency > 1).length
  const decided = after.find((sample) => !sample.undecided)
  const healed = decided === undefined ? 'never' : Math.round(decided.at - to)
  return `| ${name} | ${inFault.length} | ${undecided} | ${at(0.5)} | ${at(0.99)} | ${at(1)} | ${waited} | ${healed} |`
}
