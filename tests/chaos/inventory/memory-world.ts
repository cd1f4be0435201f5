import type { Commands } from '../../../api/kit/commands/commands.ts'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { inventory } from '../../../pipelines/catalog/inventory/topology.ts'
import { reservations } from '../../../pipelines/catalog/reservations/topology.ts'
import { type CommitFaultPoint, DriverCrash, type TestDriver, testDriver } from '../../../pipelines/engine/testing.ts'
import { inventoryFlow } from '../../../schemas/catalog/inventory/flow.ts'
import { inventoryChanged, reservationOutcomes } from '../../../schemas/catalog/inventory/topics.ts'
import { reservationFlow } from '../../../schemas/catalog/reservations/flow.ts'
import type { CommandFlow } from '../../../schemas/commands/topics.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { integer, pick, type Random } from '../../../tools/random/random.ts'
import type { Logged, StockLog } from './log.ts'
import type { Outage } from './verdict.ts'

/** Simulated duration of a step, ms. */
export const STEP_MS = 100
const COMMIT_STEPS: readonly CommitFaultPoint[] = ['encoded', 'produced', 'offsets-added', 'committed', 'written']
const ANSWER_TIMEOUT_MS = 5_000
const COMMAND_LIFE_MS = 30_000
/**
 * Maximum number of steps for which a topology is down. They last 35 s. This is longer than the lifetime of a command,
 * but shorter than the minute by which a reservation outlasts its cart.
 */
const LONGEST_DOWN_STEPS = 350
const LONG_DOWN_SHARE = 0.1
const SHORT_DOWN_STEPS = 30

/** A deciding topology that may crash. */
interface Decider {
  readonly driver: TestDriver
  /** Number of steps until the topology runs again; 0 while it is running. */
  down: number
  downSince: number
}

interface Waiter {
  readonly until: number
  readonly settle: (answer: string | undefined) => void
}

/**
 * The deciding topologies of stock and carts in memory, with the functions through which an API reaches them. Time
 * passes only in `step`.
 */
export interface MemoryWorld {
  readonly now: number
  /** True while a command is waiting for its answer. */
  readonly isAsked: boolean
  readonly commands: Commands
  readonly outages: readonly Outage[]
  /**
   * Lets 100 ms pass.
   * @param isCalm if true, no new crash is planned, and no command or answer is lost until the next step
   */
  step(isCalm: boolean): Promise<void>
  log(): StockLog
}

/**
 * @param crashes probability per step that a topology is made to crash during its next commit
 * @param losses probability that a command is lost, and also that the answer to a command is lost
 */
export function memoryWorld(random: Random, { crashes, losses }: { readonly crashes: number; readonly losses: number }): MemoryWorld {
  const stock: Decider = { driver: testDriver(inventory, { commit: 'manual' }), down: 0, downSince: 0 }
  const carts: Decider = { driver: testDriver(reservations, { commit: 'manual', startAt: stock.driver.now }), down: 0, downSince: 0 }
  const outages: Outage[] = []
  const waiters = new Map<string, Set<Waiter>>()
  const read = new Map<string, Logged<unknown>[]>()
  let now = stock.driver.now
  let calm = false

  // biome-ignore lint/suspicious/noExplicitAny: flows of both topologies
  async function run(flow: CommandFlow<any, any, any>, key: string, body: unknown, commandId: string): Promise<any> {
    const { driver } = (flow as unknown) === inventoryFlow ? stock : carts
    const lost = calm ? 1 : random()
    const answer = new Promise<string | undefined>((settle) => {
      const waiter: Waiter = { until: now + ANSWER_TIMEOUT_MS, settle }
      waiters.set(commandId, (waiters.get(commandId) ?? new Set()).add(waiter))
    })
    // If the command or its answer is lost, the caller gets no answer and retries the command.
    if (lost >= losses) {
      const command = { command_id: commandId, reply_to: 'world', request_hash: '', deadline: now + COMMAND_LIFE_MS, body }
      driver.pipe(flow.commands, key, command, { appendedAt: now })
    }
    const found = await answer
    if (found === undefined || (lost >= losses && lost < 2 * losses)) throw new ApiError(errors.unavailable)
    return JSON.parse(found)
  }

  function take<V>({ driver }: Decider, topic: Topic<string, V>): Logged<V>[] {
    const records = driver.read(topic).map((record) => ({ ...record, key: record.key as string, value: record.value as V }))
    read.set(topic.name, [...(read.get(topic.name) ?? []), ...records])
    return records
  }

  function settle(decider: Decider): void {
    const { driver } = decider
    if (decider.down > 0) {
      if (--decider.down > 0) return
      driver.restart({ wipeState: random() < 0.5, downMs: now - driver.now })
      outages.push({ from: decider.downSince, to: now })
    }
    driver.advanceWallClock(now - driver.now)
    if (!calm && random() < crashes) driver.crashAt(pick(random, COMMIT_STEPS))
    try {
      driver.settle()
    } catch (error) {
      if (!(error instanceof DriverCrash)) throw error
      decider.downSince = now
      decider.down = 1 + integer(random, random() < LONG_DOWN_SHARE ? LONGEST_DOWN_STEPS : SHORT_DOWN_STEPS)
    }
  }

  function answer(): void {
    const results = [...take(stock, inventoryFlow.decisions), ...take(carts, reservationFlow.decisions)]
    for (const { value } of results) {
      if (value?.result == null) continue
      for (const waiter of waiters.get(value.result.command_id) ?? []) waiter.settle(value.result.answer)
      waiters.delete(value.result.command_id)
    }
    for (const [id, waiting] of waiters)
      for (const waiter of waiting) {
        if (waiter.until > now) continue
        waiter.settle(undefined)
        waiting.delete(waiter)
        if (waiting.size === 0) waiters.delete(id)
      }
  }

  return {
    get now() {
      return now
    },
    get isAsked() {
      return waiters.size > 0
    },
    outages,
    commands: {
      async open({ idempotencyKey }) {
        const id = idempotencyKey as string
        return {
          id,
          run: (flow, key, body, step) => run(flow, key, body, step === undefined ? id : `${id}:${step}`),
          once: async (_name, compute) => compute(),
        }
      },
      isRepeated: async () => false,
      probe: { name: 'results', check: async () => undefined },
      close: () => undefined,
    },
    async step(isCalm) {
      calm = isCalm
      now += STEP_MS
      settle(stock)
      settle(carts)
      for (const { key, value } of take(carts, reservationOutcomes)) stock.driver.pipe(reservationOutcomes, key, value, { appendedAt: now })
      answer()
      // Lets the handlers that have received answers continue.
      await new Promise((resolve) => setImmediate(resolve))
    },
    log() {
      for (const topic of [inventoryFlow.commands, inventoryChanged]) take(stock, topic as Topic<string, unknown>)
      take(carts, reservationFlow.commands)
      // Reads outcomes from the stock's broker, because the same records on the carts' broker have different
      // timestamps.
      read.set(reservationOutcomes.name, [])
      take(stock, reservationOutcomes)
      const all = <V>({ name }: Topic<string, V>) => (read.get(name) ?? []) as Logged<V>[]
      return {
        inventoryCommands: all(inventoryFlow.commands),
        inventoryDecisions: all(inventoryFlow.decisions),
        inventoryChanged: all(inventoryChanged),
        reservationOutcomes: all(reservationOutcomes),
        reservationCommands: all(reservationFlow.commands),
        reservationDecisions: all(reservationFlow.decisions),
      }
    },
  }
}
