import { expect, onTestFinished, test } from 'vitest'
import { threadComparer } from '../../../../api/snippets/diff/comparer.ts'

const names = { from: 'a', to: 'b' }
const linesOf = (word: string) => Array.from({ length: 20_000 }, (_, index) => `${word} ${(index * 7_919) % 20_011}`).join('\n')

test('texts are compared by lines in a thread, and changes are returned with their context', async () => {
  const comparer = threadComparer()
  onTestFinished(() => comparer.close())
  const patch = await comparer.ask({ ...names, before: 'one\ntwo\nthree\n', after: 'one\n2\nthree\n' })
  expect(patch).toMatchObject({ added: 1, removed: 1 })
  expect(patch?.diff).toContain(' one\n-two\n+2\n three\n')
  expect(await comparer.ask({ ...names, before: linesOf('red'), after: linesOf('blue') })).toBeNull()
})

test('of 30 concurrent comparisons, 20 are refused and the other 10 are completed', async () => {
  const comparer = threadComparer()
  onTestFinished(() => comparer.close())
  const asked = Array.from({ length: 30 }, (_, index) => comparer.ask({ ...names, before: 'x\n', after: `${index}\n` }))
  const answers = await Promise.all(asked)
  expect(answers.filter((answer) => answer === undefined)).toHaveLength(20)
  expect(answers.filter((answer) => answer?.added === 1)).toHaveLength(10)
  expect(await comparer.ask({ ...names, before: 'x', after: 'x' })).toMatchObject({ added: 0, removed: 0 })
})
