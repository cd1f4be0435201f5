/**
 * Replays the stock log against the model. Checks that every movement has a cause, that no reservation expired early,
 * that the answer to each command was correct when the command was decided, and that the invariants hold after each
 * command and each other cause of movements.
 */
import { isDeepStrictEqual } from 'node:util'
import type { InventoryAnswer } from '../../../schemas/catalog/inventory/flow.ts'
import type { CartOutcome, InventoryChange, InventoryCommand } from '../../../schemas/catalog/types.ts'
import { answersIn, type DecidedCommand, decidedCommands, type Logged, type StockLog } from './log.ts'
import { type ModelAnswer, type ModelMovement, type StockModel, stockModel } from './stock-model.ts'

/** The expiry of a reservation or cart. */
export interface Expiry {
  readonly reservationId: string
  /** True for a cart's reservation of one product; false for a whole cart and for a reservation without a cart. */
  readonly isPart: boolean
  /** Time at which the reservation or cart ended, epoch ms. */
  readonly endsAt: number
  /** Time at which the service expired it, epoch ms. */
  readonly at: number
}

export interface StockFold {
  readonly faults: readonly string[]
  readonly models: readonly StockModel[]
  readonly expiries: readonly Expiry[]
}

type Decision = DecidedCommand<InventoryCommand, InventoryAnswer>

/**
 * Minimum time between a reservation's `endsAt` and the moment when the service expires it and makes its stock
 * available again.
 */
const EXPIRES_AFTER_MS = 1_000

export function foldStock(log: StockLog): StockFold {
  const partitions = new Set([...log.inventoryCommands, ...log.inventoryChanged].map(({ partition }) => partition))
  const folds = [...partitions].map((partition) => {
    const within = <V>(records: readonly Logged<V>[]) => records.filter((record) => record.partition === partition)
    const { inventoryCommands, inventoryDecisions, inventoryChanged, reservationOutcomes } = log
    return foldPartition({
      ...log,
      inventoryCommands: within(inventoryCommands),
      inventoryDecisions: within(inventoryDecisions),
      inventoryChanged: within(inventoryChanged),
      reservationOutcomes: within(reservationOutcomes),
    })
  })
  return {
    faults: folds.flatMap(({ faults }) => faults),
    models: folds.flatMap(({ models }) => models),
    expiries: folds.flatMap(({ expiries }) => expiries),
  }
}

function foldPartition(log: StockLog): StockFold {
  const faults: string[] = []
  const expiries: Expiry[] = []
  const model = stockModel()
  const answers = answersIn<InventoryAnswer>(log.inventoryDecisions, faults)
  const movements = log.inventoryChanged
  const byCommand = Map.groupBy(movements, ({ value }) => value.command_id)
  const outcomes = Map.groupBy(log.reservationOutcomes, ({ value }) => `${value.product_id} ${value.reservation_id}`)
  let next = 0

  function takeExpected(expected: readonly ModelMovement[] | undefined, what: string): void {
    const found = movements.slice(next, next + (expected?.length ?? 1)).map(({ value }) => plain(value))
    if (expected === undefined || !isDeepStrictEqual(found, expected)) {
      faults.push(`movement ${movements[next]?.offset}: ${what} made ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`)
    }
    next += Math.max(1, expected?.length ?? 1)
    faults.push(...model.broken().map((fault) => `movement ${movements[next - 1]?.offset}: ${fault}`))
  }

  /**
   * Applies the next movement that no command caused, and the other movements with the same cause: the end of a cart,
   * or the expiry of a reservation.
   */
  function takeUncaused(): void {
    const { value } = movements[next]
    const { product_id, reservation_id, at } = value
    const left = outcomes.get(`${product_id} ${reservation_id}`) ?? []
    while (left[0]?.value.outcome === 'EXTENDED' && left[0].timestamp <= at) model.outcome(left.shift()!.value)
    const open = model.reservations.find(({ id, product }) => id === reservation_id && product === product_id)
    const end = left[0]
    if (end !== undefined && end.value.outcome !== 'EXTENDED' && end.timestamp === at) {
      left.shift()
      takeExpected(model.outcome(end.value), `the cart's ${end.value.outcome}`)
      return
    }
    if (open === undefined) faults.push(`${reservation_id} expired, but is not open`)
    else {
      expiries.push({ reservationId: open.id, isPart: open.isPart, endsAt: open.endsAt, at })
      if (at < open.endsAt + EXPIRES_AFTER_MS)
        faults.push(`${reservation_id} expired at ${at}, earlier than ${EXPIRES_AFTER_MS} ms after its end ${open.endsAt}`)
    }
    takeExpected(model.expire(product_id, reservation_id ?? ''), 'the expiry')
  }

  function takeCaused({ id, key, body, now, answer }: Decision): void {
    while (next < movements.length && movements[next].value.command_id === null) takeUncaused()
    if (movements[next]?.value.command_id !== id) faults.push(`command ${id}: its movement is out of order`)
    const expected = model.command(Number(key), body, now, id)
    takeExpected(expected.movements, `command ${id}`)
    if (!isDeepStrictEqual(shown(answer), expected.answer)) faults.push(wrong(id, answer, expected.answer))
  }

  /**
   * Checks a command without movements. Because it changes no stock, the log does not show when it was decided. Its
   * answer must be right at one of the possible moments.
   */
  function takeRefused({ id, key, body, now, answer }: Decision): void {
    for (;;) {
      const wanted = model.refusal(Number(key), body, now, id)
      if (isDeepStrictEqual(shown(answer), wanted)) return
      if (next >= movements.length || movements[next].value.command_id !== null) {
        faults.push(wrong(id, answer, wanted))
        return
      }
      takeUncaused()
    }
  }

  const commands = decidedCommands(log.inventoryCommands, answers)
  for (const command of commands) {
    if (byCommand.has(command.id)) takeCaused(command)
    else takeRefused(command)
  }
  while (next < movements.length) {
    if (movements[next].value.command_id !== null) {
      faults.push(`movement ${movements[next].offset}: no command caused it`)
      next++
    } else takeUncaused()
  }
  const decided = new Set(commands.map(({ id }) => id))
  for (const id of answers.keys()) if (!decided.has(id)) faults.push(`command ${id} got an answer, but is not in the log`)
  for (const left of outcomes.values()) for (const { value } of left) takeLeft(value)

  /**
   * Checks an outcome of a cart for which the log has no movement. An extension never moves stock, and a deduction
   * always does. The other outcomes move no stock only if the cart's reservation had already expired.
   */
  function takeLeft(outcome: CartOutcome): void {
    if (outcome.outcome === 'EXTENDED') return
    const hadPart = expiries.some(({ reservationId, isPart }) => isPart && reservationId === outcome.reservation_id)
    if (outcome.outcome === 'DEDUCTED' || !hadPart)
      faults.push(`${outcome.reservation_id} of ${outcome.product_id}: ${outcome.outcome} moved nothing`)
  }

  return { faults, models: [model], expiries }
}

function plain({ variant_id, warehouse_id, kind, quantity, reservation_id, available, reserved, version }: InventoryChange): ModelMovement {
  return { variant_id, warehouse_id, kind, quantity, reservation_id, available, reserved, version }
}

function shown(answer: InventoryAnswer): ModelAnswer {
  if ('row' in answer) {
    const { available, reserved, version } = answer.row
    const rest = 'reservations' in answer ? { reservations: answer.reservations } : {}
    return { outcome: answer.outcome, available, reserved, version, ...rest }
  }
  if (answer.outcome === 'not_for_sale') return { outcome: answer.outcome }
  return answer.outcome === 'out_of_stock' ? { outcome: answer.outcome, available: answer.available } : answer
}

function wrong(id: string, answer: InventoryAnswer, expected: ModelAnswer | undefined): string {
  return `command ${id} got the answer ${JSON.stringify(answer)}, not ${JSON.stringify(expected)}`
}
