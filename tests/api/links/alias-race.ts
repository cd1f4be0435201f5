import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { type LinksSystem, type Sent, send, visit } from './system.ts'

/** Many callers, each with a different URL, compete for one alias. */
export interface AliasRace {
  /** Adds concurrent callers, each with a separate idempotency key. */
  enter(callers: number): void
  /** Number of callers with a response so far. */
  readonly answered: number
  /**
   * Resolves when every caller has a response. Checks that exactly one caller has won, that repeated requests get the
   * same outcome, and that every API redirects to the URL of the winner.
   * @returns the URL of the winner
   */
  finish(): Promise<string>
}

const RETRY_MS = 200
/** Time limit for the last response, counted from the end of the faults. */
const GIVE_UP_MS = 120_000
/**
 * Number of callers that repeat their request at the end. One of them is the winner. Each must get the same status as
 * before.
 */
const ASKED_AGAIN = 20

export function aliasRace(system: LinksSystem, alias: string): AliasRace {
  const answers: Promise<Sent>[] = []
  let answered = 0
  /**
   * Time at which callers give up. They do not give up before `finish` is called, because faults may last until then.
   */
  let giveUpAt = Infinity

  /**
   * Returns the address of a caller. Each caller has a separate address, because the repetitions of all callers during
   * a fault would exceed the rate limit of one address.
   */
  const addressOf = (caller: number) => `10.201.${caller >> 8}.${caller & 255}`
  const urlOf = (caller: number) => `https://example.com/${alias}/${caller}`

  function ask(caller: number, attempt: number): Promise<Sent> {
    const api = system.apis[(caller + attempt) % system.apis.length]
    const body = { long_url: urlOf(caller), custom_alias: alias }
    return send(api, 'POST', '/api/v1/urls', body, {
      'idempotency-key': `${alias}-${caller}`,
      'x-forwarded-for': addressOf(caller),
    })
  }

  /**
   * Sends the request of a caller. After a 503 or a failed connection, retries it with the same key through another
   * instance.
   */
  async function untilAnswered(caller: number): Promise<Sent> {
    for (let attempt = 0; ; attempt++) {
      const answer = await ask(caller, attempt).catch(() => undefined)
      if (answer !== undefined && answer.status !== 503) {
        answered++
        return answer
      }
      if (Date.now() > giveUpAt) throw new Error(`caller ${caller} never got a final response: ${JSON.stringify(answer?.body)}`)
      await delay(RETRY_MS)
    }
  }

  return {
    enter(callers) {
      const first = answers.length
      for (let index = 0; index < callers; index++) answers.push(untilAnswered(first + index))
    },
    get answered() {
      return answered
    },
    async finish() {
      giveUpAt = Date.now() + GIVE_UP_MS
      const all = await Promise.all(answers)
      const made = all.flatMap((answer, caller) => (answer.status === 201 ? [caller] : []))
      expect(made).toHaveLength(1)
      const [winner] = made
      for (const [caller, answer] of all.entries())
        if (caller !== winner) expect([answer.status, answer.body.error]).toEqual([409, 'alias_taken'])
      const again = await Promise.all(Array.from({ length: ASKED_AGAIN }, (_, index) => ask((winner + index) % all.length, index)))
      expect(again.map(({ status }) => status)).toEqual([201, ...Array.from({ length: ASKED_AGAIN - 1 }, () => 409)])
      expect(again[0].body).toEqual(all[winner].body)
      for (const api of system.apis) expect(await visit(api, alias)).toMatchObject({ status: 302, location: urlOf(winner) })
      return urlOf(winner)
    },
  }
}
