import { expect, test } from 'vitest'
import { conversationIdOf, matchIdOf, rewindIdOf, swipeIdOf } from '../../../schemas/matches/pair.ts'

const ANN = '11111111-1111-4111-8111-111111111111'
const BOB = '22222222-2222-4222-8222-222222222222'

// Stored matches and swipes contain these ids, so no version may compute different ones.
test('ids of matches, conversations, swipes and rewinds never change', () => {
  expect([matchIdOf(ANN, BOB), matchIdOf(BOB, ANN)]).toEqual(Array(2).fill('b978f49d-e474-5154-93cc-7f8b43980424'))
  expect(conversationIdOf(BOB, ANN)).toBe('6807beaa-4e4d-5fb4-9a89-2d6b1fdb10ed')
  expect(swipeIdOf(ANN, 'key-1')).toBe('27ad4dbb-bcad-5450-9519-6149dfe405f1')
  expect(rewindIdOf(ANN, 'ключ')).toBe('37d6e8bc-cae1-5479-838c-5b7a7b6202b1')
})
