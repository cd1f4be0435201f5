import { nextCaseId } from '../../../schemas/fraud/cases/case-id.ts'
import { type CaseAnswer, caseFlow } from '../../../schemas/fraud/cases/flow.ts'
import { fraudReviews } from '../../../schemas/fraud/cases/topics.ts'
import { fraudFeedback } from '../../../schemas/fraud/topics.ts'
import type { FraudCase, FraudCaseCommand } from '../../../schemas/fraud/types.ts'
import { avro, type Context, DECIDING, decideCommands, drop, keyedStore, rawValue, timerStore, topology, utf8 } from '../../engine/index.ts'
import { type CaseFacts, decideCase, openedCase } from './decide.ts'
import { feedbackOf } from './feedback.ts'

/**
 * How long closed cases stay in the state. Older closed cases are only in ClickHouse. A request about such a case
 * contains the case and so restores it.
 */
const KEPT_AFTER_CLOSING_MS = 30 * 24 * 3_600_000
/**
 * Minimum time that a case stays in the state after a change. ClickHouse may receive the change much later, for example
 * after an outage. If the state had already dropped the case, a request could restore it without the change, and the
 * change would be lost.
 */
const KEPT_AFTER_CHANGE_MS = 24 * 3_600_000
const ARCHIVE_EVERY_MS = 1_000
const ARCHIVED_PER_TICK = 200

/**
 * Policy for records on which a processor fails or whose output cannot be written. They become dead letters, so that a
 * single bad record does not stop all cases.
 */
const SKIPPED = { process: 'dead-letter', produce: 'dead-letter' } as const
const LAST_ID = 'last'

/**
 * Keeps one case per transaction. A transaction that needs a review, or a request from an analyst, opens the case.
 * Verdicts are emitted as feedback.
 */
export const fraudCasesTopology = topology(
  'fraud-cases',
  function declareCases(t) {
    const cases = keyedStore('cases', { key: utf8, value: avro('fraud/FraudCase') })
    const ids = keyedStore('ids', { key: utf8, value: rawValue(utf8) })
    const closing = timerStore('closing', { key: utf8 })

    /**
     * Returns the facts for a decision. A new id is stored as the last id, in the same commit as its case. If the
     * decision is repeated after a crash, it therefore gets the same id or another unused id.
     */
    function factsOf({ now, partition }: { readonly now: number; readonly partition: number }): CaseFacts {
      function newId(): string {
        const id = nextCaseId(ids.get(LAST_ID), now, partition)
        ids.put(LAST_ID, id)
        return id
      }
      return { now, newId }
    }

    const deciding = decideCommands<FraudCaseCommand, FraudCase, FraudCase, CaseAnswer>(t, {
      flow: caseFlow,
      store: cases,
      decide: (known, command, facts) => decideCase(known, command, factsOf(facts)),
      view: (found) => found,
      changed({ key, after }, ctx) {
        if (after === undefined) return
        if (after.resolved_at === null) closing.cancel(key)
        else closing.schedule(key, Math.max(after.resolved_at + KEPT_AFTER_CLOSING_MS, ctx.now + KEPT_AFTER_CHANGE_MS))
        const feedback = feedbackOf(after)
        if (feedback !== undefined) ctx.emit(fraudFeedback, key, feedback, { timestamp: ctx.now })
      },
      stores: [ids, closing],
      emits: [fraudFeedback],
    })
    const { stores, emits } = deciding

    /** Emits a last record, which marks the case as archived in the table, and removes the case from the state. */
    function archive(now: number, ctx: Context): void {
      for (const { key } of closing.takeDue(now, ARCHIVED_PER_TICK)) {
        const found = cases.get(key)
        if (found === undefined) continue
        const view = { ...found, is_archived: true }
        ctx.emit(caseFlow.decisions, key, { view, result: null }, { partition: ctx.partition, timestamp: ctx.now })
        deciding.change(key, null, ctx)
      }
    }

    deciding.stream.tick('archive', { everyMs: ARCHIVE_EVERY_MS, clock: 'wall', stores, emits }, archive)

    t.source(fraudReviews, { onError: SKIPPED }).process(
      'open-case',
      { reads: (_transaction, key) => cases.prefetch(key), stores, emits },
      function openCase(transaction, ctx) {
        if (cases.get(ctx.key) !== undefined) return drop('case_exists')
        deciding.change(ctx.key, openedCase(transaction, factsOf(ctx)), ctx)
      },
    )
  },
  DECIDING,
)
