import type { Decision } from '../../schemas/commands/topics.ts'
import type { CommandResult } from '../../schemas/commands/types.ts'
import { type View, type ViewContext, type ViewOperation, type ViewReader, viewTag } from './view.ts'

/**
 * Results of commands, stored with the view that the commands changed. The sink applies the change before the result,
 * or together with it, so a client that has the result can already read the change from the view.
 *
 * | key or channel | value |
 * |---|---|
 * | `{<view>:<p>}:result:<command_id>` | hash of the request, space, answer as JSON; expires after RESULT_KEPT_MS |
 * | channel `results:<API instance>` | command id, space, outcome, space, answer as JSON |
 */
export const RESULT_CHANNEL_PREFIX = 'results:'

/**
 * How long a result is stored for API instances that missed the message. After this time, only the partition that
 * decided the command has the answer. The partition keeps the answer for 24 hours.
 */
const RESULT_KEPT_MS = 600_000
const MS_PER_SECOND = 1_000

/** Creates the view of a decision topic: the operations of the inner view, plus the results of commands. */
export function decisionView<V>(inner: View<string, V>, now: () => number = Date.now): View<string, Decision<V>> {
  function operationsFor(partition: number, key: string, decision: Decision<V> | null, context?: ViewContext): ViewOperation[] {
    if (decision === null || decision.result === null) return inner.operationsFor(partition, key, decision?.view ?? null, context)
    return resultOperations(inner.name, partition, decision.result, now())
  }

  function heldKey(partition: number, key: string, decision: Decision<V> | null): string | undefined {
    return decision === null || decision.result === null ? inner.heldKey?.(partition, key, decision?.view ?? null) : undefined
  }

  const view = { name: inner.name, isAwaited: true, operationsFor }
  return inner.heldKey === undefined ? view : { ...view, heldKey }
}

/**
 * Returns the operations that publish and store a result. Conflicts are not stored, nor are results that have expired,
 * for example while a view is rebuilt.
 */
function resultOperations(view: string, partition: number, result: CommandResult, now: number): ViewOperation[] {
  const { command_id, reply_to, outcome, answer, request_hash, decided_at } = result
  const message = `${command_id} ${outcome} ${answer}`
  const publish: ViewOperation = { op: 'publish', channel: RESULT_CHANNEL_PREFIX + reply_to, message }
  if (outcome === 'conflict') return [publish]
  const key = keyOf(view, partition, command_id)
  const keptMs = RESULT_KEPT_MS - (now - decided_at)
  if (keptMs < MS_PER_SECOND) return [publish]
  const seconds = Math.ceil(Math.min(keptMs, RESULT_KEPT_MS) / MS_PER_SECOND)
  return [{ op: 'set', key, value: `${request_hash} ${answer}` }, { op: 'expire', key, seconds }, publish]
}

export interface StoredResult {
  readonly requestHash: string
  /** The answer as JSON. */
  readonly answer: string
}

export async function readResult(
  reader: ViewReader,
  view: string,
  partition: number,
  commandId: string,
): Promise<StoredResult | undefined> {
  const value = await reader.get(keyOf(view, partition, commandId))
  if (value === null) return undefined
  const space = value.indexOf(' ')
  return { requestHash: value.slice(0, space), answer: value.slice(space + 1) }
}

export interface ResultMessage {
  readonly commandId: string
  readonly outcome: CommandResult['outcome']
  /** The answer as JSON; empty when the outcome is a conflict. */
  readonly answer: string
}

export function parseResultMessage(text: string): ResultMessage {
  const [commandId, outcome] = text.split(' ', 2)
  return { commandId, outcome: outcome as ResultMessage['outcome'], answer: text.slice(commandId.length + outcome.length + 2) }
}

function keyOf(view: string, partition: number, commandId: string): string {
  return `${viewTag(view, partition)}:result:${commandId}`
}
