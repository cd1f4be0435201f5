import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MalformedPageError } from '../../../../state/stores/seen-set/bits.ts'
import { decodePage, encodePage, entriesOf, MAX_PAGE_BYTES, MAX_PAGE_ENTRIES, type Page } from '../../../../state/stores/seen-set/page.ts'
import { newestStartWith } from '../../../../state/stores/seen-set/runs.ts'

interface Sample {
  readonly bits: number
  readonly page: Page
}

const sampleArbitrary: fc.Arbitrary<Sample> = fc.integer({ min: 9, max: 32 }).chain((bits) =>
  fc.record({
    bits: fc.constant(bits),
    page: fc
      .array(
        fc.record({
          start: fc.nat({ max: 2 ** 41 }),
          fingerprints: fc.uniqueArray(fc.nat({ max: 2 ** bits - 1 }), { minLength: 1, maxLength: 100 }),
        }),
        { maxLength: 14, size: 'max' },
      )
      .map((runs) =>
        runs
          .map(({ start, fingerprints }) => ({ start, fingerprints: fingerprints.sort((a, b) => a - b) }))
          .sort((a, b) => b.start - a.start),
      ),
  }),
)

test('a page within the size limits is read back as it was written', () => {
  fc.assert(
    fc.property(sampleArbitrary, ({ bits, page }) => {
      const bytes = encodePage(page, bits)
      if (bytes === undefined) {
        expect(entriesOf(page)).toBeGreaterThan(100)
        return
      }
      expect(bytes.length).toBeLessThanOrEqual(MAX_PAGE_BYTES)
      expect(decodePage(bytes, bits)).toEqual(page)
      for (const { fingerprints } of page) {
        const newest = page.find((run) => run.fingerprints.includes(fingerprints[0]))?.start
        expect(newestStartWith(page, fingerprints[0])).toBe(newest)
      }
      const missing = page.reduce((free, { fingerprints }) => (fingerprints.includes(free) ? free + 1 : free), 0)
      if (!page.some(({ fingerprints }) => fingerprints.includes(missing))) expect(newestStartWith(page, missing)).toBe(undefined)
    }),
    { numRuns: 500 },
  )
})

test('the bytes of a page do not change between versions of the code', () => {
  const page = [
    { start: 687_000, fingerprints: [3, 5, 65_535] },
    { start: 686_900, fingerprints: [77] },
  ]
  // The bits are, in order: the version; the start 687,000; 3 fingerprints with k = 14: 0 3, 0 1, 1110 16377; and, 100
  // units earlier, 1 fingerprint with k = 16: 0 77.
  expect(encodePage(page, 16)?.toString('hex')).toBe(['01', '98f729', '03', '00060007bff9', '64', '01', '002680'].join(''))
})

test('a page has at most 512 bytes and 340 entries', () => {
  const run = (fingerprints: number) => ({ start: 1, fingerprints: Array.from({ length: fingerprints }, (_, i) => i * 3) })
  expect(encodePage([run(MAX_PAGE_ENTRIES)], 10)).toBeDefined()
  expect(encodePage([run(MAX_PAGE_ENTRIES + 1)], 10)).toBeUndefined()
  const spread = (fingerprints: number) => ({ start: 1, fingerprints: Array.from({ length: fingerprints }, (_, i) => i * 10_000_000) })
  expect(encodePage([spread(150)], 32)?.length).toBeLessThanOrEqual(MAX_PAGE_BYTES)
  expect(encodePage([spread(170)], 32)).toBeUndefined()
})

test('any bytes are either read as a page or refused', () => {
  let refused = 0
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), fc.boolean(), fc.integer({ min: 9, max: 32 }), (bytes, hasVersion, bits) => {
      if (hasVersion && bytes.length > 0) bytes[0] = 1
      try {
        expect(entriesOf(decodePage(bytes, bits))).toBeLessThanOrEqual(MAX_PAGE_ENTRIES)
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedPageError)
        refused++
      }
    }),
    { numRuns: 500 },
  )
  expect(refused).toBeGreaterThan(0)
})

test('a page that is truncated within a run is refused', () => {
  const page = [{ start: 9, fingerprints: Array.from({ length: 200 }, (_, i) => i * 300) }]
  const bytes = encodePage(page, 16) as Buffer
  for (let length = 2; length < bytes.length; length++) {
    expect(() => decodePage(bytes.subarray(0, length), 16)).toThrow(MalformedPageError)
  }
})
