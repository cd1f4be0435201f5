import { patientTimer } from '../../../runtime/patient-timer.ts'
import type { CancelTimer } from '../../../runtime/runtime.ts'
import { INPUT_FIELDS, type ModelInput, writeInputs } from '../../../schemas/fraud/models/inputs.ts'
import { isChallengersShare } from '../../../schemas/fraud/models/share.ts'
import type { ChildLink } from '../../kit/child/link.ts'
import { BUSY_MS } from '../busy.ts'
import type { ModelOutcome } from '../in-force.ts'
import type { Circuit } from './circuit.ts'
import type { ActiveModels } from './loading.ts'
import type { ModelTelemetry, Unscored } from './telemetry.ts'
import { decodeScores, encodeScoreRequest, KIND, type RowScores } from './wire.ts'

/** Time limit for the models' answer. While this process is busy, the limit is extended to at most `BUSY_MS`. */
export const SCORE_LIMIT_MS = 30
/**
 * Maximum number of unanswered transactions, including those whose callers no longer wait. The models could not answer
 * a longer backlog in time. At 2,000 transactions a second, only 60 arrive within the time limit of 30 ms.
 */
const MOST_WAITING = 512

export interface BatchOptions {
  /** Returns the process and the models that score now; undefined if there are none. */
  current(): { readonly child: ChildLink; readonly models: ActiveModels } | undefined
  readonly circuit: Circuit
  readonly telemetry: ModelTelemetry
  readonly timers: {
    setTimer(ms: number, callback: () => void): CancelTimer
    /** Calls `callback` after all requests of this turn of the event loop have been read. */
    afterTurn(callback: () => void): void
    monotonic(): number
  }
}

interface Waiting {
  readonly input: ModelInput
  readonly resolve: (outcome: ModelOutcome | undefined) => void
}

/** The transactions of one turn. */
interface Batch {
  readonly transactions: Waiting[]
  /** Whether the time limit has passed. The callers then no longer wait, and the transactions are counted as late. */
  isLate: boolean
}

/**
 * Returns a function that scores transactions. All calls in one turn of the event loop share a batch. The function
 * never rejects.
 */
export function modelBatches({ current, circuit, telemetry, timers }: BatchOptions) {
  let turn: Batch | undefined
  /** Number of transactions that the model process has not answered, including those whose callers no longer wait. */
  let unanswered = 0

  function send(batch: Batch, cancelLimit: CancelTimer): void {
    const { transactions } = batch
    const now = current()
    if (now === undefined) {
      cancelLimit()
      none('away', transactions)
      return
    }
    const { child, models } = now
    const rows = new Float32Array(transactions.length * INPUT_FIELDS.length)
    for (const [index, { input }] of transactions.entries()) writeInputs(input, rows, index * INPUT_FIELDS.length)
    const hasChallenger = models.challenger !== undefined
    const isChallengers = transactions.map(({ input }) => hasChallenger && isChallengersShare(input.request.transaction_id))
    const { champion, challenger } = models
    const start = timers.monotonic()
    unanswered += transactions.length
    child.request(KIND.score, encodeScoreRequest({ champion, challenger, isChallengers, rows })).then(
      (answer) => {
        unanswered -= transactions.length
        const ms = timers.monotonic() - start
        telemetry.answered(transactions.length, ms / 1_000)
        if (ms <= SCORE_LIMIT_MS) circuit.inTime()
        cancelLimit()
        const results = scoresIn(answer, transactions.length)
        if (results === undefined) {
          child.kill()
          if (!batch.isLate) none('away', transactions)
          return
        }
        for (const [index, { resolve }] of transactions.entries()) {
          const { champion: scores, challenger: others, factors } = results[index]
          resolve({ scores, versions: models.versions, policy: models.policy, challenger: others, factors })
        }
      },
      () => {
        unanswered -= transactions.length
        cancelLimit()
        if (!batch.isLate) none('away', transactions)
      },
    )
  }

  function none(why: Unscored, transactions: readonly Waiting[]): void {
    telemetry.unscored(why, transactions.length)
    for (const { resolve } of transactions) resolve(undefined)
  }

  function whyNot(): Unscored | undefined {
    if (current() === undefined) return 'away'
    if (circuit.isOpen) return 'circuit_open'
    return unanswered + (turn?.transactions.length ?? 0) >= MOST_WAITING ? 'too_many' : undefined
  }

  return function score(input: ModelInput): Promise<ModelOutcome | undefined> {
    const { promise, resolve } = Promise.withResolvers<ModelOutcome | undefined>()
    const waiting = { input, resolve }
    const why = whyNot()
    if (why !== undefined) {
      none(why, [waiting])
    } else if (turn !== undefined) {
      turn.transactions.push(waiting)
    } else {
      const batch: Batch = { transactions: [waiting], isLate: false }
      turn = batch
      const cancelLimit = patientTimer(timers, SCORE_LIMIT_MS, BUSY_MS, () => {
        batch.isLate = true
        circuit.late()
        none('late', batch.transactions)
      })
      timers.afterTurn(() => {
        turn = undefined
        send(batch, cancelLimit)
      })
    }
    return promise
  }
}

/** Decodes an answer of the model process; undefined if it is damaged. */
function scoresIn(answer: Buffer, count: number): RowScores[] | undefined {
  try {
    return decodeScores(answer, count)
  } catch {
    return undefined
  }
}
