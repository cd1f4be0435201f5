import { describe, expect, it } from 'vitest'
import { headOf, wordsOf } from '../../../../state/indexes/catalog/words.ts'
import { endsInTime } from '../../../ends-in-time.ts'

const texts = (text: string) => wordsOf(text).map((word) => word.text)

describe('words', () => {
  it.each([
    ['1/2 in. pipe', ['1/2', '1/2in', 'pipe']],
    ['half inch pipe', ['1/2', '1/2in', 'pipe']],
    ['1/2" pipe', ['1/2', '1/2in', 'pipe']],
    ['1 1/2in pipe', ['1-1/2', '1-1/2in', 'pipe']],
    ['4x8 board', ['4', 'x', '8', 'board']],
    ['4 ft. x 8 ft. board', ['4', '4ft', 'x', '8', '8ft', 'board']],
    ["4' x 8'", ['4', '4ft', 'x', '8', '8ft']],
    ['10,000 BTU', ['10000', '10000btu']],
    ['18V drill', ['18', '18volt', 'drill']],
    ['1.9 cu. ft. oven', ['1.9', '1.9cuft', 'oven']],
    ['20 square feet', ['20', '20sqft']],
    ['.5 gal', ['0.5', '0.5gal']],
    ['DeckOver Crème', ['deckover', 'creme']],
    ["Scott's BLACK+DECKER", ['scotts', 'black', 'decker']],
    ['5 pounds', ['5', '5lb']],
    ['500g oats', ['500', '500gram', 'oats']],
    ['500 g oats', ['500', '500gram', 'oats']],
    ['500 Grams oats', ['500', '500gram', 'oats']],
    ['4.5l pan', ['4.5', '4.5litre', 'pan']],
    ['4.5-Liter pan', ['4.5', '4.5litre', 'pan']],
    ['250 milliliters', ['250', '250ml']],
    ['20mg', ['20', '20mg']],
    ['2 kilowatts', ['2', '2kw']],
    ['2150mAh', ['2150', '2150mah']],
    ['60 hertz', ['60', '60hz']],
    ['3M tape', ['3m', 'tape']],
    ['4 L-brackets', ['4', 'l', 'brackets']],
    ['96 K-Cups', ['96', 'k', 'cups']],
    ['18V-cordless', ['18', '18volt', 'cordless']],
    ['4-L-bottle', ['4', '4litre', 'bottle']],
  ])('of %s', (text, expected) => {
    expect(texts(text)).toEqual(expected)
  })

  it('contain only letters, digits, slashes, periods and hyphens', () => {
    for (const text of ['a AND (b OR c)~2^3 "x" *:* [1 TO 2] \\ {"match_all":{}} <b> a/b//c', '!@#$%^&*()_+|~=`{}[]:";\'<>?,./\u0000'])
      for (const word of wordsOf(text)) expect(word.text).toMatch(/^[\p{L}\p{N}/.-]+$/u)
  })

  // A search that starts again at every character would take minutes on a text of this length.
  it.each([' ', '1 ', '1-', "1'", '1,000', '4 x '])('are found in time linear in the length of a text that repeats %j', (piece) => {
    const text = `1${piece.repeat(400_000 / piece.length)}y`
    expect(endsInTime(() => wordsOf(text)).at(-1)).toMatchObject({ text: expect.stringMatching(/y$/) })
  })

  it('are not found in operators', () => {
    expect(texts('&& || ! (" ") * ~')).toEqual([])
  })

  it('are marked as function words if they say little about a product', () => {
    expect(wordsOf('fan with remote').map(({ kind }) => kind)).toEqual(['word', 'function', 'word'])
    expect(wordsOf('vitamins A-Z').map(({ kind }) => kind)).toEqual(['word', 'function', 'word'])
  })
})

describe('the head of a title', () => {
  it.each([
    ['Toro 22 in. Gas Lawn Mower with Briggs Engine', ['gas', 'lawn', 'mower']],
    ['Delta Faucet (2-Pack) in Chrome', ['delta', 'faucet']],
    ['Shelf, white', ['shelf']],
  ])('%s', (title, expected) => {
    expect(headOf(title).map(({ text }) => text)).toEqual(expected)
  })
})
