import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeFrame, type Frame, frameReader } from '../../../../api/kit/child/frames.ts'

const frames = fc.array(
  fc.record({ kind: fc.nat(255), id: fc.nat(), body: fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)) }),
)

test('frames arrive as they were sent, however the pipe cuts them', () => {
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (sent, cuts) => {
      const bytes = Buffer.concat(sent.map(encodeFrame))
      const got: Frame[] = []
      const read = frameReader((frame) => got.push({ ...frame, body: Buffer.from(frame.body) }))
      for (let at = 0, cut = 0; at < bytes.length; cut++) {
        const length = cuts[cut % cuts.length]
        read(bytes.subarray(at, at + length))
        at += length
      }
      expect(got).toEqual(sent)
    }),
  )
})

test.each([0, 4, 2 ** 31])('a frame whose header gives the length %d is refused', (length) => {
  const head = Buffer.alloc(4)
  head.writeUInt32BE(length)
  expect(() => frameReader(() => {})(head)).toThrow(RangeError)
})
