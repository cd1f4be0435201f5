import { expect, it } from 'vitest'
import { atMost } from '../../../../../api/catalog/search/engine/at-most.ts'

it('work above the limit gets 503 unavailable, until earlier work has ended or failed', async () => {
  const running = new Map<string, PromiseWithResolvers<string>>()
  const work = atMost(2, (name: string) => {
    const piece = Promise.withResolvers<string>()
    running.set(name, piece)
    return piece.promise
  })
  const refused = expect.objectContaining({ definition: expect.objectContaining({ code: 'unavailable', status: 503 }) })
  const [first, second] = [work('first'), work('second')]
  await expect(work('third')).rejects.toEqual(refused)
  expect(running.has('third')).toBe(false)
  running.get('first')!.resolve('found')
  expect(await first).toBe('found')
  const fourth = work('fourth')
  running.get('second')!.reject(new Error('failed'))
  await expect(second).rejects.toThrow('failed')
  const fifth = work('fifth')
  await expect(work('sixth')).rejects.toEqual(refused)
  for (const name of ['fourth', 'fifth']) running.get(name)!.resolve(name)
  expect(await Promise.all([fourth, fifth])).toEqual(['fourth', 'fifth'])
})
