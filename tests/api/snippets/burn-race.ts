import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Asked, SnippetStack } from './stack.ts'

/** Many readers, each with a separate key, compete for a snippet with fewer remaining reads than readers. */
export interface BurnRace {
  /** Adds concurrent readers. */
  enter(readers: number): void
  /**
   * Resolves when every reader has a response. Checks that exactly as many readers got the content as the snippet had
   * reads, that all others got a 404, and that repeated requests get the same responses.
   */
  finish(): Promise<void>
}

const RETRY_MS = 200
/** Time limit for the last response, counted from the end of the faults. */
const GIVE_UP_MS = 120_000
/** The client address of all requests. It is always the same, because an idempotency key belongs to one caller. */
const ADDRESS = { 'x-forwarded-for': '10.200.0.3' }

export async function burnRace(stack: SnippetStack, name: string, reads: number): Promise<BurnRace> {
  const content = `the secret of ${name}`
  const made = await stack.create({ content, burn_after_reads: reads })
  expect(made.status).toBe(201)
  const path = `/api/v1/pastes/${made.body.paste_id}`
  const answers: Promise<Asked>[] = []
  /**
   * Time at which readers give up. They do not give up before `finish` is called, because faults may last until then.
   */
  let giveUpAt = Infinity

  /** Sends a reader's request. Every other reader requests the raw text. */
  function ask(reader: number, attempt: number): Promise<Asked> {
    const headers = { ...ADDRESS, 'idempotency-key': `${name}-${reader}` }
    const api = stack.apis[(reader + attempt) % stack.apis.length]
    return stack.send('GET', reader % 2 === 0 ? path : `${path}/raw`, { headers, api })
  }

  /**
   * Sends the request of a reader. After a 503 or a failed connection, retries it with the same key through another
   * instance.
   */
  async function untilAnswered(reader: number): Promise<Asked> {
    for (let attempt = 0; ; attempt++) {
      const answer = await ask(reader, attempt).catch(() => undefined)
      if (answer !== undefined && answer.status !== 503) return answer
      if (Date.now() > giveUpAt) throw new Error(`reader ${reader} never got a final response: ${answer?.text}`)
      await delay(RETRY_MS)
    }
  }

  function contentOf({ body, text }: Asked): string {
    return body === undefined ? text : body.content
  }

  return {
    enter(readers) {
      const first = answers.length
      for (let index = 0; index < readers; index++) answers.push(untilAnswered(first + index))
    },
    async finish() {
      giveUpAt = Date.now() + GIVE_UP_MS
      const all = await Promise.all(answers)
      const readers = all.filter(({ status }) => status === 200)
      expect(readers.map(contentOf)).toEqual(Array.from({ length: reads }, () => content))
      const others = all.filter(({ status }) => status !== 200)
      for (const { status, body } of others) expect([status, body.error]).toEqual([404, 'paste_not_found'])
      giveUpAt = Date.now() + GIVE_UP_MS
      const again = await Promise.all(all.map((_, reader) => untilAnswered(reader)))
      const essence = ({ status, text, body }: Asked) => [status, status === 200 ? (body ?? text) : body.error]
      expect(again.map(essence)).toEqual(all.map(essence))
      for (const api of stack.apis) expect((await stack.send('GET', path, { api })).status).toBe(404)
    },
  }
}
