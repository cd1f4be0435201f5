import { constants, setPriority } from 'node:os'
import { compileRuleSet } from '../../../../schemas/fraud/rules/rule-set.ts'
import type { SnoozedPeriod } from '../../../../schemas/fraud/rules/snoozes.ts'
import { openLoggedTransactions } from '../../../../state/tables/fraud/logged.ts'
import { connectTables } from '../../../kit/clickhouse.ts'
import { ApiError } from '../../../kit/errors.ts'
import { replayLog } from '../replay-log.ts'
import type { FromReplayProcess, ReplayOrder, ToReplayProcess } from './messages.ts'

/**
 * Main module of a process that runs one back-test. The process has a low priority, so that scoring gets the CPU first.
 * The process ends when the process that started it ends.
 */
const lists = new Map<string, ReadonlySet<string>>()
const snoozes = new Map<string, ReadonlyMap<string, SnoozedPeriod>>()
let order: ReplayOrder | undefined

function send(message: FromReplayProcess): Promise<void> {
  return new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()))
}

async function run({ version, rules, policy, query, clickhouse }: ReplayOrder): Promise<FromReplayProcess> {
  const tables = connectTables(clickhouse)
  try {
    const basis = { ruleSet: compileRuleSet(version, rules), lists, snoozes, policy }
    const found = await replayLog(
      basis,
      openLoggedTransactions(tables.reader),
      query,
      (progress) => void send({ kind: 'progress', progress }),
    )
    return { kind: 'done', ...found }
  } catch (error) {
    // The messages of other errors may contain addresses of servers, or pieces of code.
    return { kind: 'failed', reason: (error as Error).message, isPublic: error instanceof ApiError }
  } finally {
    await tables.close()
  }
}

setPriority(constants.priority.PRIORITY_LOW)
process.on('disconnect', () => process.exit())
process.on('message', async (message: ToReplayProcess) => {
  if (message.kind === 'order') order = message.order
  else if (message.kind === 'list') lists.set(message.name, message.values)
  else if (message.kind === 'snoozes') snoozes.set(message.ruleId, message.periods)
  else {
    await send(await run(order!))
    process.disconnect?.()
  }
})
