import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import type { Component } from '../../deploy/local/component.ts'
import { waitUntil } from '../../deploy/local/wait.ts'
import { kafkaTransport } from '../../kafka/client/index.ts'
import type { Transport } from '../../kafka/transport.ts'
import { changelogTopicName } from '../../pipelines/engine/topology/internal-topics.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { cleanedText } from './cleaned.ts'
import { copyTopics, orderLog } from './copies.ts'
import { faults, progress, type ShopInput, type ShopOutput, type Timing } from './expected.ts'
import { faultHands } from './faults.ts'
import { produceInput } from './input.ts'
import { type LogReader, logReader } from './log-reader.ts'
import { FAULTS_WITHIN_MS, type Fault, type Schedule, WORKERS } from './schedule.ts'
import { type ShopTopics, shopTopics } from './shop.ts'
import { noSmallDisk } from './small-disk.ts'
import { VOLUME } from './volume.ts'
import { failedStop, type WorkerSlot, workerSlot } from './worker-slot.ts'

export interface TrialDeps {
  /** All brokers of the cluster, with the controller first. */
  readonly brokers: readonly [Component, ...Component[]]
  /** A folder that no other trial uses. */
  readonly folder: string
  readonly say: (text: string) => void
}

export interface TrialOptions {
  /** Number of payments. Default 4,000. Ignored if the schedule is `atVolume`. */
  readonly payments?: number
  /**
   * Duration of the input, ms. Default: one second longer than the period in which faults begin. Ignored if the
   * schedule is `atVolume`.
   */
  readonly inputMs?: number
  /** If true, every payment gets a receipt, except some of the last ones. */
  readonly everyReceipt?: boolean
  /** Called with the workers when all of them are ready, for example to measure them. */
  readonly watch?: (workers: readonly WorkerSlot[]) => void
}

export interface TrialResult {
  /**
   * Describes deviations from the expected output, a lack of input, unexpected exits and failed stops of workers, and
   * an error that ended the trial. Empty if there are none.
   */
  readonly faults: readonly string[]
  /** Number of payments in the log, including the last record of each partition; 0 if an error ended the trial. */
  readonly payments: number
  readonly fences: number
  readonly crashes: number
  /** Faults that were impossible on this machine, each with the reason. */
  readonly skipped: readonly string[]
}

const OFFSETS_TOPIC = '__consumer_offsets'
/**
 * Age at which brokers replace the active segment of the topic of committed offsets. It is longer than a run, so
 * nothing is compacted: brokers never compact the active segment.
 */
const NEVER_ROLLED_MS = 7 * 24 * 3_600_000
const PAYMENTS = 4_000
/**
 * Share of the planned payments that must be in the log, because a run without input has nothing to judge. The producer
 * aborts some transactions itself, and faults of the broker abort more.
 */
const LEAST_INPUT = 0.25
/** Duration of the input. It continues after the last fault begins, so that the fault affects some of it. */
const INPUT_MS = FAULTS_WITHIN_MS + 1_000
/**
 * Transaction timeout. It is shorter than the session timeout of 6 s, so that a stall can abort a transaction without
 * ending the session.
 */
const TRANSACTION_TIMEOUT_MS = 3_000
const READY_WITHIN_MS = 90_000
/**
 * Time limit for the output after the last fault. Even on a busy machine, it is long enough for sessions and
 * transactions to time out and for state to be restored.
 */
const OUTPUT_WITHIN_MS = 150_000
const LOOK_EVERY_MS = 300
/** How far ahead of its own clock the broker accepts timestamps (`message.timestamp.after.max.ms`). */
const TOO_FAR_AHEAD_MS = 3_600_000

/** Returns true if a worker may exit by itself because of the fault, so that its supervisor has to restart it. */
function mayEndWorkers(fault: Fault): boolean {
  return fault.kind === 'disk-full' || fault.kind === 'damage' || (fault.kind === 'clock' && fault.offsetMs >= TOO_FAR_AHEAD_MS)
}

/**
 * Excludes the topic of committed offsets from continuous compaction. A broker that compacts this topic while it loads
 * a group coordinator from it may fail to load the coordinator, and the coordinator's groups then stop (KAFKA-19862).
 */
async function keepOffsetsUncompacted(transport: Transport): Promise<void> {
  const partitions = (await transport.partitionCounts([OFFSETS_TOPIC])).get(OFFSETS_TOPIC)
  if (partitions === undefined) throw new Error(`the brokers have no topic ${OFFSETS_TOPIC}`)
  await transport.ensureTopics([{ name: OFFSETS_TOPIC, partitions, config: { 'segment.ms': String(NEVER_ROLLED_MS) } }])
}

/** Runs a shop with three workers, writes its input, injects all faults of the schedule, and judges the output. */
export async function runTrial(schedule: Schedule, deps: TrialDeps, options: TrialOptions = {}): Promise<TrialResult> {
  const { folder, say } = deps
  const name = `shop-${schedule.seed}-${Date.now().toString(36)}`
  const topics = shopTopics(name)
  mkdirSync(folder, { recursive: true })
  const log = pino({ level: 'debug' }, pino.destination({ dest: join(folder, 'driver.log'), sync: true }))
  const transport = kafkaTransport(
    { brokers: deps.brokers.map(({ address }) => address), clientId: 'chaos' },
    { runtime: systemRuntime(log) },
  )
  const workers: WorkerSlot[] = []
  const guests: WorkerSlot[] = []
  const readers: LogReader[] = []
  try {
    await transport.connect()
    const all = [...Object.values(topics), ...(schedule.atVolume ? Object.values(copyTopics(name)) : [])]
    await transport.ensureTopics(all.map(({ name, partitions }) => ({ name, partitions })))
    for (let slot = 0; slot < WORKERS; slot++) workers.push(await openSlot(slot, schedule, name, deps))
    if (schedule.atVolume) guests.push(await openSlot(WORKERS, schedule, name, deps))
    for (const worker of workers) worker.start()
    const [input, output] = [inputReader(transport, topics), outputReader(transport, topics)]
    readers.push(input.reader, output.reader)
    await allReady(workers)
    if (schedule.atVolume) await keepOffsetsUncompacted(transport)
    options.watch?.(workers)
    const { found, skipped } = await ordeal(schedule, {
      ...options,
      ...deps,
      name,
      transport,
      topics,
      workers,
      guest: guests[0],
      input,
      output,
    })
    return {
      faults: found,
      payments: input.read().payments.flat().length,
      fences: workers.reduce((sum, worker) => sum + worker.fences, 0),
      crashes: workers.reduce((sum, worker) => sum + worker.crashes, 0),
      skipped,
    }
  } catch (error) {
    say((error as Error).stack ?? String(error))
    return { faults: [(error as Error).message], payments: 0, fences: 0, crashes: 0, skipped: [] }
  } finally {
    for (const worker of [...workers, ...guests]) await worker.close()
    for (const reader of readers) await reader.close()
    await transport.close()
  }
}

function openSlot(
  slot: number,
  { faults, settings, atVolume }: Schedule,
  topology: string,
  { brokers, folder }: TrialDeps,
): Promise<WorkerSlot> {
  const onSmallDisk = noSmallDisk() === undefined && faults.some(({ fault }) => fault.kind === 'disk-full' && fault.worker === slot)
  return workerSlot({
    slot,
    brokers: brokers.map(({ address }) => address),
    topology,
    copies: atVolume,
    folder: join(folder, `worker-${slot}`),
    transactionTimeoutMs: atVolume ? VOLUME.transactionTimeoutMs : TRANSACTION_TIMEOUT_MS,
    settings,
    onSmallDisk,
  })
}

interface Reading<T> {
  readonly reader: LogReader
  read(): T
}

function inputReader(transport: Transport, { payments, receipts }: ShopTopics): Reading<ShopInput> {
  const reader = logReader(transport, [payments, receipts])
  return { reader, read: () => ({ payments: reader.of(payments), receipts: reader.of(receipts) }) }
}

function outputReader(transport: Transport, { ledger, matched, reminders, windows, regions, closings }: ShopTopics): Reading<ShopOutput> {
  const reader = logReader(transport, [ledger, matched, reminders, windows, regions, closings])
  return {
    reader,
    read: () => ({
      ledger: reader.of(ledger),
      matched: reader.of(matched),
      reminders: reader.of(reminders),
      windows: reader.of(windows),
      regions: reader.of(regions),
      closings: reader.of(closings),
    }),
  }
}

async function allReady(workers: readonly WorkerSlot[]): Promise<void> {
  for (const worker of workers)
    await waitUntil(() => worker.report?.ready === true, { what: `worker ${worker.slot}`, timeoutMs: READY_WITHIN_MS })
}

interface OrdealDeps extends TrialDeps, TrialOptions {
  readonly name: string
  readonly transport: Transport
  readonly topics: ShopTopics
  readonly workers: readonly WorkerSlot[]
  readonly guest: WorkerSlot | undefined
  readonly input: Reading<ShopInput>
  readonly output: Reading<ShopOutput>
}

/**
 * Writes the input, injects the faults and judges the output.
 * @returns all deviations, and the faults that were skipped
 */
async function ordeal(
  { seed, faults: planned, atVolume }: Schedule,
  deps: OrdealDeps,
): Promise<{ found: string[]; skipped: readonly string[] }> {
  const { name, transport, topics, workers, input, output, say, payments = PAYMENTS, inputMs = INPUT_MS, everyReceipt } = deps
  const mayEnd = planned.some(({ fault }) => mayEndWorkers(fault))
  const orders = atVolume ? orderLog(transport, name) : undefined
  const hands = faultHands({ ...deps, mayEnd, growing: orders })
  const inLogBy = new Map<string, number>()
  const onCommitted = (ids: readonly string[]) => {
    for (const id of ids) inLogBy.set(id, Date.now())
  }
  const size = atVolume ? VOLUME : { payments, durationMs: inputMs }
  const producing = Promise.all([
    produceInput(transport, topics, { seed, everyReceipt, onCommitted, ...size }),
    orders?.produce({ seed, durationMs: size.durationMs }),
  ])
  producing.catch(() => {}) // The error is reported below, unless something else fails first.
  // Times from a wrong clock remain in effect until a worker with a correct clock has reported times for the same
  // partitions.
  const doubtful: Timing['doubtful'] = planned.some(({ fault }) => fault.kind === 'clock') ? [[Date.now(), Infinity]] : []
  const timing = (): Timing => ({ inLogBy, doubtful, now: Date.now() })
  const inflicted = planned.map(async ({ atMs, fault }) => {
    await delay(atMs)
    await hands.inflict(fault)
  })
  await Promise.all([producing, ...inflicted])
  await input.reader.catchUp()
  const copies = orders?.read()
  let state = ''
  await waitUntil(
    async () => {
      await output.reader.catchUp()
      const { done, text } = progress(input.read(), output.read(), timing())
      state = text
      return done && ((await copies?.faults()) ?? []).length === 0
    },
    { what: 'the whole output', timeoutMs: OUTPUT_WITHIN_MS, intervalMs: LOOK_EVERY_MS },
  ).catch((error: Error) => say(`${error.message}: ${state}; workers ${JSON.stringify(workers.map(({ report }) => report ?? null))}`))
  // Also waits for zombies, because they must rejoin.
  await allReady(workers)
  const codes = await Promise.all(workers.map((worker) => worker.leave()))
  await output.reader.catchUp()
  const arrived = input.read().payments.flat().length
  const found = [
    ...(arrived < LEAST_INPUT * size.payments ? [`only ${arrived} of ${size.payments} payments are in the log`] : []),
    ...faults(input.read(), output.read(), timing()),
    ...((await copies?.faults()) ?? []),
    ...codes.flatMap((code, i) => (code === 0 || mayEnd ? [] : [failedStop(`worker ${i}`, code)])),
    ...workers.flatMap(({ slot, crashes }) => (crashes === 0 || mayEnd ? [] : [`worker ${slot} ended by itself`])),
  ]
  if (atVolume) say(await cleanedText(transport, changelogTopicName(name, 'balances')))
  await copies?.close()
  return { found, skipped: hands.skipped }
}
