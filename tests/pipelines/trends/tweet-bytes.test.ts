import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FoldedTerms } from '../../../pipelines/trends/folded-terms.ts'
import { fingerprintOf } from '../../../pipelines/trends/term-fingerprint.ts'
import { eachTerm, TweetBytes, tweetsAsBytes } from '../../../pipelines/trends/tweet-bytes.ts'
import { compileEncoder } from '../../../schemas/avro/encoder.ts'
import { byteWriter, type Codec, CodecError, UnknownSchemaError } from '../../../schemas/codec.ts'
import { loadSchema } from '../../../schemas/load.ts'
import type { AvroSchema } from '../../../schemas/topic.ts'
import { foldTerm } from '../../../schemas/trends/term.ts'
import { tweets } from '../../../schemas/trends/topics.ts'
import type { Tweet } from '../../../schemas/trends/types.ts'

const SCHEMA_ID = 7
const OTHER_ID = 8
const HEADER_BYTES = 5
/** A newer version of the tweet schema. It has an additional field, and its fields are in a different order. */
const OTHER: AvroSchema = {
  ...(loadSchema('trends/Tweet') as { readonly [property: string]: unknown }),
  fields: [{ name: 'added', type: 'string' }, ...(loadSchema('trends/Tweet') as { fields: unknown[] }).fields.toReversed()],
}
const schemas = { get: (id: number) => (id === OTHER_ID ? OTHER : undefined) }
const whole = tweets.value.open(SCHEMA_ID, schemas)
const asBytes = tweetsAsBytes.value.open(SCHEMA_ID, schemas)

const term = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.string({ maxLength: 8 }),
  fc.constantFrom('#Sandy', '# #sandy ', 'SANDY', 'ﬁne', 'İstanbul', 'ISTANBUL', 'istanbul', 'ışık', 'Straße', 'STRASSE', 'ΣΊΣΥΦΟΣ'),
  fc.constantFrom(
    '',
    '#',
    ' ',
    '###',
    'ｆｕｌｌ',
    '𝔉𝔲𝔫',
    '👩‍🚀',
    'a\0b',
    '\u{10ffff}',
    'x\t',
    '~',
    '\x7f',
    'a'.repeat(140),
    'a'.repeat(141),
  ),
  fc.constantFrom(`${'#'.repeat(559)}a`, `${'#'.repeat(560)}a`, 'é'.repeat(141), `${' '.repeat(500)}Ü`, '😀'.repeat(140), '😀'.repeat(141)),
)
const tweet: fc.Arbitrary<Tweet> = fc.record({
  tweet_id: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  user_id: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  text: fc.string({ unit: 'grapheme' }),
  hashtags: fc.array(term, { maxLength: 6 }),
  phrases: fc.array(term, { maxLength: 6 }),
  lang: fc.constantFrom('', 'en', 'pt-BR', '日本'),
  woeid: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  bot_score: fc.float({ noNaN: true }),
  created_at: fc.maxSafeInteger(),
})

function encoded(value: Tweet): Buffer {
  const out = byteWriter()
  whole.encode(value, out)
  // Surrounds the encoded value with other bytes, as in a batch.
  return Buffer.concat([Buffer.from([9]), out.buffer.subarray(0, out.length), Buffer.from([9, 9, 9])])
}

function decoded<T>(codec: Codec<T>, bytes: Buffer): T {
  return codec.decode(bytes, 1, bytes.length - 3)
}

function termsIn(read: TweetBytes): string[] {
  const all: string[] = []
  eachTerm(read, (start, end) => all.push(read.buffer.toString('utf8', start, end)))
  return all
}

function contentOf(read: TweetBytes): unknown {
  const { buffer, hashtagsAt, ...fields } = read
  return { ...fields, terms: termsIn(read) }
}

function expectedOf({ text, hashtags, phrases, ...fields }: Tweet): unknown {
  return { ...fields, terms: [...hashtags, ...phrases] }
}

test('the fields that are read from the bytes of a tweet equal those of the decoded tweet, except for the text, and the terms are in the same order', () => {
  fc.assert(
    fc.property(tweet, (value) => {
      const bytes = encoded(value)
      expect(contentOf(decoded(asBytes, bytes))).toEqual(expectedOf(decoded(whole, bytes)))
    }),
  )
})

test('the bytes of a damaged tweet are refused if and only if the decoder refuses them, except for damage in the text', () => {
  const damage = fc.record({ at: fc.nat(), byte: fc.nat(255), cut: fc.nat(3) })
  fc.assert(
    fc.property(tweet, damage, (value, { at, byte, cut }) => {
      const bytes = encoded({ ...value, text: '' })
      bytes[1 + HEADER_BYTES + (at % (bytes.length - HEADER_BYTES - 4))] = byte
      const end = bytes.length - 3 - cut
      const outcome = <T>(codec: Codec<T>, content: (value: T) => unknown) => {
        try {
          return content(codec.decode(bytes, 1, end))
        } catch (error) {
          expect(error).toBeInstanceOf(CodecError)
          return 'refused'
        }
      }
      const expected = outcome(whole, (read) => (read.text === '' ? expectedOf(read) : 'a text'))
      if (expected !== 'a text' && !isMalformedTextAlone(bytes, end)) expect(outcome(asBytes, contentOf)).toEqual(expected)
    }),
    { numRuns: 2_000 },
  )
})

/**
 * Returns true if the decoder refuses a tweet because the text is not valid UTF-8. The pipeline does not read the bytes
 * of the text.
 */
function isMalformedTextAlone(bytes: Buffer, end: number): boolean {
  try {
    whole.decode(bytes, 1, end)
    return false
  } catch (error) {
    return (error as Error).message.startsWith('Tweet.text: the string is not valid')
  }
}

test('arrays in several blocks are read, with and without block sizes', () => {
  const value: Tweet = { tweet_id: 1n, user_id: 2n, text: '', hashtags: [], phrases: [], lang: 'en', woeid: 1, bot_score: 0, created_at: 5 }
  const bytes = decodedBody(value)
  // Inserts, after two ids and the empty text, two blocks of one hashtag each. The first block states its size.
  const blocks = Buffer.from([1, 4, 2, 0x61, 2, 2, 0x62, 0])
  const body = Buffer.concat([bytes.subarray(0, 3), blocks, bytes.subarray(4)])
  expect(termsIn(new TweetBytes(body, 0, body.length))).toEqual(['a', 'b'])
  blocks[1] = 6
  const wrong = Buffer.concat([bytes.subarray(0, 3), blocks, bytes.subarray(4)])
  expect(() => new TweetBytes(wrong, 0, wrong.length)).toThrow('hashtags: a block does not have its declared size')
})

function decodedBody(value: Tweet): Buffer {
  const bytes = encoded(value)
  return bytes.subarray(1 + HEADER_BYTES, bytes.length - 3)
}

test('tweets with another schema are read if the id of the schema is known, and are otherwise refused', () => {
  fc.assert(
    fc.property(tweet, (value) => {
      const out = byteWriter()
      out.length = HEADER_BYTES
      out.buffer.writeInt32BE(OTHER_ID, 1)
      out.buffer[0] = 0
      compileEncoder<Tweet & { added: string }>(OTHER)({ ...value, added: 'more' }, out)
      expect(contentOf(asBytes.decode(out.buffer, 0, out.length))).toEqual(expectedOf(whole.decode(out.buffer, 0, out.length)))
      out.buffer.writeInt32BE(OTHER_ID + 1, 1)
      expect(() => asBytes.decode(out.buffer, 0, out.length)).toThrow(UnknownSchemaError)
    }),
    { numRuns: 30 },
  )
})

test('the bytes of terms are folded in the same way as strings, and each term keeps its first spelling', () => {
  const folded = new FoldedTerms()
  fc.assert(
    fc.property(tweet, (value) => {
      const read = decoded(asBytes, encoded(value))
      folded.read(read)
      const expected = new Map<string, string>()
      for (const original of [...value.hashtags, ...value.phrases]) {
        const name = foldTerm(original)
        if (name !== undefined && !expected.has(name)) expected.set(name, original)
      }
      const found = Array.from({ length: folded.count }, (_, i) => {
        const { start, end, originalStart, originalEnd, fingerprint } = folded.at(i)
        const name = folded.buffer.toString('utf8', start, end)
        expect(fingerprint).toBe(fingerprintOf(name))
        return [name, read.buffer.toString('utf8', originalStart, originalEnd)]
      })
      expect(found).toEqual([...expected])
    }),
    { numRuns: 1_000 },
  )
})

test('only the first 500 terms of a tweet are used', () => {
  const value: Tweet = { tweet_id: 1n, user_id: 2n, text: '', hashtags: [], phrases: [], lang: 'en', woeid: 1, bot_score: 0, created_at: 5 }
  const folded = new FoldedTerms()
  folded.read(decoded(asBytes, encoded({ ...value, phrases: Array.from({ length: 1_200 }, (_, i) => `Term ${i % 600}`) })))
  expect(folded.count).toBe(500)
  expect(folded.buffer.toString('utf8', folded.at(499).start, folded.at(499).end)).toBe('term 499')
})
