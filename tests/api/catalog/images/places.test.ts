import { expect, test } from 'vitest'
import { formPlaces } from '../../../../api/catalog/images/places.ts'

const REFUSED = expect.objectContaining({ definition: expect.objectContaining({ code: 'unavailable' }) })

test('at most four forms from one caller and sixteen from all callers are read at once, and further forms are refused until one of these forms has been read', async () => {
  const places = formPlaces()
  const ends: (() => void)[] = []
  const begin = (caller: string) => places.read(caller, () => new Promise<void>((resolve) => ends.push(resolve)))
  const forms = ['a', 'b', 'c', 'd'].flatMap((caller) => Array.from({ length: 4 }, () => begin(caller)))
  await expect(begin('a')).rejects.toEqual(REFUSED)
  await expect(begin('e')).rejects.toEqual(REFUSED)
  ends[0]()
  await forms[0]
  await expect(begin('b')).rejects.toEqual(REFUSED)
  const next = begin('e')
  for (const end of ends) end()
  await expect(Promise.all([...forms, next])).resolves.toHaveLength(17)
})

test('a failed form no longer counts towards the limit', async () => {
  const places = formPlaces()
  for (let time = 0; time < 20; time++) {
    await expect(places.read('a', () => Promise.reject(new Error('cut off')))).rejects.toThrow('cut off')
  }
  await expect(places.read('a', async () => 1)).resolves.toBe(1)
})
