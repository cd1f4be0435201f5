import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { type LinksSystem, type Sent, send, visit } from './system.ts'

/** Many callers, each with a URL of its own, want one alias. */
export interface AliasRace {
  /** So many more callers come, each with an id of its own, all at once. */
  enter(callers: number): void
  /** Answers so far. */
  readonly answered: number
  /** Resolves when everybody is answered. @returns the URL of the one who got the alias, after looking that nobody else did */
  finish(): Promise<string>
}

const RETRY_MS = 200
/** Every caller is answered within it once nothing is killed any more. */
const GIVE_UP_MS = 120_000
/** Callers who ask again at the end: the first answer stays. */
const ASKED_AGAIN = 20

export function aliasRace(system: LinksSystem, alias: string): AliasRace {
  const answers: Promise<Sent>[] = []
  let answered = 0
  /** Kills go on until `finish`. */
  let giveUpAt = Infinity

  const urlOf = (caller: number) => `https://example.com/${alias}/${caller}`

  function ask(caller: number, attempt: number): Promise<Sent> {
    const api = system.apis[(caller + attempt) % system.apis.length]
    const body = { long_url: urlOf(caller), custom_alias: alias }
    return send(api, 'POST', '/api/v1/urls', body, { 'idempotency-key': `${alias}-${caller}` })
  }

  /** Repeats a 503, and what was not answered at all, with the same id, through another instance. */
  async function untilAnswered(caller: number): Promise<Sent> {
    for (let attempt = 0; ; attempt++) {
      const answer = await ask(caller, attempt).catch(() => undefined)
      if (answer !== undefined && answer.status !== 503) {
        answered++
        return answer
      }
      if (Date.now() > giveUpAt) throw new Error(`caller ${caller} was never answered: ${JSON.stringify(answer?.body)}`)
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
