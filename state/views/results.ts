import type { Decision } from '../../schemas/commands/topics.ts'
import type { CommandResult } from '../../schemas/commands/types.ts'
import { type View, type ViewOperation, type ViewReader, viewTag } from './view.ts'

/**
 * Results of commands, beside the view that they changed: one batch applies both, so whoever has the result can read the view.
 *
 * | key or channel | value |
 * |---|---|
 * | `{<view>:<p>}:result:<command_id>` | hash of the request, space, answer as JSON; for RESULT_KEPT_MS |
 * | channel `results:<API instance>` | command id, space, outcome, space, answer as JSON |
 */
export const RESULT_CHANNEL_PREFIX = 'results:'

/** For those who missed the message. Later the deciding partition itself still knows the answer. */
const RESULT_KEPT_MS = 600_000
const MS_PER_SECOND = 1_000

/** What a decision topic means: the inner view's operations, and results. */
export function decisionView<V>(inner: View<string, V>, now: () => number = Date.now): View<string, Decision<V>> {
  function operationsFor(partition: number, key: string, decision: Decision<V> | null): ViewOperation[] {
    if (decision === null || decision.result === null) return inner.operationsFor(partition, key, decision?.view ?? null)
    return resultOperations(inner.name, partition, decision.result, now())
  }

  return { name: inner.name, operationsFor }
}

/** Of a rebuilt view nobody waits for the old ones. */
function resultOperations(view: string, partition: number, result: CommandResult, now: number): ViewOperation[] {
  const { command_id, reply_to, outcome, answer, request_hash, decided_at } = result
  const message = `${command_id} ${outcome} ${answer}`
  const publish: ViewOperation = { op: 'publish', channel: RESULT_CHANNEL_PREFIX + reply_to, message }
  if (outcome === 'conflict') return [publish]
  const key = keyOf(view, partition, command_id)
  const keptMs = RESULT_KEPT_MS - (now - decided_at)
  // Repeated after the time that it is kept: only the one who asks wants it.
  if (keptMs < MS_PER_SECOND) return [publish]
  const seconds = Math.ceil(Math.min(keptMs, RESULT_KEPT_MS) / MS_PER_SECOND)
  return [{ op: 'set', key, value: `${request_hash} ${answer}` }, { op: 'expire', key, seconds }, publish]
}

export interface StoredResult {
  readonly requestHash: string
  /** JSON. */
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
  /** JSON; empty on conflict. */
  readonly answer: string
}

export function parseResultMessage(text: string): ResultMessage {
  const [commandId, outcome] = text.split(' ', 2)
  return { commandId, outcome: outcome as ResultMessage['outcome'], answer: text.slice(commandId.length + outcome.length + 2) }
}

function keyOf(view: string, partition: number, commandId: string): string {
  return `${viewTag(view, partition)}:result:${commandId}`
}
