/**
 * `npm run bench:inventory`: measures the latency of stock operations at a fixed rate, and breaks it down into its
 * parts. The operations are spread over many variants, first right after the start and again after a warm-up. Then they
 * all use one variant. Two peers perform the same operations. See run.command.ts.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { waitUntil } from '../../deploy/local/wait.ts'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { withStarted } from '../harness/folder.ts'
import { cpuSeconds, describeMachine, peakRssMib } from '../harness/process-stats.ts'
import { quantile, row } from '../harness/table.ts'
import { whereInstalled } from '../peer-missing.ts'
import { apiSubject } from './api-subject.ts'
import { operateAtRate } from './load.ts'
import { startPostgres } from './postgres.ts'
import { redisSubject } from './redis-script.ts'
import declaration from './run.command.ts'
import { type InventoryServers, startInventoryServers } from './servers.ts'
import type { Operation, Subject } from './subject.ts'

/**
 * Duration of the warm-up between the measurement right after the start and the others. In its first minute of load,
 * the broker's JVM compiles the code that a command needs.
 */
const WARM_UP_SECONDS = 40
/** Duration of PostgreSQL's warm-up. It is shorter than the other warm-up, because PostgreSQL compiles nothing. */
const POSTGRES_WARM_UP_SECONDS = 15
const SETTLE_MS = 1_000
const READY = { what: 'the inventory API', timeoutMs: 120_000, intervalMs: 200 }
const STOCK = 1_000_000
/** Number of concurrent requests while stock and reservations are prepared. */
const FILLING_AT_ONCE = 200
const VARIANTS_PER_PRODUCT = 256
const USED_VARIANTS_PER_PRODUCT = 50
const FIRST_PRODUCT = 1_000
const MS_PER_SECOND = 1_000
const KINDS = ['RESERVE', 'DEDUCT', 'RELEASE'] as const
const API_PARTS = ['command_acknowledged_seconds', 'command_answered_seconds']
const WORKER_PARTS = ['millrace_commit_seconds']

const { rate, seconds, variants, open, ...values } = commandLine(declaration)
const say = (text: string) => process.stdout.write(`${text}\n`)

/** Returns the id of a variant by its index, which begins at 0. Each product has the same number of variants. */
function variantAt(index: number): number {
  const product = FIRST_PRODUCT + Math.floor(index / USED_VARIANTS_PER_PRODUCT)
  return product * VARIANTS_PER_PRODUCT + 1 + (index % USED_VARIANTS_PER_PRODUCT)
}

const products = Array.from({ length: Math.ceil(variants / USED_VARIANTS_PER_PRODUCT) }, (_, index) => ({
  productId: FIRST_PRODUCT + index,
  variants: USED_VARIANTS_PER_PRODUCT,
}))

interface Scene {
  readonly name: string
  readonly variantAt: (index: number) => number
}

const MANY: Scene = { name: `over ${variants} variants`, variantAt: (index) => variantAt((index * 7_919) % variants) }
const ONE: Scene = { name: 'on one variant', variantAt: () => variantAt(0) }
/** The first operations after the stock was filled, while the broker's JVM compiles its code. */
const EARLY: Scene = { ...MANY, name: `${MANY.name}, right after the start` }
const CROWDED: Scene = { ...ONE, name: `on one variant with ${open} open reservations` }

function spread(times: readonly number[]): string[] {
  const sorted = times.toSorted((a, b) => a - b)
  return [0.5, 0.9, 0.99, 1].map((share) => quantile(sorted, share).toFixed(1))
}

function report(who: string, scene: string, operations: readonly Operation[]): void {
  const failed = operations.filter(({ succeeded }) => !succeeded).length
  say(row([who, scene, 'all', ...spread(operations.map(({ ms }) => ms)), failed]))
  for (const kind of KINDS) say(row(['', '', kind, ...spread(operations.filter((one) => one.kind === kind).map(({ ms }) => ms)), '']))
}

/** Reads the sums and counts of Prometheus histograms. The difference between two readings gives a mean. */
async function sums(url: string, names: readonly string[]): Promise<(readonly [name: string, sum: number, count: number])[]> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const value = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))].reduce((sum, [, found]) => sum + Number(found), 0)
  return names.map((name) => [name, value(`${name}_sum`), value(`${name}_count`)])
}

async function fill(subject: { receive(variant: number, quantity: number): Promise<void> }): Promise<void> {
  for (let first = 0; first < variants; first += FILLING_AT_ONCE) {
    const some = Array.from({ length: Math.min(FILLING_AT_ONCE, variants - first) }, (_, index) => variantAt(first + index))
    await Promise.all(some.map((variant) => subject.receive(variant, STOCK)))
  }
}

/** Opens reservations that stay open during the measurement. */
async function reserveMany(subject: Subject, count: number): Promise<void> {
  for (let first = 0; first < count; first += FILLING_AT_ONCE) {
    const some = Array.from({ length: Math.min(FILLING_AT_ONCE, count - first) }, () => subject.reserve(variantAt(0)))
    if ((await Promise.all(some)).includes(undefined)) throw new Error('a reservation failed before the measurement')
  }
}

async function measureOurs({ apiUrl, operationsUrl, workerUrl, token, pids }: InventoryServers): Promise<void> {
  const subject = apiSubject(apiUrl, token)
  const readings = async () => [...(await sums(operationsUrl, API_PARTS)), ...(await sums(workerUrl, WORKER_PARTS))]
  const cpu = () => Object.entries(pids).map(([name, pid]) => [name, cpuSeconds(pid)] as const)
  const notes: string[] = []
  // This benchmark does not fill the views of other parts of the catalogue, so the API as a whole is never ready.
  await waitUntil(() => subject.isReady(variantAt(0)), READY)
  await fill(subject)
  for (const scene of [EARLY, MANY, ONE, ...(open === 0 ? [] : [CROWDED])]) {
    if (scene === MANY) await operateAtRate(subject, { perSecond: rate, seconds: WARM_UP_SECONDS, variantAt: MANY.variantAt })
    if (scene === CROWDED) await reserveMany(subject, open)
    await delay(SETTLE_MS)
    const [before, cpuBefore] = [await readings(), cpu()]
    const operations = await operateAtRate(subject, { perSecond: rate, seconds, variantAt: scene.variantAt })
    const [after, cpuAfter] = [await readings(), cpu()]
    report('Millrace', scene.name, operations)
    const means = after.map(([name, sum, count], index) => {
      const times = count - before[index][2]
      return `${name.replace(/^millrace_|_seconds$/g, '')} ${(((sum - before[index][1]) * MS_PER_SECOND) / times).toFixed(1)} ms (${times})`
    })
    const used = cpuAfter.map(
      ([name, now], index) => `${name} ${(((now - cpuBefore[index][1]) * MS_PER_SECOND) / operations.length).toFixed(2)}`,
    )
    notes.push(
      `${scene.name}: means ${means.join(', ')}; CPU ms per operation: ${used.join(', ')}; peak memory so far: worker ${peakRssMib(pids.worker)} MiB, broker ${peakRssMib(pids.broker)} MiB`,
    )
  }
  subject.close()
  for (const note of notes) say(note)
}

async function measureRedis(url: string): Promise<void> {
  const subject = await redisSubject(url)
  await fill(subject)
  for (const scene of [MANY, ONE]) await measureOne('Redis script (upper bound)', subject, scene)
  subject.close()
}

async function measureOne(who: string, subject: Subject, scene: Scene): Promise<void> {
  report(who, scene.name, await operateAtRate(subject, { perSecond: rate, seconds, variantAt: scene.variantAt }))
}

async function measurePostgres(folder: string): Promise<void> {
  const postgres = await whereInstalled('PostgreSQL', () => startPostgres(folder))
  if (postgres === undefined) return
  try {
    postgres.measure({ variants, perSecond: rate, seconds: POSTGRES_WARM_UP_SECONDS, quantity: STOCK })
    for (const [name, count] of [
      [MANY.name, variants],
      [ONE.name, 1],
    ] as const) {
      const times = postgres.measure({ variants: count, perSecond: rate, seconds, quantity: STOCK })
      say(row(['PostgreSQL', name, 'all', ...spread(times), rate * seconds - times.length > rate ? 'too slow' : 0]))
    }
  } finally {
    await postgres.stop()
  }
}

async function main(): Promise<void> {
  say(`${describeMachine()}; ${rate} operations/s for ${seconds} s; times are in ms, from when an operation was due until its answer`)
  say('| subject | load | operation | P50 | P90 | P99 | maximum | failed |')
  say('| --- | --- | --- | --- | --- | --- | --- | --- |')
  const start = (folder: string) => startInventoryServers(folder, products)
  await withStarted(start, async (servers, folder) => {
    await measureOurs(servers)
    if (values['no-peers']) return
    await measureRedis(servers.redisUrl)
    await measurePostgres(folder)
  })
}

await runMain(main)
