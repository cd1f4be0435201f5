import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { diskFiles } from '../../../../api/kit/spool/files.ts'
import { recordFrame, SEGMENT_HEADER, topicFrame } from '../../../../api/kit/spool/frames.ts'
import { Segment } from '../../../../api/kit/spool/segment.ts'
import { plain, QUICK, SOON, spoolFolder, spoolWorld } from './spool-world.ts'

const NAME = '00000001.records'
const MARKS = '00000001.sent'
const topic = { name: 'plain', schema: '' }
const frames = [
  topicFrame(0, topic),
  ...['1', '', 'three'].map((value, index) =>
    recordFrame(0, { timestamp: index, key: Buffer.from(`k${index}`), value: index === 1 ? null : Buffer.from(value) }),
  ),
]

async function scanned(folder: string, bytes: Buffer) {
  await writeFile(join(folder, NAME), bytes)
  const segment = await Segment.open(diskFiles, folder, NAME)
  const keys: string[] = []
  const torn = await segment.scan((_topic, key) => keys.push(`${key}`))
  await segment.close()
  return { keys, torn, end: segment.end }
}

test('a file that is cut off at any byte yields exactly its complete records', async () => {
  const folder = await spoolFolder()
  const whole = Buffer.concat([SEGMENT_HEADER, ...frames])
  const ends = frames.map((_, index) => Buffer.concat([SEGMENT_HEADER, ...frames.slice(0, index + 1)]).length)
  for (let length = 0; length <= whole.length; length++) {
    const count = Math.max(0, ends.filter((end) => end <= length).length - 1)
    const { keys, torn, end } = await scanned(folder, whole.subarray(0, length))
    expect([length, keys]).toEqual([length, ['k0', 'k1', 'k2'].slice(0, count)])
    if (length >= SEGMENT_HEADER.length) expect(end + torn).toBe(length)
  }
})

test('everything after the last intact record is ignored: zeros, garbage, or a record with a flipped bit', async () => {
  const folder = await spoolFolder()
  const whole = Buffer.concat([SEGMENT_HEADER, ...frames])
  const last = whole.length - (frames.at(-1) as Buffer).length
  const damaged = fc.oneof(
    fc.uint8Array({ maxLength: 64 }).map((garbage) => ({ bytes: Buffer.concat([whole, garbage]), keys: 3 })),
    fc.nat(4_096).map((zeros) => ({ bytes: Buffer.concat([whole, Buffer.alloc(zeros)]), keys: 3 })),
    fc.record({ at: fc.integer({ min: last, max: whole.length - 1 }), bit: fc.nat(7) }).map(({ at, bit }) => {
      const bytes = Buffer.from(whole)
      bytes[at] ^= 1 << bit
      return { bytes, keys: 2 }
    }),
  )
  await fc.assert(
    fc.asyncProperty(damaged, async ({ bytes, keys }) => {
      expect((await scanned(folder, bytes)).keys).toEqual(['k0', 'k1', 'k2'].slice(0, keys))
    }),
    { numRuns: 200 },
  )
})

test("a process that adopts a torn folder sends the folder's complete records, except those that are marked as sent", async () => {
  const folder = await spoolFolder()
  const first = await spoolWorld({ folder })
  const goOn = first.stop()
  await first.facts.publishOrSpool(plain, 'a', '1', QUICK)
  goOn()
  await expect.poll(() => first.spool.state.sent, SOON).toBe(1)
  first.stop()
  for (const value of ['2', '3', '4']) await first.facts.publishOrSpool(plain, 'a', value, QUICK)
  const [own] = await readdir(folder)
  const markedBytes = async () => (await stat(join(folder, own, MARKS)).catch(() => undefined))?.size
  await expect.poll(markedBytes, SOON).toBeGreaterThan(0)
  const files = (await readdir(join(folder, own))).filter((name) => name !== 'lock').toSorted()
  expect(files).toEqual([NAME, MARKS])
  const copy = join(await spoolFolder(), own)
  await mkdir(copy)
  for (const name of files) {
    const bytes = await readFile(join(folder, own, name))
    await writeFile(join(copy, name), name === NAME ? bytes.subarray(0, -1) : Buffer.concat([bytes, Buffer.from([1, 2, 3])]))
  }
  const second = await spoolWorld({ folder: join(copy, '..') })
  await expect.poll(() => second.logged().a, SOON).toEqual(['2', '3'])
  await expect.poll(() => second.spool.state.records, SOON).toBe(0)
})
