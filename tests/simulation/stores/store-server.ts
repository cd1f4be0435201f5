import { TargetUnavailableError } from '../../../state/unavailable.ts'
import type { Chance } from '../chance.ts'
import { type Actor, actor, type Scheduler } from '../scheduler.ts'

/** How long a request or its answer is in transit, ms. */
const LATENCY_MS = [0.1, 3] as const
/** Share of requests that are lost. */
const SHARE_LOST = 0.02
/** Share of requests that the server carries out but does not answer. */
const SHARE_UNANSWERED = 0.02
/** Share of requests that fail for the client, but that the server carries out later. */
const SHARE_LATE = 0.02
const LATE_MS = [5, 1_500] as const

/** A simulated Redis or ClickHouse server. Until the faults of a run end, requests may be lost, late or unanswered. */
export class StoreServer {
  readonly #scheduler: Scheduler
  readonly #chance: Chance
  readonly #actor: Actor
  #downUntil = 0
  #isReliable = false

  constructor(name: string, scheduler: Scheduler) {
    this.#scheduler = scheduler
    this.#chance = scheduler.chance(name)
    this.#actor = actor(name)
  }

  goDown(ms: number): void {
    this.#downUntil = this.#scheduler.now() + ms
  }

  mend(): void {
    this.#downUntil = 0
    this.#isReliable = true
  }

  /**
   * Carries out one atomic step.
   * @throws TargetUnavailableError if the outcome is unknown or the step was not carried out
   */
  request<Result>(client: Actor, what: string, step: () => Result): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const latency = () => this.#chance.between(...LATENCY_MS)
    const answer = (label: string, give: () => void) => void this.#scheduler.after(latency(), client, `${what} ${label}`, give)
    const fail = (reason: string) => answer(reason, () => reject(new TargetUnavailableError(reason)))
    const fate = this.#isReliable ? 1 : this.#chance.random()
    this.#scheduler.after(latency(), this.#actor, what, () => {
      if (this.#scheduler.now() < this.#downUntil) return fail('is refused')
      if (fate < SHARE_LOST) return fail('is lost')
      if (fate < SHARE_LOST + SHARE_LATE) {
        this.#scheduler.after(this.#chance.between(...LATE_MS), this.#actor, `${what} late`, () => void step())
        return fail('is late')
      }
      const result = step()
      if (fate < SHARE_LOST + SHARE_LATE + SHARE_UNANSWERED) return fail('is unanswered')
      answer('is answered', () => resolve(result))
    })
    return promise
  }
}
