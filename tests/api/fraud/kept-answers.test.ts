import { expect, test } from 'vitest'
import { keptAnswers } from '../../../api/fraud/score/kept-answers.ts'
import type { TxnScored } from '../../../schemas/fraud/types.ts'
import { answerBytes, answerFromBytes } from '../../../state/views/fraud/kept-answers.ts'
import { pay } from '../../schemas/fraud/payments.ts'
import { LOW_RISK, scoreWorld } from './score-world.ts'

/** Returns the bytes of an answer in an unknown version of the format. */
const foreignAnswer = (format: number) => Buffer.from([1, 255, format])

async function scoredOnce(isBlocked: boolean): Promise<TxnScored> {
  const world = scoreWorld()
  world.state.outcome = LOW_RISK
  if (isBlocked) world.state.blocked = () => 'USER'
  return (await world.score(pay({ id: 't1' }))).scored
}

/**
 * Creates a fake Redis that holds the answer `first`. After each failed attempt to store an answer, another process
 * replaces the stored answer with the next one of `replacements`, until none are left.
 */
function contestedRedis(first: Buffer, ...replacements: Buffer[]) {
  let held = first
  async function run(_script: unknown, _keys: unknown, [value, , replaced]: readonly unknown[]) {
    const before = held
    if (Buffer.isBuffer(replaced) && replaced.equals(before)) {
      held = value as Buffer
      return null
    }
    held = replacements.shift() ?? held
    return before
  }
  const answers = keptAnswers({ scripts: { run } as never, keptMs: 1_000, onFailure: () => expect.fail('Redis responds') })
  return { answers, held: () => answerFromBytes(held) }
}

test('an answer replaces an unreadable answer, even if another process has just replaced it with another unreadable answer', async () => {
  const scored = await scoredOnce(false)
  const { answers, held } = contestedRedis(foreignAnswer(1), foreignAnswer(2))
  expect(await answers.keep(scored, async () => undefined)).toEqual({ state: 'new' })
  expect(held()).toEqual(scored)
})

test('a block by the blocklist replaces an approval that another process has put in place of an unreadable answer', async () => {
  const [approved, blocked] = [await scoredOnce(false), await scoredOnce(true)]
  const { answers, held } = contestedRedis(foreignAnswer(1), answerBytes(approved))
  const audited: TxnScored[] = []
  expect(await answers.keep(blocked, async (earlier) => void audited.push(earlier))).toEqual({ state: 'new' })
  expect([held(), audited]).toEqual([blocked, [approved]])
})
