import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { cacheableAnswer, largeCacheableAnswer } from '../../../api/kit/answer.ts'
import { acceptsGzip, variantFor } from '../../../api/kit/conditional.ts'
import { turnsDuring } from '../../turns-during.ts'

const HEADERS = { 'Content-Type': 'text/plain', 'Cache-Control': 'public, max-age=60' }
const large = cacheableAnswer('x'.repeat(2_000), HEADERS)
const small = cacheableAnswer('x'.repeat(20), HEADERS)

test.each([
  [undefined, false],
  ['', false],
  ['gzip', true],
  ['GZIP', true],
  ['br, gzip;q=0.5', true],
  ['deflate, *', true],
  ['gzip;q=0', false],
  ['gzip; q=0.000, *', false],
  ['*;q=0', false],
  ['identity', false],
  ['xgzip', false],
])('Accept-Encoding %j accepts gzip: %s', (header, expected) => {
  expect(acceptsGzip(header)).toBe(expected)
})

test('a large body is compressed for clients that accept gzip, and then has a separate tag', () => {
  const plain = variantFor(large, { ifNoneMatch: undefined, acceptEncoding: undefined })
  const gzip = variantFor(large, { ifNoneMatch: undefined, acceptEncoding: 'gzip' })
  expect(gunzipSync(gzip.body as Uint8Array)).toEqual(plain.body)
  expect([plain.headers['Content-Encoding'], gzip.headers['Content-Encoding']]).toEqual([undefined, 'gzip'])
  expect([plain.headers.Vary, gzip.headers.Vary]).toEqual(['Accept-Encoding', 'Accept-Encoding'])
  expect(gzip.headers.ETag).toBe(plain.headers.ETag.replace(/"$/, '-gzip"'))
  expect(variantFor(small, { ifNoneMatch: undefined, acceptEncoding: 'gzip' })).toBe(small)
})

test('a large response is compressed in advance, without loss and without blocking other requests', async () => {
  const body = 'a large body '.repeat(100_000)
  const { result: answer, turns } = await turnsDuring(() => largeCacheableAnswer(body, HEADERS))
  expect(turns).toBeGreaterThan(0)
  const { gzip, ...plain } = answer
  const { gzip: lazily, ...expected } = cacheableAnswer(body, HEADERS)
  expect(plain).toEqual(expected)
  expect(gunzipSync(gzip!())).toEqual(gunzipSync(lazily!()))
  expect(gzip!()).toBe(gzip!())
  expect((await largeCacheableAnswer('small', HEADERS)).gzip).toBeUndefined()
})

test('a 304 response repeats the Content-Security-Policy of the page', () => {
  const policy = { 'Content-Security-Policy': "script-src 'self'" }
  const page = cacheableAnswer('x', { ...HEADERS, ...policy })
  const { status, headers } = variantFor(page, { ifNoneMatch: page.headers.ETag, acceptEncoding: undefined })
  expect([status, headers]).toEqual([304, { ETag: page.headers.ETag, 'Cache-Control': HEADERS['Cache-Control'], ...policy }])
})

test('the plain and the compressed body are revalidated with either tag', () => {
  const tags = [large.headers.ETag, `W/${large.headers.ETag}`, large.headers.ETag.replace(/"$/, '-gzip"')]
  for (const ifNoneMatch of tags) {
    for (const acceptEncoding of [undefined, 'gzip']) {
      const { status, body, headers } = variantFor(large, { ifNoneMatch, acceptEncoding })
      expect([status, body, headers['Content-Encoding'], headers.Vary]).toEqual([304, null, undefined, 'Accept-Encoding'])
      expect(headers.ETag.endsWith('-gzip"')).toBe(acceptEncoding === 'gzip')
    }
  }
  expect(variantFor(large, { ifNoneMatch: '"other"', acceptEncoding: undefined })).toBe(large)
})
