import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { readCsv } from '../../../tools/replay/csv.ts'
import { readRecording, tweetMaker } from '../../../tools/replay/recording.ts'
import { replayTimes } from '../../../tools/replay/replay-times.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, name.endsWith('.gz') ? gzipSync(content) : content)
  return path
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  return Array.fromAsync(items)
}

test('CSV may contain quotes, commas, quoted line breaks and CRLF, and needs no final line end', async () => {
  const path = file('a.csv', 'a,b\r\n1,"x, ""y""\nz"\n\n2,é')
  expect(await all(readCsv(path))).toEqual([
    { a: '1', b: 'x, "y"\nz' },
    { a: '2', b: 'é' },
  ])
})

test('a gzipped recording is read, and rows that are not tweets are reported and skipped', async () => {
  const path = file(
    'b.csv.gz',
    'tweet_id,created_at,event,text\n262342930549850112,2012-10-28T00:00:03.396Z,Sandy,hi #there\nx,2012-10-28T00:00:03Z,Sandy,no\n',
  )
  const bad: string[] = []
  const rows = await all(readRecording(path, (reason) => bad.push(reason)))
  expect(rows).toEqual([{ tweet_id: 262342930549850112n, recordedAt: 1351382403396, event: 'Sandy', text: 'hi #there' }])
  expect(bad).toEqual(['row 3: tweet_id x, created_at 2012-10-28T00:00:03Z'])
})

test('a file that lacks required columns is refused, and the error names them', async () => {
  await expect(all(readRecording(file('c.csv', 'id,text\n1,x\n'), () => {}))).rejects.toThrow('lacks the columns tweet_id, created_at')
})

test('a missing recording is an error', async () => {
  await expect(all(readRecording(join(folder, 'none.csv.gz'), () => {}))).rejects.toThrow('ENOENT')
})

test('the same tweet has the same user and place in every replay', () => {
  const recorded = { tweet_id: 262342930549850112n, recordedAt: 0, event: '2012_Sandy_Hurricane', text: 'Hurricane Sandy' }
  expect(tweetMaker()(recorded, 5)).toEqual(tweetMaker()(recorded, 5))
})

test('timestamps keep their relative distances at a higher speed, and long silences are shortened', () => {
  const times = replayTimes(10, 1_000)
  expect([0, 100, 150, 100_000, 100_010].map((at) => times.next(at))).toEqual([0, 10, 15, 115, 116])
})

test('a row whose id does not fit in a signed 64-bit integer is reported and skipped', async () => {
  const path = file(
    'd.csv',
    'tweet_id,created_at,text\n9223372036854775807,2012-10-28T00:00:03Z,a\n9223372036854775808,2012-10-28T00:00:03Z,b\n',
  )
  const bad: string[] = []
  const rows = await all(readRecording(path, (reason) => bad.push(reason)))
  expect(rows.map(({ text }) => text)).toEqual(['a'])
  expect(bad).toEqual(['row 3: tweet_id 9223372036854775808, created_at 2012-10-28T00:00:03Z'])
})

test.each([0, Number.NaN])('tweets with the same timestamp are sent at the same time, even at speed %s', (speed) => {
  const times = replayTimes(speed, 1_000)
  expect([5, 5].map((at) => times.next(at))).toEqual([0, 0])
})

test('if a file cannot be decompressed or is a folder, the error names it', async () => {
  const plain = join(folder, 'plain.csv.gz')
  writeFileSync(plain, 'a,b\n')
  await expect(all(readCsv(plain))).rejects.toThrow(`${plain} cannot be read: incorrect header check`)
  await expect(all(readCsv(folder))).rejects.toThrow(`${folder} cannot be read: EISDIR`)
})
