import { expect, test } from 'vitest'
import { compositeKey, textPart, u32Part } from '../../../schemas/composite.ts'
import { utf8 } from '../../../schemas/keys.ts'
import { joinBufferStore } from '../../../state/stores/join-buffer-store.ts'
import { memoryBackend } from '../../../state/stores/memory-backend.ts'
import { packedStore } from '../../../state/stores/packed-store.ts'
import { openStore, raw } from './harness.ts'

interface Pair {
  readonly name: string
  readonly number: number
}

/** Returns `undefined` typed as a key, like a missing field or an array element beyond the end. */
function missing<K>(): K {
  return undefined as K
}

test('a missing key is refused, and is not mistaken for the key that a packed store used last', () => {
  const key = compositeKey<Pair>({ name: textPart, number: u32Part })
  const store = openStore(packedStore('pairs', { key, value: raw(utf8) }), memoryBackend())
  store.put({ name: 'ann', number: 1 }, 'of ann')
  expect(() => store.get(missing())).toThrow()
  expect(() => store.put(missing(), 'of nobody')).toThrow()
  expect(store.get({ name: 'ann', number: 1 })).toBe('of ann')
})

test('a missing key is refused even if it is the first key', () => {
  const packed = openStore(packedStore('texts', { key: utf8, value: raw(utf8) }), memoryBackend())
  expect(() => packed.put(missing(), 'of nobody')).toThrow('text was expected, not undefined')
  const buffer = openStore(joinBufferStore('buffer', { key: utf8, value: 'string', spanMs: 1_000 }), memoryBackend())
  expect(() => buffer.add(missing(), 1, 'of nobody')).toThrow('text was expected, not undefined')
})
