import type { Logs } from './evidence.ts'
import type { DecidedPairCommand } from './pair-fold.ts'

/** Returns the decided commands in log order, without repetitions. */
export function decidedCommands({ pairCommands, pairDecisions }: Logs): DecidedPairCommand[] {
  const results = new Map(pairDecisions.flatMap(({ value }) => (value.result === null ? [] : [[value.result.command_id, value.result]])))
  const first = new Map(pairCommands.toReversed().map(({ value }) => [value.command_id, value]))
  return pairCommands.flatMap(({ value }) => {
    const result = results.get(value.command_id)
    if (result === undefined || result.outcome !== 'decided' || first.get(value.command_id) !== value) return []
    const { outcome, changed_at = result.decided_at } = JSON.parse(result.answer) as { outcome: string; changed_at?: number }
    return [{ command: value.body, decidedAt: changed_at, outcome }]
  })
}
