import type { Cart, CartCommand, CartOutcome, InventoryChange, InventoryCommand, StockRow } from '../../../schemas/catalog/types.ts'
import type { Command, Decision } from '../../../schemas/commands/topics.ts'

/** A committed record of a topic. */
export interface Logged<V> {
  readonly key: string
  readonly value: V
  readonly partition: number
  readonly offset: number
  /**
   * Timestamp of the record, epoch ms. The topic's configuration determines whether the sender or the broker sets it.
   */
  readonly timestamp: number
}

/** All committed records about stock and carts, each partition in the order of its offsets. */
export interface StockLog {
  readonly inventoryCommands: readonly Logged<Command<InventoryCommand>>[]
  readonly inventoryDecisions: readonly Logged<Decision<StockRow> | null>[]
  readonly inventoryChanged: readonly Logged<InventoryChange>[]
  readonly reservationOutcomes: readonly Logged<CartOutcome>[]
  readonly reservationCommands: readonly Logged<Command<CartCommand>>[]
  readonly reservationDecisions: readonly Logged<Decision<Cart> | null>[]
}

/** The answer to a command that was decided. */
export interface Answered<A> {
  readonly answer: A
  /** Time of the decision by the worker's clock, epoch ms. */
  readonly decidedAt: number
}

/**
 * Returns the answers to all decided commands, by command id. Checks that a repeated command got the same answer.
 * @param faults receives a description of each fault
 */
export function answersIn<A>(decisions: readonly Logged<Decision<unknown> | null>[], faults: string[]): Map<string, Answered<A>> {
  const answers = new Map<string, { readonly text: string; readonly decidedAt: number }>()
  for (const { value, offset } of decisions) {
    if (value?.result?.outcome !== 'decided') continue
    const { command_id, answer, decided_at } = value.result
    const first = answers.get(command_id)
    if (first !== undefined && first.text !== answer) faults.push(`decision ${offset}: command ${command_id} got a different answer before`)
    answers.set(command_id, { text: answer, decidedAt: decided_at })
  }
  return new Map(Array.from(answers, ([id, { text, decidedAt }]) => [id, { answer: JSON.parse(text) as A, decidedAt }]))
}

/** A decided command with its answer. */
export interface DecidedCommand<C, A> {
  readonly key: string
  readonly id: string
  readonly body: C
  readonly partition: number
  /**
   * Time at which the command takes effect, epoch ms: the latest timestamp of this record and of the earlier records of
   * its partition. It therefore never goes back within a partition.
   */
  readonly now: number
  readonly answer: A
}

/**
 * Returns the commands that were decided, in log order. If a command was sent several times, the decision belongs to
 * the first record whose deadline had not passed when the command was decided.
 */
export function decidedCommands<C, A>(
  commands: readonly Logged<Command<C>>[],
  answers: ReadonlyMap<string, Answered<A>>,
): DecidedCommand<C, A>[] {
  const latest = new Map<number, number>()
  const seen = new Set<string>()
  return commands.flatMap(({ key, partition, timestamp, value: { command_id: id, deadline, body } }) => {
    const now = Math.max(timestamp, latest.get(partition) ?? 0)
    latest.set(partition, now)
    const found = answers.get(id)
    if (found === undefined || seen.has(id) || deadline < found.decidedAt) return []
    seen.add(id)
    return [{ key, id, body, partition, now, answer: found.answer }]
  })
}
