import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { partitionFor } from '../../kafka/partitioner.ts'
import { FencedError, type Transport, TransportError } from '../../kafka/transport.ts'
import type { MemberIdentity, Topic, Worker } from '../../pipelines/engine/index.ts'
import { type CommitFaultPoint, memoryBackend, memoryTransport } from '../../pipelines/engine/testing.ts'
import { systemRuntime } from '../../runtime/system.ts'
import { StateUnavailable } from '../../state/stores/errors.ts'
import type { StateBackend } from '../../state/stores/store.ts'
import { integer, pick, seededRandom } from '../../tools/random/random.ts'
import { bench, newIdentity, until } from '../pipelines/engine/harness.ts'
import { memoryConfig } from './config.ts'
import { faults, type Log, progress, type ShopInput, type ShopOutput, type Timing } from './expected.ts'
import { PARTITIONS, type Payment, shop, shopTopics } from './shop.ts'

const { seeds, from } = memoryConfig()
const WORKERS = 3
const ROUNDS = 40
const BATCH = 12
/**
 * Share of payments on which the shop fails. It is high enough that failing payments coincide with every kind of fault,
 * and low enough that most commits contain none.
 */
const SHARE_BROKEN = 0.02
/** Probability per round that a database falls behind. */
const SHARE_OVERLOADED = 0.3
const LONGEST_PAUSE_MS = 12
const LONGEST_HOLD_MS = 40
/** Time limit for the output, which normally takes a second. A busy machine may be a hundred times slower. */
const OUTPUT_WITHIN_MS = 100_000
const RUN_TIMEOUT_MS = 180_000
const STEPS: readonly CommitFaultPoint[] = ['encoded', 'produced', 'offsets-added', 'committed', 'written']
const LONGEST_JUMP_MS = 60
const HOUR_MS = 3_600_000
const CLOCK_OFFSETS_MS = [-48 * HOUR_MS, -HOUR_MS, -300, 300, 20_000, HOUR_MS, 48 * HOUR_MS]
const NAME = 'shop'
const topics = shopTopics(NAME)

/** Thrown inside a worker to end it immediately, without a graceful shutdown. */
class Killed extends Error {}

/** A worker on the in-memory broker, with its state and its group membership. */
interface Slot {
  backend: StateBackend
  identity: MemberIdentity
  worker: Worker | undefined
  /** A commit step and an error. The worker throws the error when its next commit reaches the step. */
  trap: { readonly step: CommitFaultPoint; readonly error: Error } | undefined
  /** How many of the next state writes will fail. */
  badWrites: number
  /** True while the database is behind, so that restores and copies wait. */
  isOverloaded: boolean
  /** How far the worker's clock is ahead, ms; negative if it is behind. */
  clockOffsetMs: number
}

/** A period in which a worker's clock is wrong, or in which its wrong timestamps may still have an effect. */
interface ClockJump {
  readonly slot: Slot
  readonly offsetMs: number
  readonly from: number
  /** Time at which the clock was corrected; undefined while the clock is wrong. */
  backAt: number | undefined
}

async function run(seed: number): Promise<string[]> {
  const random = seededRandom(seed)
  /** A separate random generator, so that the draws for overloads do not change the other faults of a seed. */
  const load = seededRandom(seed + 1)
  const b = bench()
  for (const topic of Object.values(topics)) b.broker.createTopic({ name: topic.name, partitions: topic.partitions })
  const topology = shop(NAME, { standby: pick(random, [0, 1]) })
  const slots = Array.from({ length: WORKERS }, newSlot)
  let next = 0
  let at = Date.now()
  const inLogBy = new Map<string, number>()
  const doubtful: [from: number, to: number][] = []
  let jump: ClockJump | undefined

  function newSlot(): Slot {
    const fresh = { worker: undefined, trap: undefined, badWrites: 0, isOverloaded: false, clockOffsetMs: 0 }
    return { ...fresh, backend: memoryBackend(), identity: newIdentity() }
  }

  async function start(slot: Slot): Promise<void> {
    slot.trap = undefined
    slot.badWrites = 0
    slot.worker = await b.worker(topology, {
      transport: withClock(memoryTransport(b.broker), slot),
      runtime: { ...systemRuntime(), now: () => Date.now() + slot.clockOffsetMs },
      backend: failing(slot),
      identity: slot.identity,
      commitIntervalMs: integer(random, 10),
      cacheBytes: 1 + integer(random, 12_000),
      fault: (step) => {
        if (slot.trap?.step !== step) return
        const { error } = slot.trap
        slot.trap = undefined
        throw error
      },
    })
  }

  function send(): void {
    for (let i = 0; i < BATCH; i++) {
      at += integer(random, 40)
      const account = `account-${integer(random, 20)}`
      const id = String(next++)
      const payment = {
        id,
        merchant: `m${integer(random, 4)}`,
        region: `r${integer(random, 3)}`,
        amount: 1 + integer(random, 99),
        at,
        broken: random() < SHARE_BROKEN,
      }
      const order = random()
      if (order < 0.5) b.send(topics.receipts, account, { id }, at)
      b.send(topics.payments, account, payment, at)
      inLogBy.set(id, Date.now())
      if (order > 0.6) b.send(topics.receipts, account, { id }, at)
    }
  }

  /** Causes a random fault, or none. */
  async function trouble(): Promise<void> {
    const slot = pick(random, slots)
    const step = pick(random, STEPS)
    switch (integer(random, 10)) {
      case 0:
        return b.broker.groups.expire(NAME, slot.identity.memberId)
      case 1:
        slot.trap = { step, error: new FencedError('the test fences the worker') }
        return
      case 2:
        slot.trap = { step: pick(random, ['encoded', 'produced', 'offsets-added']), error: passing() }
        return
      case 3:
        slot.trap = { step, error: new Killed(`killed after ${step}`) }
        return
      case 4:
        slot.badWrites = 1 + integer(random, 2)
        return
      case 5:
        await slot.worker?.stop()
        return
      case 6:
      case 7:
        holdCommits()
        return
      case 8:
      case 9:
        jumpClock(slot)
    }
  }

  /** In some rounds, makes a database fall behind for a while. Other faults may occur during this time. */
  function overload(): void {
    const slot = pick(load, slots)
    if (load() > SHARE_OVERLOADED || slot.isOverloaded) return
    slot.isOverloaded = true
    setTimeout(
      () => {
        slot.isOverloaded = false
      },
      integer(load, LONGEST_HOLD_MS),
    )
  }

  function jumpClock(slot: Slot): void {
    if (jump !== undefined) return
    const offsetMs = pick(random, CLOCK_OFFSETS_MS)
    const jumped: ClockJump = { slot, offsetMs, from: Date.now(), backAt: undefined }
    jump = jumped
    slot.clockOffsetMs = offsetMs
    setTimeout(
      () => {
        slot.clockOffsetMs = 0
        jumped.backAt = Date.now()
      },
      integer(random, LONGEST_JUMP_MS),
    )
  }

  /**
   * Ends the clock jump once the clock has been corrected and every partition has sent a later time from a correct
   * clock. Such a time replaces all earlier times, so the wrong times no longer have an effect. Adds the ranges of
   * times that may have closed with too few payments to `doubtful`.
   */
  function endDoubt(): void {
    if (jump?.backAt === undefined) return
    const { slot, offsetMs, from, backAt } = jump
    const now = Date.now()
    const last = lastMarkers()
    if (last.size < PARTITIONS || [...last.values()].some((time) => time < backAt || time > now)) return
    doubtful.push([from, now], [from + offsetMs, now + offsetMs])
    jump = undefined
    // The worker's partitions have just sent correct times again. The worker is killed at a step of its next commit, to
    // check that no worker still relies on the wrong times that it had sent.
    slot.trap = { step: pick(random, STEPS), error: new Killed('killed when its clock was right again') }
  }

  /** Returns the time in the last committed time marker of each partition of the first stage. */
  function lastMarkers(): Map<number, number> {
    const times = new Map<number, number>()
    for (const { headers } of b.broker.log(`${NAME}-by-merchant-repartition`, 0).read(0, Number.MAX_SAFE_INTEGER)) {
      const [, time, partition] = /^(\d+) (\d+)\//.exec(headers[0]?.value?.toString() ?? '') ?? []
      if (time !== undefined) times.set(Number(partition), Number(time))
    }
    return times
  }

  /** Delays the responses to commits, so that other faults can occur before the commits succeed or fail. */
  function holdCommits(): void {
    if (b.broker.commitGate !== undefined) return
    const gate = Promise.withResolvers<void>()
    gate.promise.catch(() => {}) // Prevents an unhandled rejection if no commit is waiting.
    b.broker.commitGate = gate.promise
    const failure = pick(random, [undefined, undefined, passing(), new FencedError('aborted by the broker')])
    setTimeout(
      () => {
        b.broker.commitGate = undefined
        if (failure === undefined) gate.resolve()
        else gate.reject(failure)
      },
      integer(random, LONGEST_HOLD_MS),
    )
  }

  /** Restarts workers that have ended, some of them without their state and member id. Then calls `endDoubt`. */
  async function revive(): Promise<void> {
    for (const slot of slots) {
      const state = slot.worker?.status().state
      if (state === 'running') continue
      if (random() < 0.3) Object.assign(slot, { ...newSlot(), clockOffsetMs: slot.clockOffsetMs })
      await start(slot)
    }
    endDoubt()
  }

  for (const slot of slots) await start(slot)
  for (let round = 0; round < ROUNDS; round++) {
    send()
    await trouble()
    overload()
    await delay(integer(random, LONGEST_PAUSE_MS))
    await revive()
  }
  for (const slot of slots) {
    slot.trap = undefined
    slot.badWrites = 0
  }
  const end: Payment = { id: 'end', merchant: '', region: '', amount: 0, at: at + HOUR_MS, end: true }
  for (const key of onePerPartition()) b.send(topics.payments, key, end, end.at)
  const log = <V>(topic: Topic<string, V>): Log<V> =>
    Array.from({ length: topic.partitions }, (_, partition) =>
      b.all(topic).flatMap((record) => (record.partition === partition ? [{ key: record.key, value: record.value as V }] : [])),
    )
  const input: ShopInput = { payments: log(topics.payments), receipts: log(topics.receipts) }
  const output = (): ShopOutput => ({
    ledger: log(topics.ledger),
    matched: log(topics.matched),
    reminders: log(topics.reminders),
    windows: log(topics.windows),
    regions: log(topics.regions),
    closings: log(topics.closings),
  })
  const timing = (): Timing => ({ inLogBy, doubtful, now: Date.now() })
  await until(
    async () => {
      await revive()
      return jump === undefined && progress(input, output(), timing()).done
    },
    'the whole output',
    OUTPUT_WITHIN_MS,
  ).catch(() => {}) // A timeout is not an error here: the assertions report what is missing.
  for (const slot of slots) await slot.worker?.stop()
  return [...faults(input, output(), timing()), ...deadLetterFaults(input.payments, b.broker.records(`${NAME}-dead-letters`))]
}

/** Checks that each malformed payment became a dead letter exactly once, and that there are no other dead letters. */
function deadLetterFaults(payments: Log<Payment>, letters: readonly { readonly value: Buffer | null }[]): string[] {
  const broken = payments.flat().flatMap(({ value }) => (value.broken === true ? [value.id] : []))
  const found = letters.map(({ value }) => (JSON.parse(String(value)) as Payment).id)
  const [is, wanted] = [found.sort().join(' '), broken.sort().join(' ')]
  return is === wanted ? [] : [`dead letters ${is} instead of ${wanted}`]
}

function passing(): TransportError {
  return new TransportError('TIMED_OUT', 'not in time', { fatal: false })
}

/** Returns a transport whose fetches use the slot's clock. */
function withClock(transport: Transport, slot: Slot): Transport {
  return {
    ...transport,
    fetcher(options) {
      const fetcher = transport.fetcher(options)
      return {
        ...fetcher,
        async poll(timeoutMs, maxBytes) {
          const sentBy = slot.clockOffsetMs
          return (await fetcher.poll(timeoutMs, maxBytes)).map((data) => ({ ...data, fetchedAt: data.fetchedAt + sentBy }))
        },
      }
    },
  }
}

/** Wraps the slot's database, so that writes fail and copies wait on demand. */
function failing(slot: Slot): StateBackend {
  const { backend } = slot

  function writing<Part extends { write(): void }>(part: Part): Part {
    return {
      ...part,
      write() {
        if (slot.badWrites > 0) {
          slot.badWrites--
          throw new StateUnavailable('writing the state', new Error('no space left on device'))
        }
        part.write()
      },
    }
  }

  return {
    ...backend,
    session(name) {
      const session = backend.session(name)
      return { ...writing(session), takeBatch: () => writing(session.takeBatch()) }
    },
    copySession: (name) => ({ ...backend.copySession(name), isOverloaded: () => slot.isOverloaded }),
  }
}

/** Returns a key for each partition of the payments. */
function onePerPartition(): string[] {
  const keys = new Map<number, string>()
  for (let i = 0; keys.size < PARTITIONS; i++) keys.set(partitionFor(Buffer.from(`end-${i}`), PARTITIONS), `end-${i}`)
  return [...keys.values()]
}

test.each(Array.from({ length: seeds }, (_, i) => from + i))(
  'seed %i: with fenced, killed and stopped workers, failing and delayed state writes and jumping clocks, the output equals that of an offline computation',
  async (seed) => expect(await run(seed)).toEqual([]),
  RUN_TIMEOUT_MS,
)
