import type { AnsweredCase, CaseAnswer } from '../../../schemas/fraud/cases/flow.ts'
import { isFinal, mayFollow, statusAfter } from '../../../schemas/fraud/cases/transitions.ts'
import type { FraudCase, FraudCaseCommand, FraudCaseEntry, FraudReview, FraudVerdict } from '../../../schemas/fraud/types.ts'
import type { Decided } from '../../engine/index.ts'

/**
 * Maximum number of changes that a case keeps, and maximum number of characters in the notes and evidence of these
 * changes. The newest changes are kept. Within these limits, the kept changes fit into one record.
 */
const MAX_HISTORY = 50
const MAX_HISTORY_CHARACTERS = 200_000

export interface CaseFacts {
  /** Time of the decision, epoch ms. */
  readonly now: number
  /** Returns the id of a new case. Called at most once. */
  newId(): string
}

type CaseDecision = Decided<FraudCase, CaseAnswer>

export function openedCase(transaction: FraudReview, { now, newId }: CaseFacts): FraudCase {
  const opened: FraudCaseEntry = {
    at: now,
    actor: null,
    action: 'OPENED',
    status: 'OPEN',
    assigned_to: null,
    verdict: null,
    reporter: null,
    previous_verdict: null,
    previous_at: null,
    fraud_type: null,
    notes: '',
    evidence: [],
  }
  return {
    case_id: newId(),
    version: 1,
    transaction,
    status: 'OPEN',
    assigned_to: null,
    fraud_type: null,
    notes: '',
    verdict: null,
    verdict_at: null,
    created_at: now,
    updated_at: now,
    resolved_at: null,
    is_archived: false,
    history: [opened],
  }
}

/**
 * Decides a request from an analyst. If the state contains no case, the archived case in the request is restored, or a
 * case is opened for the transaction in the request.
 */
export function decideCase(known: FraudCase | undefined, command: FraudCaseCommand, facts: CaseFacts): CaseDecision {
  const restored = restoredCase(command)
  // A command that names a case must not change the case of a later payment with the same transaction id.
  if (known !== undefined && command.case_id !== null && known.case_id !== command.case_id) {
    return restored === undefined ? { answer: { outcome: 'not_found' } } : refused('no_transition', restored)
  }
  const before = known ?? restored ?? (command.transaction === null ? undefined : openedCase(command.transaction, facts))
  if (before === undefined) return { answer: { outcome: 'not_found' } }
  if (command.version !== null && command.version !== before.version) return refused('other_version', before)

  const verdict = command.verdict ?? verdictOf(command)
  const status = verdict === undefined ? (command.status ?? before.status) : statusAfter(verdict)
  const corrects = isFinal(before.status) && status !== before.status
  // Only the verdict SUSPICIOUS may reopen a closed case.
  if (!mayFollow(before.status, status) && verdict !== 'SUSPICIOUS') return refused('no_transition', before)
  if (corrects && (command.notes ?? '').trim() === '') return refused('needs_note', before)

  const after = changed(before, command, { status, verdict, now: facts.now })
  const answer: CaseAnswer = { outcome: 'done', found: answered(after) }
  return after === before ? { answer } : { answer, state: after }
}

/**
 * Returns the verdict that corresponds to the requested status; undefined for a status that does not close the case.
 */
function verdictOf({ status }: FraudCaseCommand): FraudVerdict | undefined {
  return status !== null && isFinal(status) ? status : undefined
}

/**
 * Returns the archived case that a request contains; undefined if it contains none. Closed cases are removed from the
 * state after a while, so a later request about such a case contains the case itself.
 */
function restoredCase({ archived }: FraudCaseCommand): FraudCase | undefined {
  return archived === null ? undefined : { ...(JSON.parse(archived) as FraudCase), is_archived: false }
}

interface Outcome {
  readonly status: FraudCase['status']
  readonly verdict: FraudVerdict | undefined
  readonly now: number
}

/** Returns the changed case, or the same object if the request changes nothing. */
function changed(before: FraudCase, command: FraudCaseCommand, { status, verdict, now }: Outcome): FraudCase {
  const values = {
    status,
    assigned_to: command.assigned_to === null ? before.assigned_to : command.assigned_to.text,
    fraud_type: command.fraud_type === null ? before.fraud_type : command.fraud_type.text,
    notes: command.notes ?? before.notes,
  }
  // The feedback about a confirmed fraud names the kind of fraud, so the verdict must be emitted again when the kind
  // changes.
  const relabels = before.verdict !== null && values.fraud_type !== before.fraud_type
  const given = verdict ?? (relabels ? before.verdict : null)
  const at = given === null ? now : Math.max(now, timeOfLastVerdict(before) + 1)
  const isSame = Object.entries(values).every(([name, value]) => before[name as keyof typeof values] === value)
  if (given === null && isSame) return before
  const entry: FraudCaseEntry = {
    at,
    actor: command.actor,
    action: given === null ? 'CHANGED' : 'VERDICT',
    status,
    assigned_to: values.assigned_to,
    verdict: given,
    reporter: given === null ? null : command.reporter,
    previous_verdict: given === null ? null : before.verdict,
    previous_at: given === null ? null : before.verdict_at,
    fraud_type: values.fraud_type,
    notes: command.notes ?? '',
    evidence: command.evidence,
  }
  const isClosed = isFinal(status)
  return {
    ...before,
    ...values,
    version: before.version + 1,
    verdict: given ?? before.verdict,
    // Profiles count a fraud at the time of its verdict. A repeated verdict keeps the time of the first one, because a
    // correction must subtract the fraud at that time.
    verdict_at: given === null || given === before.verdict ? before.verdict_at : at,
    updated_at: at,
    resolved_at: isClosed ? (given === null ? before.resolved_at : at) : null,
    history: newest([...before.history, entry]),
  }
}

/**
 * Returns the time of the last verdict about a case, epoch ms; 0 if there is none. Readers take the newest verdict as
 * the label of the transaction. Each verdict must therefore be later than the previous one, even if both are given in
 * the same millisecond or the clock goes back.
 */
function timeOfLastVerdict({ history }: FraudCase): number {
  return history.findLast(({ verdict }) => verdict !== null)?.at ?? 0
}

/** Returns the newest changes that fit into the limits, and always at least the last change. */
function newest(history: readonly FraudCaseEntry[]): FraudCaseEntry[] {
  let characters = 0
  let from = history.length
  while (from > 0 && history.length - from < MAX_HISTORY) {
    const { notes, evidence } = history[from - 1]
    characters += notes.length + evidence.reduce((sum, item) => sum + item.length, 0)
    if (characters > MAX_HISTORY_CHARACTERS && from < history.length) break
    from--
  }
  return history.slice(from)
}

function refused(outcome: 'no_transition' | 'needs_note' | 'other_version', before: FraudCase): CaseDecision {
  return { answer: { outcome, found: answered(before) } }
}

/** Returns the case without its history. Answers are stored for repeated requests, so they have to be small. */
function answered({ history: _history, ...rest }: FraudCase): AnsweredCase {
  return rest
}
