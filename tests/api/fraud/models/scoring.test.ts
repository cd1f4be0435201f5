import { expect, test } from 'vitest'
import { challengerFailures } from '../../../../api/fraud/models/process/challenger-failures.ts'
import type { LoadedModel } from '../../../../api/fraud/models/process/model.ts'
import { scoreBatch } from '../../../../api/fraud/models/process/scoring.ts'
import { INPUT_FIELDS } from '../../../../schemas/fraud/models/inputs.ts'

/** @param score the score that the model returns for every row, or the error that it throws */
function modelOf(score: number | Error): LoadedModel {
  const manifest = { alone: {} } as LoadedModel['manifest']
  return {
    manifest,
    slots: [],
    async score(_rows, count) {
      if (typeof score !== 'number') throw score
      return new Float32Array(count).fill(score)
    },
    release: async () => undefined,
  }
}

const CHAMPION = { account_takeover: 0.25, payment_fraud: 0.25, money_laundering: 0.25 }

test('a challenger that fails has no effect on the scores of the champion', async () => {
  const failure = new Error('The index is out of range.')
  const models = new Map([
    [0, modelOf(0.25)],
    [1, modelOf(0.125)],
    [2, modelOf(failure)],
  ])
  const failures: Error[] = []
  async function scoresWith(challenger: readonly number[]) {
    const rows = new Float32Array(2 * INPUT_FIELDS.length)
    const request = { champion: [0, 0, 0], challenger, isChallengers: [true, false], rows }
    const found = await scoreBatch(models, request, (error) => void failures.push(error))
    return found.map(({ champion, challenger: other }) => [champion, other?.payment_fraud])
  }
  expect(await scoresWith([1, 1, 1])).toEqual([
    [CHAMPION, 0.125],
    [CHAMPION, undefined],
  ])
  expect(await scoresWith([1, 2, 1])).toEqual([
    [CHAMPION, undefined],
    [CHAMPION, undefined],
  ])
  expect(failures).toEqual([failure])
})

test('the first failure of each challenger is reported, even if another challenger has failed before', () => {
  const lines: string[] = []
  const failed = challengerFailures((line) => void lines.push(line))
  failed([0, 3, 2], new Error('one'))
  failed([0, 3, 2], new Error('two'))
  failed([0, 4, 2], new Error('three'))
  expect(lines.map((line) => line.split(': ')[1])).toEqual(['one', 'three'])
})
